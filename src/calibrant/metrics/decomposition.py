"""Parts of a score, by isotonic regression or by bins."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.checks import check_option
from calibrant._border.types import FloatArray
from calibrant._core.laws import divergence
from calibrant.binning import Binning, EqualWidth
from calibrant.binning.pools import Pools
from calibrant.metrics.base.binned import BinnedMetric, as_binning, bin_ratio
from calibrant.metrics.base.metric import PARTS
from calibrant.metrics.corp import (
    DECOMPOSABLE,
    Discrimination,
    Miscalibration,
    ScoreName,
    check_score,
    impurity,
    uncertainty,
)
from calibrant.metrics.ece import ECE
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.results import ScoreDecomposition


@takes_two_arrays
def decompose(
    predictions: Predictions,
    score: ScoreName = "squared-error",
    *,
    method: Literal["corp", "murphy"] = "corp",
    bins: Binning = EqualWidth(15),
) -> ScoreDecomposition:
    r"""Split a mean score into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1. More classes: confidence against correctness; pass
        ``p.one_vs_rest(c)`` for one class.
    score : {"squared-error", "log"}, default="squared-error"
    method : {"corp", "murphy"}, default="corp"
        Recalibrate by isotonic regression, or to the frequency in bins.
    bins : Binning, default=EqualWidth(15)
        For "murphy".

    Returns
    -------
    ScoreDecomposition

    Notes
    -----
    With the mean score :math:`\bar S` of predictions, :math:`c` their recalibration and :math:`\bar y` the frequency of
    the event, "corp" gives the exact

    .. math:: \bar S(p) = \underbrace{\bar S(p) - \bar S(c)}_{\text{miscalibration}}
        - \underbrace{\big(\bar S(\bar y) - \bar S(c)\big)}_{\text{discrimination}} + \bar S(\bar y).

    "murphy" recalibrates to the frequency :math:`\bar y_b` of each bin, as if its mean :math:`\bar p_b` had been
    predicted for all of it. For the squared error this is the classical

    .. math:: \sum_b \frac{W_b}{W} (\bar p_b - \bar y_b)^2 - \sum_b \frac{W_b}{W} (\bar y_b - \bar y)^2
        + \bar y (1 - \bar y),

    which falls short of the score by the part ``within``: the variance of predictions within bins less twice their
    covariance with the labels. For the log score the squares are Kullback-Leibler divergences.

    The log score is infinite if an observed class was given probability 0. Miscalibration is then infinite for "corp".
    With bins it is infinite only if all predictions of such a bin are 0, or all are 1; otherwise ``within`` is.
    Discrimination and uncertainty are always finite.

    `segment_decomposition` gives calibration and refinement loss for any other grouping of rows.

    References
    ----------
    A. H. Murphy, "A new vector partition of the probability score", Journal of Applied Meteorology 12 (1973);
    D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe, "Two extra components in the Brier score decomposition", Weather
    and Forecasting 23 (2008); T. Dimitriadis, T. Gneiting, A. I. Jordan, PNAS 118 (2021).

    Examples
    --------
    >>> p = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], labels=[0, 0, 0, 1, 1, 1])
    >>> parts = decompose(p)
    >>> [round(x, 4) for x in (parts.value, parts.miscalibration, parts.discrimination, parts.uncertainty)]
    [0.2267, 0.1017, 0.125, 0.25]
    """
    if not isinstance(predictions, Predictions):
        raise TypeError(f"decompose is computed from Predictions, but got {type(predictions).__name__}.")
    check_score(score)
    bins = as_binning(bins, EqualWidth)
    check_option(method, "method", "corp", "murphy")
    view = predictions if predictions.n_classes == 2 else predictions.top_label()
    parts = _by_isotonic_regression(view, score) if method == "corp" else _by_bins(view, score, bins)
    return ScoreDecomposition(
        score=score,
        method="corp" if method == "corp" else repr(bins),
        view="binary" if view is predictions else "top-label",
        value=DECOMPOSABLE[score](view),
        **parts,
    )


@dataclass(frozen=True)
class Reliability(BinnedMetric):
    r"""Reliability, or calibration loss, of bins: :math:`\sum_b \frac{W_b}{W} (\bar p_b - \bar y_b)^2`.

    It is the square of ``ECE(norm=2)``, and a part of the squared error: see `decompose`.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Examples
    --------
    >>> round(Reliability()(Predictions([0.8, 0.8], labels=[1, 0])), 4)
    0.09
    """

    label = "Reliability"
    meaning = "Murphy's calibration loss: the mean squared gap between prediction and frequency over bins."
    group = PARTS
    bins: Binning = EqualWidth(15)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return the mean squared gap."""
        return ECE(norm=2).combine(total, mass, predicted, hits) ** 2


@dataclass(frozen=True)
class Resolution(BinnedMetric):
    r"""Resolution of bins: how far their frequencies differ, :math:`\sum_b \frac{W_b}{W} (\bar y_b - \bar y)^2`.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Examples
    --------
    >>> Resolution()(Predictions([0.2, 0.2, 0.7, 0.7], labels=[0, 0, 1, 1]))
    0.25
    """

    label = "Resolution"
    meaning = "The variance of the frequencies over bins (Murphy)."
    group = PARTS
    better = "higher"
    measures = "accuracy"
    bins: Binning = EqualWidth(15)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:  # noqa: ARG002 (predictions only decide the bins)
        """Return the variance of the frequencies."""
        frequency = bin_ratio(hits, mass)
        return (mass / total * (frequency - hits.sum(axis=0) / total) ** 2).sum(axis=0)


def _by_isotonic_regression(view: Predictions, score: ScoreName) -> dict[str, float]:
    return {
        "miscalibration": Miscalibration(score).value(view),
        "discrimination": Discrimination(score).value(view),
        "uncertainty": uncertainty(Pools.of(view), score),
        "within": 0.0,
    }


def _by_bins(view: Predictions, score: ScoreName, bins: Binning) -> dict[str, float]:
    view = view.take(view.weights > 0)
    # Empty bins do not count; rows that a convention leaves out share one bin.
    index = np.unique(bins.cut_view(view).index, return_inverse=True)[1]
    share = view.weights / view.weights.sum()
    mass = np.bincount(index, share)
    predicted = np.bincount(index, share * view.positive) / mass
    observed = (np.bincount(index, share * view.labels) / mass).clip(max=1.0)
    overall = min(1.0, float(share @ view.labels))
    base = impurity(score, np.array([overall]))[0]
    if score == "squared-error":
        spread = view.positive - predicted[index]
        variance, covariance = float(share @ spread**2), 2 * float(share @ (spread * (view.labels - observed[index])))
        parts = {"within": variance - covariance, "within_variance": variance, "within_covariance": covariance}
        calibration, resolution = (predicted - observed) ** 2, (observed - overall) ** 2
    else:
        calibration, resolution = _divergence(observed, predicted), _divergence(observed, np.full(len(mass), overall))
        parts = {"within": _log_within(view, share, predicted[index])}
    return {
        "miscalibration": float(mass @ calibration) if np.isfinite(calibration).all() else np.inf,
        "discrimination": float(mass @ resolution),
        "uncertainty": float(base),
        **parts,
    }


def _divergence(observed: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence between Bernoulli laws."""
    return divergence(observed, predicted) + divergence(1 - observed, 1 - predicted)


def _log_within(view: Predictions, share: FloatArray, predicted: FloatArray) -> float:
    """Return the log score of the predictions less that of the mean of their bin."""
    own = DECOMPOSABLE["log"].per_row(view)
    with np.errstate(divide="ignore"):
        of_mean = -np.log(np.where(view.labels == 1, predicted, 1 - predicted))
    # If this is infinite, all predictions of the bin are equal to their mean, and the difference is 0.
    finite = np.isfinite(of_mean)
    return float(share[finite] @ (own[finite] - of_mean[finite]))
