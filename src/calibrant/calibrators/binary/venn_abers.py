"""Venn-Abers prediction: isotonic regression with the new row labelled 0, and labelled 1."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.binary.isotonic import pooled_ties, pools
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.fitting.log_odds import class_scores, log_odds_of_two
from calibrant.calibrators.rules import RISING_STEPS, Rule, are_steps


@dataclass(eq=False, repr=False)
class VennAbers(BinaryCalibrator):
    r"""Two probabilities per row, one of which is calibrated, and the best single probability between them.

    Parameters
    ----------
    scores : {"probs", "logits", "raw"}, default="probs"

    Attributes
    ----------
    lower_scores_, lower_ : ndarray of shape (a,)
        The steps of :math:`p_0`: each probability holds from its score on; below the first score it is 0.
    upper_scores_, upper_ : ndarray of shape (b,)
        The steps of :math:`p_1`: each probability holds up to its score; above the last score it is 1.

    Notes
    -----
    Isotonic regression is fitted to the rows and the new score, once with the label 0, which gives the new score the
    probability :math:`p_0`, and once with the label 1, which gives :math:`p_1`. If the rows and the new row are
    exchangeable, the one that belongs to the true label is calibrated, for any distribution. The single probability
    :math:`p_1 / (1 - p_0 + p_1)` has the least regret in log-loss; it is never 0 or 1.

    Both are computed exactly for all scores at once, in :math:`O(n \log n)`. Let W be cumulative weights, and Y
    cumulative weights of class 1. A label 1 added inside a pool of isotonic regression merges the rows from a point a
    before it in that pool to the end b of that pool or of a later one:

    .. math:: p_1 = \max_{a} \min_{b} \frac{Y_b - Y_a + 1}{W_b - W_a + 1}.

    For each a the minimum belongs to a tangent to a convex chain, which is found by bisection.

    The new row has weight 1, so the scale of the weights matters. With more than two classes the guarantee holds for
    each class against the rest, before the rows are normalised.

    References
    ----------
    V. Vovk, I. Petej, V. Fedorova, "Large-scale probabilistic predictors with and without guarantees of validity",
    NeurIPS 2015.

    Examples
    --------
    >>> venn_abers = VennAbers().fit([0.1, 0.3, 0.6, 0.8], [0, 0, 1, 1])
    >>> low, high = venn_abers.intervals([0.2, 0.7])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.5], [0.5, 1.0])
    """

    scores: Literal["probs", "logits", "raw"] = "probs"

    kind = "isotonic"
    n_parameters = "up to 2n"
    data_efficiency = "medium"
    expressiveness = "high"
    use_when = "Every probability needs an interval that is valid without assumptions on the model."
    accepts_raw = True
    rules = (
        Rule(("lower_scores_", "lower_"), are_steps, RISING_STEPS),
        Rule(("upper_scores_", "upper_"), are_steps, RISING_STEPS),
    )

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn both step functions."""
        values, positives, totals = pooled_ties(scores, hits, weights)
        bounds = pools(positives, totals)
        upper = _with_one_more_hit(positives, totals, bounds)
        # Adding a label 0 is the mirror image of adding a label 1.
        last = len(values)
        lower = 1 - _with_one_more_hit((totals - positives)[::-1], totals[::-1], last - bounds[::-1])[::-1]
        # Rounding of weights must not make p_1 equal 0 or p_0 equal 1.
        upper, lower = upper.clip(np.finfo(float).tiny, 1.0), lower.clip(0.0, 1 - np.finfo(float).epsneg)
        ends, starts = np.append(upper[1:] != upper[:-1], True), np.append(True, lower[1:] != lower[:-1])
        self.upper_scores_, self.upper_ = values[ends], upper[ends]
        self.lower_scores_, self.lower_ = values[starts], lower[starts]
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1."""
        low, high = self.line_intervals(scores)
        return np.log(high) - np.log1p(-low)

    def _line_operations(self, x: ops.Value) -> ops.Value:
        low = x.search(self.lower_scores_, "right").look_up(-np.log1p(-np.append(0.0, self.lower_)))
        high = x.search(self.upper_scores_, "left").look_up(np.log(np.append(self.upper_, 1.0)))
        return high + low

    def intervals(self, scores: object) -> tuple[FloatArray, FloatArray]:
        """Return both probabilities of class 1, (n,) each, or of all classes, (n, K) each.

        Parameters
        ----------
        scores : array-like of shape (n, K) or (n,)
            As for `predict_proba`.
        """
        check_is_fitted(self)
        if self._kind() == "raw":
            return self.line_intervals(self._read_raw(scores))
        _, log_probs = self._read(scores)
        if log_probs.shape[1] == 2:
            return self.line_intervals(log_odds_of_two(log_probs))
        columns = class_scores(log_probs, "probability").T
        own = [c for c in self.lifted_.calibrators_ if isinstance(c, VennAbers)]
        pairs = [c.line_intervals(x) for c, x in zip(own, columns, strict=True)]
        return np.column_stack([low for low, _ in pairs]), np.column_stack([high for _, high in pairs])

    def line_intervals(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both probabilities of class 1 for one score per row."""
        order = np.argsort(scores)  # Searching for sorted numbers is so much faster that sorting pays.
        ascending = scores[order]
        low, high = np.empty(len(scores)), np.empty(len(scores))
        low[order] = np.append(0.0, self.lower_)[np.searchsorted(self.lower_scores_, ascending, side="right")]
        high[order] = np.append(self.upper_, 1.0)[np.searchsorted(self.upper_scores_, ascending, side="left")]
        return low, high


def _with_one_more_hit(positives: FloatArray, totals: FloatArray, bounds: IntArray) -> FloatArray:
    """Return the isotonic regression at each score if one row of class 1 is added there."""
    W, Y = np.append(0.0, np.cumsum(totals)), np.append(0.0, np.cumsum(positives))
    ends = bounds[1:]
    chain_W, chain_Y = W[ends] + 1, Y[ends] + 1
    slopes = np.append(np.diff(chain_Y) / np.diff(chain_W), np.inf)  # From each end to the next.
    starts_W, starts_Y = W[:-1], Y[:-1]
    low = np.repeat(np.arange(len(ends)), np.diff(bounds))
    high = np.full(len(totals), len(ends) - 1)
    # Find the first end at which the chain continues at least as steeply as the line that reaches it.
    while True:
        open_ = low < high
        if not open_.any():
            break
        middle = (low + high) // 2
        slope = (chain_Y[middle] - starts_Y) / (chain_W[middle] - starts_W)
        touches = slope <= slopes[middle]
        high = np.where(touches, middle, high)
        low = np.where(touches | ~open_, low, middle + 1)
    return np.maximum.accumulate((chain_Y[low] - starts_Y) / (chain_W[low] - starts_W))
