"""Isotonic regression: the optimal non-decreasing map from scores to probabilities."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import logit
from calibrant.binning.ties import starts_of_ties
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.rules import RISING_STEPS, Rule, are_steps
from calibrant.roc.merging import pool, split_equal

SMALLEST_STEP = 1e-290
"""A slope over a smaller step than this could overflow."""


@dataclass(eq=False, repr=False)
class IsotonicCalibration(BinaryCalibrator):
    r"""The non-decreasing map with the least squared error on the fitted rows.

    Parameters
    ----------
    centred : bool, default=False
        Whether every flat part is replaced by one point, at the weighted mean of its scores. The map is then strictly
        increasing from the first point to the last.
    scores : {"probs", "logits", "raw"}, default="probs"

    Attributes
    ----------
    scores_, probabilities_ : ndarray of shape (m,)
        The points between which the map is linear. The scores are log-odds, or raw scores.

    Notes
    -----
    With the weights :math:`w_i` and labels :math:`y_i` the map g minimises
    :math:`\sum_i w_i (y_i - g(s_i))^2` and, at the same time, the log-loss and every other proper score. Rows with the
    same score are pooled first.

    Between two pools the map is linear in the probability (in a raw score); below the first and above the last pool it
    is constant. Towards an infinite raw score the map keeps the value of the finite neighbour.

    Probabilities of exactly 0 and 1 are common. `ROCConvexHull` with smoothing avoids them.

    References
    ----------
    B. Zadrozny, C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002.
    A. P. Oron, N. Flournoy, "Centered isotonic regression", Statistics in Biopharmaceutical Research 9 (2017).

    Examples
    --------
    >>> isotonic = IsotonicCalibration().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> isotonic.predict_proba([0.05, 0.2, 0.35, 0.6, 0.9])[:, 1].round(3).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    centred: bool = False
    scores: Literal["probs", "logits", "raw"] = "probs"

    kind = "isotonic"
    n_parameters = "up to 2n"
    data_efficiency = "low"
    expressiveness = "high"
    use_when = "There are thousands of rows and the scores rank well, on any scale."
    accepts_raw = True
    rules = (Rule(("scores_", "probabilities_"), are_steps, RISING_STEPS),)

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn the map."""
        values, positives, totals = pooled_ties(scores, hits, weights)
        bounds = pools(positives, totals)
        probabilities = np.add.reduceat(positives, bounds[:-1]) / np.add.reduceat(totals, bounds[:-1])
        if self.centred:
            self.scores_, self.probabilities_ = self._centres(values, totals, bounds), probabilities
        else:
            ends = np.column_stack([bounds[:-1], bounds[1:] - 1])
            twice = ends[:, 0] < ends[:, 1]
            kept = np.column_stack([np.full(len(ends), True), twice]).ravel()
            self.scores_ = values[ends.ravel()[kept]]
            self.probabilities_ = np.repeat(probabilities, 1 + twice)
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1, infinite for probabilities 0 and 1."""
        return logit(self._interpolated(scores))

    def _line_operations(self, x: ops.Value) -> ops.Value:
        knots, (low, high) = self.scores_, self._heights()
        start, width, share = _intervals(self._axis(knots))
        j = x.search(knots, "left")
        moved = x if self.scores == "raw" else ops.expit(x)
        fixed = j.look_up(share)
        part = (fixed < 0.0).choose(((moved - j.look_up(start)) / j.look_up(width)).clip(0.0, 1.0), fixed)
        on_knot = x.equals(j.look_up(np.append(knots, np.nan)))
        return ops.logit((j.look_up(low) + on_knot.choose(1.0, part) * j.look_up(high - low)).clip(0.0, 1.0))

    def line_probs(self, scores: FloatArray) -> FloatArray:
        """Return both calibrated probabilities, (n, 2): the map needs no log-odds."""
        probs = np.empty((len(scores), 2))
        probs[:, 1] = self._interpolated(scores)
        np.subtract(1.0, probs[:, 1], out=probs[:, 0])
        return probs

    def _interpolated(self, scores: FloatArray) -> FloatArray:
        knots, places = self._axis(self.scores_), self._axis(scores)
        if _is_plain(knots):
            order = np.argsort(places)  # Searching for sorted numbers is so much faster that sorting pays.
            result = np.empty(len(places))
            result[order] = np.interp(places[order], knots, self.probabilities_).clip(0.0, 1.0)
            return result
        # Log-odds can differ where their probabilities do not, so intervals are found among the log-odds.
        j = np.searchsorted(self.scores_, scores)
        low, high = self._heights()
        start, width, share = _intervals(knots)
        with np.errstate(all="ignore"):
            part = np.where(share[j] < 0.0, ((places - start[j]) / width[j]).clip(0.0, 1.0), share[j])
        on_knot = scores == np.append(self.scores_, np.nan)[j]
        return np.where(on_knot, high[j], low[j] + (high[j] - low[j]) * part)

    def _heights(self) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities at the lower and at the upper end of interval j, between the knots j - 1 and j."""
        heights = self.probabilities_
        return np.append(heights[0], heights), np.append(heights, heights[-1])

    def _axis(self, scores: FloatArray) -> FloatArray:
        """Return the scores on the axis along which the map is linear."""
        from scipy.special import expit

        return scores if self.scores == "raw" else expit(scores)

    def _centres(self, values: FloatArray, totals: FloatArray, bounds: IntArray) -> FloatArray:
        """Return the centre of every pool: the mean on the axis along which the map is linear, as a score."""
        places = self._axis(values)
        finite = np.isfinite(places)
        mass = np.where(finite, totals, 0.0)
        sums = np.add.reduceat(mass * np.where(finite, places, 0.0), bounds[:-1])
        mass = np.add.reduceat(mass, bounds[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = sums / mass
        centres = middle if self.scores == "raw" else logit(middle.clip(0.0, 1.0))
        # Rounding must not move a centre out of its pool; the centre of a pool of infinite scores is infinite.
        return np.clip(np.where(mass > 0, centres, values[bounds[:-1]]), values[bounds[:-1]], values[bounds[1:] - 1])


def pooled_ties(scores: FloatArray, hits: BoolArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct scores, ascending, with the weight of class 1 and of both classes at each."""
    order = np.argsort(scores)
    values = scores[order]
    totals = weights if weights[0] == weights.min() == weights.max() else weights[order]
    positives = np.where(hits[order], totals, 0.0)
    first = starts_of_ties(values)
    if len(first) == len(values):
        return values, positives, totals
    return values[first], np.add.reduceat(positives, first), np.add.reduceat(totals, first)


def pools(positives: FloatArray, totals: FloatArray, *, merge_equal: bool = True) -> IntArray:
    """Return the bounds of the pools of isotonic regression, ascending in probability.

    Neighbours with equal probability form one pool or, without `merge_equal`, as many pools as possible.
    """
    from scipy.optimize import isotonic_regression

    bounds = isotonic_regression(positives / totals, weights=totals).blocks.astype(np.int64)
    # Rounding may have kept equal pools apart. Only few pools remain, so an exact comparison is affordable.
    a = np.add.reduceat(positives, bounds[:-1])
    b = (np.add.reduceat(totals, bounds[:-1]) - a).clip(min=0.0)
    merged = bounds[len(bounds) - 1 - pool(a[::-1], b[::-1])[::-1]]
    if merge_equal:
        return merged
    last = len(totals)
    return last - split_equal(positives[::-1], (totals - positives)[::-1], last - merged[::-1])[::-1]


def _is_plain(knots: FloatArray) -> bool:
    """Return whether the knots are finite and far enough apart for finite slopes between them."""
    with np.errstate(over="ignore", invalid="ignore"):
        width = knots[-1] - knots[0]
    return bool(np.isfinite(width) and np.all(np.diff(knots) > SMALLEST_STEP))


def _intervals(places: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the start and width of every interval, and the fixed share of its upper end if it has no finite width.

    That is 1 if only the lower end is infinite, 0 if only the upper end is, and 1/2 if both ends are equal or infinite.
    The share of all other intervals is -1; their start and width determine it.
    """
    before, behind = np.append(-np.inf, places), np.append(places, np.inf)
    with np.errstate(all="ignore"):
        width = behind - before
    usual = (width > 0) & np.isfinite(width)
    share = np.where(np.isneginf(before) & np.isfinite(behind), 1.0, 0.5)
    share[np.isfinite(before) & np.isposinf(behind)] = 0.0
    share[usual] = -1.0
    return np.where(usual, before, 0.0), np.where(usual, width, 1.0), share
