"""The convex hull of the ROC curve as a calibration map."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import logit
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.binary.isotonic import pooled_ties, pools
from calibrant.calibrators.rules import RISING_STEPS, Rule, are_steps
from calibrant.counts import Smoothing, as_smoothing


@dataclass(eq=False, repr=False)
class ROCConvexHull(BinaryCalibrator):
    r"""Map every score to the probability of its segment on the convex hull of the ROC curve.

    Parameters
    ----------
    smoothing : Smoothing, optional
        Such as `LaplaceCorrection()` or `MEstimate(2, prior="observed")`, applied to the counts of each segment; by
        default the share of class 1.
    merge_equal : bool, default=True
        Whether neighbouring segments with the same slope are merged. If False, the hull is cut wherever the curve
        touches it, which matters only for smoothing.
    scores : {"probs", "logits", "raw"}, default="probs"

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (s,)
        Lowest and highest score of each segment, ascending: log-odds, or raw scores.
    probabilities_ : ndarray of shape (s,)

    Notes
    -----
    The segments are the pools of isotonic regression. Smoothing moves small segments further than large ones and can
    therefore reverse their order; isotonic regression on the smoothed values then restores it.

    Only the order of the scores counts. So, unlike in `IsotonicCalibration`, a score between two segments has the mean
    of their probabilities; below the first and above the last segment it has the probability of that segment. Data with
    one class makes one segment.

    Without smoothing the hull of few rows overfits: its end segments are short, and predict 0 or 1 from a few rows.
    Smooth it, or use a method with fewer parameters.

    References
    ----------
    T. Fawcett, A. Niculescu-Mizil, "PAV and the ROC convex hull", Machine Learning 68 (2007).

    Examples
    --------
    >>> from calibrant.counts import LaplaceCorrection
    >>> ranks, labels = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], [1, 1, 0, 1, 1, 0, 1, 1, 0, 0]
    >>> hull = ROCConvexHull(LaplaceCorrection(), scores="raw").fit(ranks, labels)
    >>> hull.probabilities_.tolist()
    [0.25, 0.625, 0.75]
    """

    smoothing: Smoothing | None = None
    merge_equal: bool = True
    scores: Literal["probs", "logits", "raw"] = "probs"

    kind = "isotonic"
    n_parameters = "up to n"
    data_efficiency = "low"
    expressiveness = "high"
    use_when = "The scores come from a ranker, on an unknown scale."
    accepts_raw = True
    rules = (Rule(("lower_", "upper_", "probabilities_"), are_steps, RISING_STEPS),)

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn the segments."""
        from scipy.optimize import isotonic_regression

        values, positives, totals = pooled_ties(scores, hits, weights)
        bounds = pools(positives, totals, merge_equal=self.merge_equal)
        a, both = np.add.reduceat(positives, bounds[:-1]), np.add.reduceat(totals, bounds[:-1])
        smoothed = as_smoothing(self.smoothing)(np.column_stack([(both - a).clip(min=0.0), a]))[:, 1]
        self.lower_, self.upper_ = values[bounds[:-1]], values[bounds[1:] - 1]
        self.probabilities_ = isotonic_regression(smoothed, weights=both).x
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1, infinite for probabilities 0 and 1."""
        last = len(self.lower_) - 1
        # The segment at or below each score, and the one at or above it; inside a segment, they are the same.
        below = (np.searchsorted(self.lower_, scores, side="right") - 1).clip(0, last)
        above = np.searchsorted(self.upper_, scores, side="left").clip(0, last)
        return logit((self.probabilities_[below] + self.probabilities_[above]) / 2)

    def _line_operations(self, x: ops.Value) -> ops.Value:
        last = len(self.lower_) - 1
        below = np.append(0, np.arange(last + 1))
        above = np.append(np.arange(last + 1), last)
        low = x.search(self.lower_, "right").look_up(self.probabilities_[below])
        high = x.search(self.upper_, "left").look_up(self.probabilities_[above])
        return ops.logit((low + high) / 2.0)
