"""Measures of clinical prediction models that compare predictions with a smooth calibration curve, and O/E."""

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant.binning.ties import Pools
from calibrant.exceptions import InputError
from calibrant.metrics.base.metric import CLINICAL, Metric
from calibrant.metrics.base.pooled import PooledMetric
from calibrant.predictions import Predictions
from calibrant.results import Description
from calibrant.smoothing.smoothers import Loess, Smoother


class CurveGaps(PooledMetric):
    """A summary of the distances between the predictions and a calibration curve."""

    group = CLINICAL
    family = "smooth"
    measures = "calibration"
    curve: Smoother

    def __post_init__(self) -> None:
        if not isinstance(self.curve, Smoother):
            raise TypeError(f"curve must be a Smoother such as Loess() or IsotonicCurve(), but is {self.curve!r}.")

    @abstractmethod
    def summarise(self, gaps: FloatArray, mass: FloatArray) -> FloatArray:
        """Return B values from distances, (m, B), and the weight of each row, (m,)."""

    def combine(self, pools: Pools) -> float:
        """Return the summary of the distances."""
        curve = pools.once(self.curve, lambda: self.curve.fit(pools))
        return float(self.summarise(np.abs(pools.values - curve)[:, None], pools.mass)[0])

    def combine_redraws(self, pools: Pools, hits: FloatArray) -> FloatArray:
        """Return the summaries for all columns of redrawn events, (m, B), at once."""
        return self.summarise(np.abs(pools.values[:, None] - self.curve.fit_redraws(pools, hits)), pools.mass)


@dataclass(frozen=True)
class ICI(CurveGaps):
    r"""Integrated calibration index: the mean distance between the predictions and a smooth calibration curve.

    Parameters
    ----------
    curve : Smoother, default=Loess()
        `Loess` is the published form; `IsotonicCurve` needs no span.

    Notes
    -----
    With the curve :math:`\hat c`, the value is :math:`\sum_i w_i |p_i - \hat c(p_i)| / \sum_i w_i`. `GapQuantile` gives
    quantiles of the same distances in place of their mean. The curve is fitted again under new weights or labels.

    References
    ----------
    P. C. Austin, E. W. Steyerberg, "The Integrated Calibration Index (ICI) and related metrics for quantifying the
    calibration of logistic regression models", Statistics in Medicine 38 (2019).

    Examples
    --------
    >>> round(ICI()(Predictions([0.3] * 10, labels=[1] * 4 + [0] * 6)), 6)
    0.1
    """

    label = "ICI"
    meaning = "Integrated calibration index: the mean distance from a smooth calibration curve."
    curve: Smoother = Loess()

    def summarise(self, gaps: FloatArray, mass: FloatArray) -> FloatArray:
        """Return the mean distance of every column."""
        return np.asarray(np.average(gaps, axis=0, weights=mass))


@dataclass(frozen=True)
class GapQuantile(CurveGaps):
    r"""A quantile of the distances between the predictions and a smooth calibration curve: E50, E90, Emax.

    Parameters
    ----------
    q : float, default=0.9
        0.5 gives E50, the median; 0.9 gives E90; 1 gives Emax.
    curve : Smoother, default=Loess()

    Notes
    -----
    The smallest distance :math:`|p_i - \hat c(p_i)|` such that rows with at least the share :math:`q` of the weight
    have no larger one. Emax rests on the ends of the curve, where few rows support it.

    Examples
    --------
    >>> round(GapQuantile(1)(Predictions([0.3] * 10, labels=[1] * 4 + [0] * 6)), 6)
    0.1
    """

    q: float = 0.9
    curve: Smoother = Loess()

    def about(self) -> Description:
        """Return the description that readers see."""
        share = as_given(100 * self.q)
        label, meaning = (
            f"E{share}",
            f"The distance from a smooth calibration curve that {share}% of the rows do not exceed.",
        )
        if self.q == 1:
            label, meaning = "Emax", "The largest distance of a prediction from a smooth calibration curve."
        return replace(super().about(), label=label, meaning=meaning)

    def __post_init__(self) -> None:
        if isinstance(self.q, bool) or not isinstance(self.q, (int, float)) or not 0 <= self.q <= 1:
            raise InputError(f"q must be a number from 0 to 1, but is {self.q!r}.")
        super().__post_init__()

    def summarise(self, gaps: FloatArray, mass: FloatArray) -> FloatArray:
        """Return the quantile of the distances of every column."""
        order = np.argsort(gaps, axis=0)
        running = np.cumsum(mass[order], axis=0)
        at = np.argmax(running >= self.q * running[-1] * (1 - 1e-12), axis=0)
        columns = np.arange(gaps.shape[1])
        return np.asarray(gaps[order[at, columns], columns])


@dataclass(frozen=True)
class ObservedExpectedRatio(Metric):
    r"""Observed over expected events, O/E: :math:`\sum_i w_i y_i / \sum_i w_i p_i`.

    1 is right; above 1 the event is predicted too rarely, below 1 too often. It sees the mean alone: errors that cancel
    over the rows leave it at 1. If no event was expected, it is 1 if none was observed, else infinite.

    For two classes the event is class 1, so that swapping the classes changes the value; for more, it is that the
    predicted class is right.

    Examples
    --------
    >>> ObservedExpectedRatio()(Predictions([0.25, 0.25, 0.75, 0.75], labels=[1, 0, 1, 1]))
    1.5
    """

    label = "O/E ratio"
    meaning = "Observed over expected events: 1 is right, above 1 the predictions are too low."
    group = CLINICAL
    family = "score"
    accepts = "binary"
    better = "none"
    measures = "calibration"
    methods = ("sandwich",)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B ratios."""
        view = self.view(predictions)
        return lambda weights: _ratio(view.labels @ weights, view.positive @ weights)

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B ratios."""
        expected = view.positive @ view.weights
        return lambda events: _ratio(view.weights @ events, expected)

    def influence(self, predictions: Predictions) -> FloatArray:
        r"""Return what each row contributes to the error of the value r: :math:`w_i (y_i - r p_i) / \sum_j w_j p_j`."""
        view = self.view(predictions)
        weights = view.weights / view.weights.max()
        expected = float(weights @ view.positive)
        if expected == 0:
            raise InputError("O/E has no confidence limits if the predictions expect no event at all.")
        return weights * (view.labels - self(predictions) * view.positive) / expected


def _ratio(observed: FloatArray | IntArray, expected: FloatArray) -> FloatArray:
    if expected.min() > 0:
        with np.errstate(over="ignore"):  # Infinite if an event happened whose probability was almost 0.
            return np.asarray(observed / expected, dtype=np.float64)
    expected = np.broadcast_to(expected, observed.shape)
    nothing = np.where(observed > 0, np.inf, 1.0)
    return np.divide(observed, expected, out=nothing, where=expected > 0)
