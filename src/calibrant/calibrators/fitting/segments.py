"""Increasing, piecewise linear maps of the log-probabilities of a row, and their likelihood."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import BLOCK, FEW_CLASSES, KeptBlocks, add_blocks, softmax
from calibrant._core.newton import Curve

_SMALL_CURVATURE = 1e-6
"""Log-probabilities whose curvature q (1 - q) is smaller are ignored when knots are chosen."""

_ROUNDING = 1e-9
_CELLS = 4096
_FEW_ENTRIES = 1024


class Segments:
    """Intervals of the log-probabilities of given rows on which a map is linear.

    The map is 0 at the top of the highest segment and decreases from there with the slope of each segment. Segments
    meet at the knots, which descend, (g + 1, n, 1), or (g + 1, 1, 1) for all rows. The slope of a segment in a row is a
    linear combination of j learnt numbers, whose factors are the parts of the row, (j, n) or (j, 1).
    """

    def __init__(self, scores: FloatArray, knots: FloatArray, parts: FloatArray) -> None:
        self.scores, self.knots = scores, knots
        self.parts = np.broadcast_to(parts, (len(parts), len(scores)))

    def falls(self, rows: slice) -> Iterator[FloatArray]:
        """Yield, for each segment, the length of its part above each score, (n, K)."""
        scores = self.scores[rows]
        knots = self.knots[:, rows] if self.knots.shape[1] > 1 else self.knots
        return (fallen(scores, top, bottom) for top, bottom in pairwise(knots))

    def widths(self, rows: slice) -> FloatArray:
        """Return the length of each segment, with 0 for the last, (g, n) or (g, 1)."""
        knots = self.knots[:, rows] if self.knots.shape[1] > 1 else self.knots
        widths = np.zeros((len(knots) - 1, knots.shape[1]))
        widths[:-1] = (knots[:-2] - knots[1:-1])[:, :, 0]
        return widths

    def logits(self, slopes: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """Return the values of the map, (n, K), for learnt numbers, (j, g).

        The order of a row is kept exactly: all classes go through the same operations, and each is monotone.
        """
        result = np.zeros(self.scores[rows].shape)
        for fall, slope in zip(self.falls(rows), slopes.T @ self.parts[:, rows], strict=True):
            result -= fall * slope[:, None]
        return result


def fallen(scores: FloatArray, top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Return the length of the part of the segment from bottom to top that lies above each score.

    Examples
    --------
    >>> fallen(np.array([-0.5, -1.5, -9.0]), np.array(-1.0), np.array(-3.0)).tolist()
    [0.0, 0.5, 2.0]
    """
    fall = np.minimum(scores, top)
    np.maximum(fall, bottom, out=fall)
    return np.subtract(top, fall, out=fall)


class SlopesLikelihood:
    r"""Mean negative log-likelihood of learnt numbers u, (j, g), plus a quadratic penalty: a convex function.

    .. math:: -\sum_i w_i \ln \mathrm{softmax}(f_{\beta u}(z_i))_{y_i} / \sum_i w_i + u^\top P u

    where f is the map of the segments, :math:`\beta` the `unit` of the slopes, and P, (j g, j g), the `penalty`.
    """

    def __init__(
        self, segments: Segments, labels: IntArray, weights: FloatArray, *, unit: float, penalty: FloatArray
    ) -> None:
        self.segments, self.labels, self.unit, self.penalty = segments, labels, unit, penalty
        self.shares = weights / weights.sum()
        # With few classes the class axis comes before the row axis, because NumPy is slow along short last axes.
        self._axis = 1 if segments.scores.shape[1] < FEW_CLASSES else 2
        self._falls = KeptBlocks(self._all_falls, (len(segments.knots) - 1) * segments.scores.size)

    def __call__(self, multiples: FloatArray) -> Curve:
        """Return value, gradient and Hessian."""
        n_slopes, n_parts = len(multiples), len(self.segments.parts)
        n_segments = n_slopes // n_parts
        slopes = self.unit * multiples.reshape(n_parts, n_segments)
        entries = max(8 * BLOCK // n_segments, _FEW_ENTRIES)
        sums = add_blocks(lambda rows: self._sums(slopes, rows), self.segments.scores.shape, entries=entries)
        loss, gradient = float(sums[0]), self.unit * sums[1 : n_slopes + 1]
        hessian = self.unit**2 * sums[n_slopes + 1 :].reshape(n_parts, n_parts, n_segments, n_segments)
        bend = self.penalty @ multiples
        curvature = hessian.transpose(0, 2, 1, 3).reshape(n_slopes, n_slopes) + 2.0 * self.penalty
        return loss + float(multiples @ bend), gradient + 2.0 * bend, curvature

    def _sums(self, slopes: FloatArray, rows: slice) -> FloatArray:
        """Return loss, gradient and Hessian of some rows, concatenated."""
        shares, parts, axis = self.shares[rows], self.segments.parts[:, rows], self._axis
        falls = self._falls(rows)
        own = (self.labels[rows], np.arange(len(shares))) if axis == 1 else (np.arange(len(shares)), self.labels[rows])
        every, entry = ("gkn", "kn") if axis == 1 else ("gnk", "nk")
        logits = -np.einsum(f"{every},gn->{entry}", falls, slopes.T @ parts)
        logits -= logits.max(axis=axis - 1, keepdims=True)
        probs = np.exp(logits)
        total = probs.sum(axis=axis - 1, keepdims=True)
        probs /= total
        loss = np.sum(shares * (np.log(total.ravel()) - logits[own]))
        means = np.einsum(f"{every},{entry}->gn", falls, probs)
        variances = np.einsum(f"{every},{every},{entry}->gn", falls, falls, probs) - means * means
        gradient = parts * shares @ (falls[:, *own] - means).T
        # A score below the top of a lower segment is below all of each higher one, so no other products are needed.
        left = self.segments.widths(rows) - means
        hessian = [
            _symmetric((left * both) @ means.T, variances @ both)
            for both in (shares * one * other for one in parts for other in parts)
        ]
        return np.concatenate([[loss], gradient.ravel(), np.ravel(hessian)])

    def _all_falls(self, rows: slice) -> FloatArray:
        """Return the parts of all segments above each score, (g, K, n) or (g, n, K)."""
        shape = self.segments.scores[rows].shape
        falls = np.empty((len(self.segments.knots) - 1, *(shape[::-1] if self._axis == 1 else shape)))
        for place, fall in zip(falls, self.segments.falls(rows), strict=True):
            place[...] = fall.T if self._axis == 1 else fall
        return falls


def _symmetric(upper: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Return the symmetric matrix with this upper triangle and this diagonal."""
    triangle = np.triu(upper, 1)
    return triangle + triangle.T + np.diag(diagonal)


def roughness(n_segments: int) -> FloatArray:
    """Return the matrix P for which s P s is the sum of squared differences of neighbouring slopes.

    Examples
    --------
    >>> s = np.array([1.0, 4.0, 2.0])
    >>> float(s @ roughness(3) @ s)
    13.0
    """
    differences = np.diff(np.eye(n_segments), axis=0)
    return differences.T @ differences


def rank_segments(scores: FloatArray, ranks: IntArray) -> Segments:
    """Return segments that meet at the log-probabilities of given ranks in each row, from 0, the largest, to K - 1.

    The slope of a segment moves linearly from one learnt number to another as the confidence of the row, its largest
    probability, goes from 0 to 1.
    """
    ascending = scores.shape[1] - 1 - ranks
    knots = np.partition(scores, ascending, axis=1)[:, ascending].T
    confidence = np.exp(knots[0])
    return Segments(scores, knots[:, :, None], np.stack([1.0 - confidence, confidence]))


def rank_knots(n_classes: int, n_segments: int) -> IntArray:
    """Return the ranks from 0 to K - 1 at which segments meet: single steps first, then increasingly long ones.

    Examples
    --------
    >>> rank_knots(10, 8).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 9]
    >>> rank_knots(1000, 8).tolist()
    [0, 1, 4, 11, 28, 69, 169, 411, 999]
    """
    ends = [1]
    for left in range(min(n_segments, n_classes - 1), 0, -1):
        ends.append(max(ends[-1] + 1, round(ends[-1] * (n_classes / ends[-1]) ** (1 / left))))
    return np.array(ends) - 1


def rank_roughness(n_segments: int) -> FloatArray:
    """Return the penalty matrix for differences of neighbouring segments, and of the two numbers of each segment."""
    between_ends = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.eye(n_segments))
    return np.kron(np.eye(2), roughness(n_segments)) + between_ends


def line_knots(
    scores: FloatArray, weights: FloatArray, segments: int, temperature: float = 1.0, top: float = 0.0
) -> FloatArray:
    """Return knots that divide the curvature of the likelihood evenly, from the top to minus infinity."""
    tempered = softmax(scores / temperature)
    curvature = tempered * (1.0 - tempered)
    used = curvature > _SMALL_CURVATURE
    curvature *= weights[:, None]
    inner = weighted_quantiles(scores[used], curvature[used], np.arange(1, segments) / segments)
    return np.concatenate([[top], inner[inner < top][::-1], [-np.inf]])


def weighted_quantiles(values: FloatArray, masses: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the distinct weighted quantiles at the given shares of the mass, ascending.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]), np.array([0.25, 0.5, 0.75])).tolist()
    [1.0, 2.0]
    """
    if not len(values):
        return np.empty(0)
    # Only the values in the same cell as a quantile are sorted.
    low, high = values.min(), values.max()
    cells = ((values - low) * ((_CELLS - 1) / max(high - low, _ROUNDING))).astype(np.int64)
    of_cell = np.bincount(cells, masses)
    up_to = np.cumsum(of_cell)
    found = []
    # Rounding must not decide on which side of a level a value lies that reaches it exactly.
    for level in shares * up_to[-1] * (1.0 - _ROUNDING):
        cell = int(np.searchsorted(up_to, level))
        inside = np.flatnonzero(cells == cell)
        inside = inside[np.argsort(values[inside])]
        place = np.searchsorted(np.cumsum(masses[inside]), level - (up_to[cell] - of_cell[cell]))
        found.append(values[inside[min(int(place), len(inside) - 1)]])
    ascending = np.array(sorted({*found}))  # The first call of `np.unique` would import `numpy.ma`.
    return ascending[np.diff(ascending, prepend=-np.inf) > _ROUNDING * max(high - low, 1.0)]
