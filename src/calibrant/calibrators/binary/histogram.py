"""Histogram binning."""

from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import logit
from calibrant.binning import Binning, EqualWidth
from calibrant.binning.ties import DECIMALS, comparable
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.rules import STEPS, Rule, are_steps
from calibrant.counts import Smoothing, as_smoothing


@dataclass(eq=False, repr=False)
class HistogramBinning(BinaryCalibrator):
    """Replace every probability by the share of class 1 in its bin.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)
        Such as `EqualMass(15)`. Only its edges are used: every bin includes its right edge, and the first both edges.
    smoothing : Smoothing, optional
        Such as `LaplaceCorrection()` or `MEstimate(2, prior="observed")`, applied to the counts of each bin.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    edges_ : ndarray of shape (m + 1,)
    probabilities_ : ndarray of shape (m,)

    Notes
    -----
    An empty bin predicts its midpoint, unless the smoothing adds pseudo-counts to it. Without smoothing, probabilities
    of exactly 0 and 1 are common. The map need not be monotone.

    References
    ----------
    B. Zadrozny, C. Elkan, "Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers", ICML 2001.

    Examples
    --------
    >>> histogram = HistogramBinning(EqualWidth(2)).fit([0.1, 0.2, 0.3, 0.4, 0.9], [0, 0, 0, 1, 1])
    >>> histogram.predict_proba([0.5, 0.6])[:, 1].round(3).tolist()
    [0.25, 1.0]
    """

    bins: Binning = EqualWidth()
    smoothing: Smoothing | None = None
    scores: Literal["probs", "logits"] = "probs"

    kind = "binning"
    n_parameters = "number of bins"
    data_efficiency = "low"
    expressiveness = "medium"
    use_when = "A few fixed probabilities are needed, which can be listed in a table."
    rules = (Rule(("edges_", "probabilities_"), partial(are_steps, more=1, rising=False), STEPS),)

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn the share of class 1 in every bin."""
        from scipy.special import expit

        if not isinstance(self.bins, Binning):
            raise TypeError(f"bins must be a binning such as EqualWidth(15), but is {self.bins!r:.80}.")
        bins = self.bins.cut(expit(scores), weights)
        self.edges_ = np.append(bins.lower, bins.upper[-1])
        index = self._index(scores)
        ones, zeros = (np.bincount(index[side], weights[side], bins.n_bins) for side in (hits, ~hits))
        counts = np.column_stack([zeros, ones]).astype(np.float64)
        self.probabilities_ = (bins.lower + bins.upper) / 2
        rule = as_smoothing(self.smoothing)
        known = counts.any(axis=1) | bool(rule.pseudo_counts(counts).any())
        self.probabilities_[known] = rule(counts[known])[:, 1]
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1, infinite for probabilities 0 and 1."""
        return logit(self.probabilities_)[self._index(scores)]

    def _line_operations(self, x: ops.Value) -> ops.Value:
        index = ops.expit(x).rounded(DECIMALS).search(self.edges_[1:-1], "left")
        return index.look_up(logit(self.probabilities_))

    def _index(self, scores: FloatArray) -> IntArray:
        from scipy.special import expit

        return np.searchsorted(self.edges_[1:-1], comparable(expit(scores)), side="left")
