"""Logistic likelihoods, maximised by Newton's method: one, or many at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.blocks import add_blocks
from calibrant._core.newton import Curve, Minimum, cramer, descend, newton_step

LAST_DECREMENT = 1e-14
"""The last step is predicted to lower the mean loss by less than this: it is about 1e-7 long, and leaves 1e-14."""
MAX_ITERATIONS = 500
PENALTY = 1e-12
"""Factor of the squared coefficients that keeps the maximum finite and unique."""
MAX_FULL_STEPS = 16


@dataclass(frozen=True, eq=False)
class LogisticLoss:
    r"""The loss of log-odds :math:`s = o + x D` plus a penalty, with its derivatives in x.

    .. math:: \sum_i c_i \ln(1 + e^{s_i}) - e_i s_i + \frac12 \sum_j \lambda_j (x_j - t_j)^2

    Attributes
    ----------
    design : ndarray of shape (m, n)
        D.
    events, counts : ndarray of shape (n,)
        e and c, with 0 <= e <= c. The counts should sum to 1, so that the value is a mean.
    offset : ndarray of shape (n,), or 0
        o.
    penalty, target : float or ndarray of shape (m,)
        Lambda and t.

    Examples
    --------
    >>> loss = LogisticLoss(np.ones((1, 1)), events=np.array([1.0]), counts=np.array([4.0]))
    >>> round(loss(np.zeros(1))[0], 4)  # 4 log 2
    2.7726
    >>> round(float(loss.minimum(np.zeros(1)).x[0]), 4)  # log(1 / 3)
    -1.0986
    """

    design: FloatArray
    events: FloatArray
    counts: FloatArray
    offset: FloatArray | float = 0.0
    penalty: FloatArray | float = 0.0
    target: FloatArray | float = 0.0

    def __call__(self, x: FloatArray) -> Curve:
        """Return value, gradient and Hessian."""
        m = len(self.design)
        sums = add_blocks(lambda rows: self._sums(x, rows), self.design.shape[::-1])
        away = x - self.target
        pull = self.penalty * away
        sums[m + 1 :: m + 1] += self.penalty
        return float(sums[0] + pull.dot(away) / 2), sums[1 : m + 1] + pull, sums[m + 1 :].reshape(m, m)

    @cached_property
    def _others(self) -> FloatArray:
        return self.counts - self.events

    def minimum(self, start: FloatArray) -> Minimum:
        """Return where the loss is least, by Newton's method with halved steps."""
        return descend(self, newton_step, start, last=LAST_DECREMENT, max_iter=MAX_ITERATIONS, look=False)

    def _sums(self, x: FloatArray, rows: slice) -> FloatArray:
        """Return the contributions of some rows to the loss, the gradient and the Hessian, as one flat array."""
        design, events, counts, others = self.design[:, rows], self.events[rows], self.counts[rows], self._others[rows]
        # One allocation for all: several would take longer than the computation.
        scores, low, high, total = np.empty((4, len(counts)))
        np.matmul(x, design, out=scores)
        scores += self.offset if isinstance(self.offset, float) else self.offset[rows]
        np.minimum(scores, 0.0, out=low)
        np.maximum(scores, 0.0, out=high)
        sums = np.empty(1 + len(design) + len(design) ** 2)
        sums[0] = others.dot(high) - events.dot(low)
        # e^s / (1 + e^s) and its complement share a denominator between 1 and 2; both are accurate.
        np.exp(low, out=low)
        np.exp(np.negative(high, out=high), out=high)
        np.add(low, high, out=total)
        # Steps are judged by differences of 1e-12 and more, so the slower log1p is not needed.
        sums[0] += counts.dot(np.log(total, out=scores))
        np.reciprocal(total, out=total)
        low *= total
        high *= total
        np.multiply(low, high, out=total)
        total *= counts
        # Separately for events and other rows: p - 1 would lose digits for p near 1.
        low *= others
        high *= events
        low -= high
        sums[1 : len(design) + 1] = design @ low
        sums[len(design) + 1 :] = ((design * total) @ design.T).ravel()
        return sums


def maximise_all(
    offset: FloatArray, design: FloatArray, hits: BoolArray, shares: FloatArray, start: FloatArray
) -> FloatArray:
    """Return the coefficients of the design's rows, added to the offset, that maximise the likelihood of each column.

    The design, (m, n), has one or two rows. Outcomes, and weights that sum to 1 in each column, are (n, B), or (n, 1)
    if all regressions have the same. Coefficients, (m, B), are NaN in columns where full steps do not converge soon,
    for instance because no finite maximum exists.

    All columns take their steps together: one `descend` per column takes 20 times as long with 100 rows, and 1.4 times
    with 10,000. A single regression of two coefficients is left to `LogisticLoss`, which takes 0.3 to 0.7 of the time
    of one column here. The likelihood is concave, so Newton's method can only converge to its one maximum. Full steps
    do not need its value; computing it, and probabilities near 1 accurately, would take up to twice the time.
    """
    n_columns = max(hits.shape[1], shares.shape[1])
    found = np.full((len(design), n_columns), np.nan)
    points, left, shares = np.repeat(start[:, None], n_columns, axis=1), np.arange(n_columns), shares.T
    observed = _sums(hits.T.astype(np.float64), design, shares)
    with np.errstate(all="ignore"):
        for _ in range(MAX_FULL_STEPS):
            steps, decrements = _steps(points, offset + points.T @ design, design, observed, shares)
            points = points + steps
            # As in `descend`; a decrement by rounding alone may have either sign.
            last = np.abs(decrements) <= LAST_DECREMENT
            found[:, left[last]] = points[:, last]
            keep = np.isfinite(decrements) & ~last
            if not keep.any():
                break
            left, points, observed = left[keep], points[:, keep], observed[keep]
            shares = shares if len(shares) == 1 else shares[keep]
    return found


def _sums(values: FloatArray, design: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the sums of values, (B, n), times shares, (B, n) or (1, n), times each row of the design, as (B, m)."""
    return np.asarray(values @ (design * shares).T if len(shares) == 1 else (values * shares) @ design.T)


def _steps(
    points: FloatArray, odds: FloatArray, design: FloatArray, observed: FloatArray, shares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return Newton's steps (m, B) from points (m, B) with log-odds (B, n), and the predicted decreases (B,).

    The log-odds are overwritten.
    """
    np.exp(np.negative(odds, out=odds), out=odds)
    odds += 1
    fitted = np.reciprocal(odds, out=odds)
    gradient = (_sums(fitted, design, shares) - observed).T + PENALTY * points
    fitted -= fitted**2
    if len(design) == 1:
        steps = -gradient / (_sums(fitted, design**2, shares).T + PENALTY)
    else:
        products = np.stack([design[0] ** 2, design[0] * design[1], design[1] ** 2])
        hessian = _sums(fitted, products, shares).T + PENALTY * np.array([[1], [0], [1]])
        one, other, determinant, is_safe = cramer(*gradient, *hessian)
        steps = np.stack([one, other]) / np.where(is_safe, determinant, np.nan)
    return steps, -(gradient * steps).sum(axis=0)
