"""Step functions of the score: histogram binning, and the average of many histograms."""

from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_positive
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import logit
from calibrant.binning import Binning, EqualWidth
from calibrant.binning.ties import DECIMALS, comparable
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.binary.isotonic import pooled_ties
from calibrant.calibrators.rules import STEPS, Rule, are_steps
from calibrant.counts import Smoothing, as_smoothing
from calibrant.exceptions import InputError

NEGLIGIBLE = 1e-17
"""A model with a smaller weight does not change a sum of weights near 1."""


class StepCalibrator(BinaryCalibrator):
    """Base of the maps that are constant in each bin, whose right edge belongs to it."""

    kind = "binning"
    edges_: FloatArray
    probabilities_: FloatArray

    @property
    def _inner_edges(self) -> FloatArray:
        """Return the probabilities at which the map changes."""
        return self.edges_

    def _bin_of(self, scores: FloatArray) -> IntArray:
        from scipy.special import expit

        return np.searchsorted(self._inner_edges, comparable(expit(scores)), side="left")

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1, infinite for probabilities 0 and 1."""
        return logit(self.probabilities_)[self._bin_of(scores)]

    def _line_operations(self, x: ops.Value) -> ops.Value:
        bins = ops.expit(x).rounded(DECIMALS).search(self._inner_edges, "left")
        return bins.look_up(logit(self.probabilities_))


@dataclass(eq=False, repr=False)
class HistogramBinning(StepCalibrator):
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
        index = self._bin_of(scores)
        ones, zeros = (np.bincount(index[side], weights[side], bins.n_bins) for side in (hits, ~hits))
        counts = np.column_stack([zeros, ones]).astype(np.float64)
        self.probabilities_ = (bins.lower + bins.upper) / 2
        rule = as_smoothing(self.smoothing)
        known = counts.any(axis=1) | bool(rule.pseudo_counts(counts).any())
        self.probabilities_[known] = rule(counts[known])[:, 1]
        return self

    @property
    def _inner_edges(self) -> FloatArray:
        return self.edges_[1:-1]


@dataclass(eq=False, repr=False)
class BBQ(StepCalibrator):
    r"""Bayesian binning into quantiles: an average over histograms, each weighted by its evidence.

    Parameters
    ----------
    spread : float, default=10
        The histograms have from :math:`\sqrt[3]{N} / C` to :math:`C \sqrt[3]{N}` bins, where C is this number, but at
        most N / 5.
    strength : float, default=2
        Pseudo-counts, divided equally among the bins of a histogram.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    n_bins_, model_weights_ : ndarray of shape (m,)
        Requested number of bins of each histogram, and its weight in the average.
    edges_, probabilities_ : ndarray of shape (e,) and (e + 1,)
        The average of all histograms: a step function, each step including its upper edge.

    Notes
    -----
    A histogram cuts the N rows into B bins of equal weight, as far as ties allow. Its edges lie halfway between
    neighbouring scores, and :math:`p_b` halfway between the edges of bin b. The bin, with :math:`m_b` of its
    :math:`N_b` rows in class 1, has a beta prior with :math:`\alpha_b = (N' / B) p_b` and
    :math:`\beta_b = (N' / B)(1 - p_b)`, where N' is the strength. The evidence of the histogram is the BDeu score

    .. math:: \prod_b \frac{\Gamma(N'/B)}{\Gamma(N_b + N'/B)} \frac{\Gamma(m_b + \alpha_b)}{\Gamma(\alpha_b)}
        \frac{\Gamma(N_b - m_b + \beta_b)}{\Gamma(\beta_b)}.

    A bin predicts its posterior mean :math:`(m_b + \alpha_b) / (N_b + N'/B)`, so no probability is 0 or 1. The map need
    not be monotone.

    References
    ----------
    M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI
    2015.

    Examples
    --------
    >>> bbq = BBQ().fit([0.1, 0.2, 0.6, 0.7], [0, 0, 1, 1])
    >>> bbq.n_bins_.tolist(), bbq.predict_proba([0.3])[:, 1].round(3).tolist()
    ([1], [0.5])
    """

    spread: float = 10.0
    strength: float = 2.0
    scores: Literal["probs", "logits"] = "probs"

    n_parameters = "of the order of n^(2/3)"
    data_efficiency = "medium"
    expressiveness = "high"
    use_when = "The map need not be monotone and there are thousands of rows."
    rules = (Rule(("edges_", "probabilities_"), partial(are_steps, more=-1, rising=False), STEPS),)

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn the average of the histograms."""
        from scipy.special import expit

        check_positive(self.strength, "strength")
        if not self.spread >= 1:
            raise InputError(f"spread must be at least 1, but is {self.spread!r}.")
        values, positives, totals = pooled_ties(comparable(expit(scores)), hits, weights)
        self.n_bins_ = self._sizes(float(totals.sum()))
        bins = _cut(values, positives, totals, self.n_bins_)
        sizes = np.diff(np.append(bins.first, len(bins.totals)))
        share = np.repeat(self.strength / sizes, sizes)
        centre = (bins.lower + bins.upper) / 2
        alpha, beta = share * centre, share * (1 - centre)
        evidence = np.add.reduceat(_evidence(bins, alpha, beta), bins.first)
        self.model_weights_ = np.exp(evidence - evidence.max())
        self.model_weights_ /= self.model_weights_.sum()
        means = (bins.positives + alpha) / (bins.totals + share)
        self.edges_, self.probabilities_ = _averaged(bins, means, np.repeat(self.model_weights_, sizes))
        return self

    def _sizes(self, total: float) -> IntArray:
        root = float(np.cbrt(total))
        least = max(1, int(root / self.spread))
        most = min(np.ceil(total / 5), np.ceil(self.spread * root))
        return np.arange(least, max(least, int(most)) + 1)


@dataclass(frozen=True, eq=False)
class _Bins:
    """The bins of all histograms, concatenated; `first` holds the index of each histogram's first bin."""

    first: IntArray
    lower: FloatArray
    upper: FloatArray
    positives: FloatArray
    totals: FloatArray


def _cut(values: FloatArray, positives: FloatArray, totals: FloatArray, sizes: IntArray) -> _Bins:
    """Cut distinct values into bins of equal weight, for all numbers of bins at once."""
    mass = np.cumsum(totals)
    model = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(model)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # 0, ..., B - 1 for each B.
    # A bin ends with the value that reaches the b-th of B quantiles; the next value starts a new bin.
    start = np.searchsorted(mass, mass[-1] * place / sizes[model]) + 1
    start[place == 0] = 0
    kept = (start < len(values)) & ((place == 0) | (np.diff(start, prepend=-1) > 0))
    start, model = start[kept], model[kept]
    is_first = np.diff(model, prepend=-1) > 0
    stop = np.where(np.append(is_first[1:], True), len(values), np.append(start[1:], 0))
    edges = np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, [1.0]])
    before, hits = np.append(0.0, mass), np.append(0.0, np.cumsum(positives))
    return _Bins(
        first=np.flatnonzero(is_first),
        lower=edges[start],
        upper=edges[stop],
        positives=hits[stop] - hits[start],
        totals=before[stop] - before[start],
    )


def _evidence(bins: _Bins, alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """Return the logarithm of each bin's factor of the BDeu score."""
    from scipy.special import betaln

    negatives = (bins.totals - bins.positives).clip(min=0.0)  # Sums of weights are not exact.
    return betaln(bins.positives + alpha, negatives + beta) - betaln(alpha, beta)


def _averaged(bins: _Bins, means: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return edges and heights of the weighted average of the histograms."""
    is_first = np.full(len(means), False)
    is_first[bins.first] = True
    heights = weights * means
    jumps = np.diff(heights, prepend=0.0)
    inner = ~is_first & (weights > NEGLIGIBLE)
    edges, index = np.unique(bins.lower[inner], return_inverse=True)
    steps = np.bincount(index, jumps[inner], minlength=len(edges))
    total = np.cumsum(np.append(heights[is_first].sum(), steps))
    return edges, total.clip(means.min(), means.max())
