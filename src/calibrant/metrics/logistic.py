"""Slope and intercept of logistic recalibration as metrics."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrant._border.types import BoolArray, Evaluator, FloatArray
from calibrant._core.logistic import maximise_all
from calibrant.metrics.base.metric import CLINICAL, Metric, relative
from calibrant.predictions import Predictions
from calibrant.results.words.metrics import FLAT, ONE_OUTCOME, REFUTED, SEPARATED
from calibrant.smoothing.logistic_line import (
    EPSILON,
    count_clipped,
    fitted_line,
    fitted_lines,
    fitted_shift,
    has_equal_predictions,
    is_flat,
    is_level_flat,
    is_separated,
    kept_log_odds,
    line_influences,
    line_of,
    present,
    score_terms,
    shift_of,
)


class LogisticMetric(Metric):
    r"""A coefficient of the recalibration of log-odds.

    The mean log-likelihood of a line is maximised, less :math:`10^{-12} / 2` times the squared distance from no change
    in level, at the mean log-odds, and slope. Where the likelihood has a maximum, this moves it by less than its
    rounding. Where it has none (one outcome only; for slope and intercept, also a threshold that separates the
    outcomes, or almost does; for the shift, predictions of 0 and 1 that are all right) the value is NaN, and the
    details say why. Where it does not depend on the slope (all predictions equal) the slope is 1. Resampled rows and
    redrawn labels that have no maximum get what the penalty leaves, large but finite.
    """

    group = CLINICAL
    family = "score"
    accepts = "binary"
    better = "none"
    measures = "calibration"
    methods = ("sandwich",)
    has_slope = True
    """Whether a slope is fitted, so that separated outcomes leave no value."""

    @abstractmethod
    def coefficient(self, log_odds: FloatArray, hits: BoolArray, share: FloatArray) -> float:
        """Return the value for rows of positive weight, whose shares sum to 1."""

    @abstractmethod
    def fitted(self, view: Predictions) -> float:
        """Return the value at the data's own weights, from a fit that is cached with the data."""

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        return self.fitted(self.view(data)) if self.has_value(data) else math.nan

    def has_value(self, data: Predictions) -> bool:
        """Return whether the likelihood has its maximum at a finite value."""
        return not self._what_is_missing(self.view(data))

    def _what_is_missing(self, view: Predictions) -> str:
        """Return the name of the detail that says why there is no value; empty if there is one."""
        if not np.ptp(view.labels[view.weights > 0]):
            return ONE_OUTCOME
        if not self.has_slope:
            return FLAT if is_level_flat(view) else ""
        if has_equal_predictions(view):
            return ""
        return SEPARATED if is_separated(view) else FLAT if is_flat(view) else ""

    @abstractmethod
    def batch(self, log_odds: FloatArray, hits: BoolArray, shares: FloatArray) -> FloatArray:
        """Return the values of many columns of outcomes or shares, NaN where the joint search does not find them."""

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        view = self.view(predictions)
        log_odds, hits = kept_log_odds(view), (view.labels == 1)[:, None]
        return lambda weights: self._values(log_odds, hits, weights)

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values."""
        log_odds = kept_log_odds(view)
        return lambda events: self._values(log_odds, events, view.weights[:, None])

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the number of predictions whose log-odds had to be limited, and of the wrong ones among them.

        If there is no value, the details say why.
        """
        view = self.view(predictions)
        present = view.weights > 0
        refuted = (np.exp(view.observed_log_probs) < 0.999 * EPSILON) & present
        counts = {"clipped": count_clipped(view), REFUTED: int(refuted.sum())}
        found: dict[str, object] = {name: count for name, count in counts.items() if count}
        missing = self._what_is_missing(view)
        return {**found, missing: True} if missing else found

    def _values(self, log_odds: FloatArray, hits: BoolArray, weights: FloatArray) -> FloatArray:
        """Return the values of all columns, searched together where that works, otherwise one by one."""
        n_columns = max(hits.shape[1], weights.shape[1])
        values = np.full(n_columns, np.nan)
        if n_columns > 1:
            shares = relative(weights)
            values = self.batch(log_odds, hits, shares / shares.sum(axis=0))
        for b in np.flatnonzero(np.isnan(values)):
            own = hits[:, b % hits.shape[1]], weights[:, b % weights.shape[1]]
            values[b] = self.coefficient(*present(log_odds, *own))
        return values


class _CoxCoefficient(LogisticMetric):
    """Intercept or slope of the line of the recalibrated log-odds."""

    place: ClassVar[int]
    """Which of the two it is: 0 or 1."""

    def fitted(self, view: Predictions) -> float:
        """Return the value at the data's own weights."""
        return fitted_line(view)[self.place]

    def influence(self, predictions: Predictions) -> FloatArray:
        r"""Return what each row contributes to the error of the value.

        With the fitted probabilities q, :math:`v_i = w_i q_i (1 - q_i)`, and the mean m of the z, weighted by v, these
        are :math:`s_i = w_i (y_i - q_i) (z_i - m) / \sum_j v_j (z_j - m)^2` for the slope, and
        :math:`w_i (y_i - q_i) / \sum_j v_j - m s_i` for the intercept.
        """
        return line_influences(self.view(predictions))[self.place]

    def coefficient(self, log_odds: FloatArray, hits: BoolArray, share: FloatArray) -> float:
        """Return the value for rows of positive weight, whose shares sum to 1."""
        return line_of(log_odds, hits, share)[self.place]

    def batch(self, log_odds: FloatArray, hits: BoolArray, shares: FloatArray) -> FloatArray:
        """Return the values of all columns."""
        return fitted_lines(log_odds, hits, shares)[self.place]


@dataclass(frozen=True)
class CoxSlope(_CoxCoefficient):
    r"""Slope of the recalibrated log-odds: 1 is right; below 1 predictions are too extreme, above 1 not extreme enough.

    Notes
    -----
    With log-odds :math:`z_i` of the predictions, the outcomes are given log-odds :math:`a + b z_i` by maximum
    likelihood; the value is :math:`b`. `CoxTest` tests :math:`(a, b) = (0, 1)`. Predictions below :math:`10^{-12}` or
    above :math:`1 - 10^{-12}` are moved there, and counted as ``clipped`` in the details.

    References
    ----------
    D. R. Cox, "Two further applications of a model for binary regression", Biometrika 45 (1958).

    Examples
    --------
    >>> p = Predictions([0.1] * 10 + [0.9] * 10, labels=[1] * 3 + [0] * 7 + [1] * 7 + [0] * 3)
    >>> round(CoxSlope()(p), 4)  # log(7 / 3) / log(9)
    0.3856
    """

    label = "Calibration slope"
    meaning = "Slope of recalibrated log-odds: 1 is right, below 1 is too extreme."
    principal = True
    place = 1


@dataclass(frozen=True)
class CoxIntercept(_CoxCoefficient):
    r"""Intercept of the recalibrated log-odds, fitted together with the slope: 0 is right.

    It is the recalibrated log-odds of a prediction of 1/2. `InTheLarge` is the intercept if the slope is kept at 1;
    both are called intercept in the literature. For two classes the event is class 1: swapping the classes changes the
    sign.

    Examples
    --------
    >>> p = Predictions([0.1] * 10 + [0.9] * 10, labels=[1] * 3 + [0] * 7 + [1] * 7 + [0] * 3)
    >>> abs(round(CoxIntercept()(p), 9))
    0.0
    """

    label = "Calibration intercept"
    meaning = "Intercept of recalibrated log-odds, fitted with the slope: 0 is right."
    principal = True
    place = 0


@dataclass(frozen=True)
class InTheLarge(LogisticMetric):
    r"""Calibration in the large: the shift of all log-odds that makes the mean prediction right. 0 is right.

    Positive if the event is predicted too rarely. Errors that cancel over the rows are not seen. For two classes the
    event is class 1: swapping the classes changes the sign.

    Examples
    --------
    >>> round(InTheLarge()(Predictions([0.5] * 10, labels=[1] * 8 + [0] * 2)), 4)  # log 4
    1.3863
    """

    label = "Calibration in the large"
    meaning = "Shift of log-odds that corrects the mean: 0 is right, positive if predictions are too low."
    principal = True
    has_slope = False

    def fitted(self, view: Predictions) -> float:
        """Return the intercept at slope 1."""
        return fitted_shift(view)

    def influence(self, predictions: Predictions) -> FloatArray:
        r"""Return :math:`w_i (y_i - q_i) / \sum_j w_j q_j (1 - q_j)` with the shifted probabilities q."""
        view = self.view(predictions)
        scores, information = score_terms(view, self.fitted(view), 1.0)
        return np.asarray(scores / information.sum())

    def coefficient(self, log_odds: FloatArray, hits: BoolArray, share: FloatArray) -> float:
        """Return the intercept at slope 1."""
        return shift_of(log_odds, hits, share)

    def batch(self, log_odds: FloatArray, hits: BoolArray, shares: FloatArray) -> FloatArray:
        """Return every intercept at slope 1."""
        return maximise_all(log_odds, np.ones((1, len(log_odds))), hits, shares, np.zeros(1))[0]
