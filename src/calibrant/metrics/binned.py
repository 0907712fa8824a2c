"""Binned calibration errors of binary predictions."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant._typing import Evaluator, FloatArray
from calibrant.binning import Binning, EqualWidth
from calibrant.curves import bin_totals, joint_bin_totals
from calibrant.metrics.base import Metric
from calibrant.metrics.norms import check_norm, root
from calibrant.predictions import Predictions


class BinnedMetric(Metric):
    """A function of weight, mean prediction and frequency in every bin."""

    family = "binned"
    accepts = "binary"
    measures = "calibration"
    bins: Binning

    @abstractmethod
    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return B values from the weight of all rows, (B,), and the sums in each bin, (n_bins, B).

        The sums are those of the weights, of the weighted predictions and of the weighted labels.
        """

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bins are cut once, at the data's own weights."""
        view = self.view(predictions)
        cut = self.bins.cut(view.positive, view.weights)
        sums = joint_bin_totals(cut, np.column_stack([np.ones(view.n_samples), view.positive, view.labels]))
        complete = bool((cut.index >= 0).all())

        def evaluate(weights: Any) -> FloatArray:
            mass, predicted, hits = sums(weights)
            total = mass.sum(axis=0) if complete else weights.sum(axis=0)
            return self.combine(total, mass, predicted, hits)

        return evaluate

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values: only the frequencies change."""
        view = self.view(predictions)
        cut = self.bins.cut(view.positive, view.weights)
        weights = view.weights[:, None]
        mass = bin_totals(cut, np.ones(view.n_samples))(weights)
        predicted = bin_totals(cut, view.positive)(weights)
        hits = bin_totals(cut, view.weights)
        target = 1 if view is predictions else predictions.predicted[:, None]
        return lambda labels: self.combine(weights.sum(axis=0), mass, predicted, hits(labels == target))

    def details(self, predictions: Predictions) -> Mapping[str, Any]:
        """Say how many bins hold weight."""
        view = self.view(predictions)
        cut = self.bins.cut(view.positive, view.weights)
        mass = bin_totals(cut, np.ones(view.n_samples))(view.weights[:, None])
        return {"bins_used": int((mass > 0).sum())}


@dataclass(frozen=True)
class ECE(BinnedMetric):
    r"""Expected calibration error: how far frequency and mean prediction are apart, averaged over bins.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)
    norm : float, default=1
        The exponent r below; 2 gives the root mean square, inf the largest gap of any bin.

    Notes
    -----
    With the weight :math:`W_b` of bin :math:`b` out of :math:`W`, its weighted mean prediction :math:`\bar p_b` and
    frequency :math:`\bar y_b`,

    .. math:: \Big(\sum_b \frac{W_b}{W} |\bar p_b - \bar y_b|^r\Big)^{1/r}.

    It is biased upwards: a calibrated model has a positive ECE by chance, which `ChanceECE` estimates.
    Given more than two classes, it means `TopLabel` of itself.

    References
    ----------
    M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> ECE()(Predictions([0.25, 0.25, 0.75, 0.75], labels=[0, 0, 1, 1]))
    0.25
    """

    bins: Binning = EqualWidth(15)
    norm: float = 1

    def __post_init__(self) -> None:
        _check_bins(self.bins)
        check_norm(self.norm, largest=True)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return the norm of the gaps."""
        gap_sums = np.abs(predicted - hits)
        if self.norm == 1:
            return gap_sums.sum(axis=0) / total
        gaps = _ratio(gap_sums, mass)
        if self.norm == np.inf:
            return gaps.max(axis=0)
        return root((mass * gaps**self.norm).sum(axis=0) / total, self.norm)


@dataclass(frozen=True)
class DebiasedECE(BinnedMetric):
    r"""Root-mean-square calibration error with the bias of chance removed.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Notes
    -----
    The square root of :math:`\max(D, 0)`, where

    .. math:: D = \sum_b \frac{W_b}{W} \Big[(\bar p_b - \bar y_b)^2 - \frac{\bar y_b (1 - \bar y_b)}{W_b - 1}\Big]

    over bins with :math:`W_b > 1`. For unit weights :math:`D` is an unbiased estimate of the squared binned error up
    to the bins that hold one row; it is kept, with its sign, in the estimate's details as ``squared``.

    References
    ----------
    A. Kumar, P. Liang, T. Ma, "Verified uncertainty calibration", NeurIPS 2019; J. Bröcker, "Estimating reliability
    and resolution of probability forecasts through decomposition of the empirical score", Climate Dynamics 39 (2012).

    Examples
    --------
    >>> p = Predictions([0.8, 0.8, 0.8, 0.8], labels=[0, 0, 0, 0])
    >>> round(DebiasedECE()(p), 4)  # no variance to remove
    0.8
    """

    bins: Binning = EqualWidth(15)

    def __post_init__(self) -> None:
        _check_bins(self.bins)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return the root of D, or 0 where D is negative."""
        return np.sqrt(np.maximum(self._squared(total, mass, predicted, hits), 0.0))

    def _squared(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        gaps = _ratio(predicted - hits, mass)
        frequency = _ratio(hits, mass)
        bias = _ratio(frequency * (1 - frequency), mass - 1)
        return np.where(mass > 1, mass * (gaps**2 - bias), 0.0).sum(axis=0) / total

    def details(self, predictions: Predictions) -> Mapping[str, Any]:
        """Give D with its sign."""
        view = self.view(predictions)
        cut = self.bins.cut(view.positive, view.weights)
        weights = view.weights[:, None]
        columns = (np.ones(view.n_samples), view.positive, view.labels.astype(float))
        sums = [bin_totals(cut, values)(weights) for values in columns]
        squared = float(self._squared(weights.sum(axis=0), *sums)[0])
        return {**super().details(predictions), "squared": squared}


@dataclass(frozen=True)
class ChanceECE(Metric):
    r"""The ECE that a perfectly calibrated model with these predictions would have by chance.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Notes
    -----
    If every label is drawn from its prediction, the residuals of bin :math:`b` sum to a variable with mean 0 and
    variance :math:`V_b = \sum_{i \in b} w_i p_i (1 - p_i)`, a weight counting as so many rows. Its mean absolute value
    is near :math:`\sqrt{2 V_b / \pi}` where many rows matter, and never above :math:`2 V_b`, the sum of the rows' own
    mean absolute residuals. The value is

    .. math:: \frac1W \sum_b \min\big(\sqrt{2 V_b / \pi},\; 2 V_b\big).

    The labels do not enter. `ConsistencyTest` draws the whole law instead of approximating its mean.

    Examples
    --------
    >>> p = Predictions([0.5] * 200, labels=[0, 1] * 100)
    >>> round(ChanceECE()(p), 4), ECE()(p)  # sqrt(2 * 50 / pi) / 200
    (0.0282, 0.0)
    """

    family = "binned"
    accepts = "binary"
    better: ClassVar[Literal["lower", "higher", "none"]] = "none"
    measures: ClassVar[Any] = "chance"
    bins: Binning = EqualWidth(15)

    def __post_init__(self) -> None:
        _check_bins(self.bins)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; integer weights count as copies of a row."""
        view = self.view(predictions)
        cut = self.bins.cut(view.positive, view.weights)
        spread = bin_totals(cut, view.positive * (1 - view.positive))

        def evaluate(weights: Any) -> FloatArray:
            variance = spread(weights)
            expected = np.minimum(np.sqrt(2 * variance / np.pi), 2 * variance)
            return expected.sum(axis=0) / weights.sum(axis=0)

        return evaluate


def _check_bins(bins: object) -> None:
    if not isinstance(bins, Binning):
        raise TypeError(f"bins must be a Binning such as EqualWidth(15) or EqualMass(15), but is {bins!r}.")


def _ratio(numerator: FloatArray, mass: FloatArray) -> FloatArray:
    """Divide by the weight of the bin; empty bins give 0."""
    return np.divide(numerator, mass, out=np.zeros_like(numerator), where=mass > 0)
