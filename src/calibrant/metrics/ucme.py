"""Unnormalised calibration mean embedding: deviations at a few test locations, in linear time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts
from calibrant.kernels.algebra import JointKernel, TensorProduct, unscaled
from calibrant.kernels.discrepancy import Data, target_profile, tune
from calibrant.kernels.general import GeneralKernel
from calibrant.kernels.targets import gram_of
from calibrant.metrics.base.kernel import KernelMetric, monte_carlo_error
from calibrant.metrics.base.metric import Metric
from calibrant.predictions import Predictions

MOST_CORNERS = 50
"""With more classes than this, the default test locations leave out the corners of the simplex."""

N_LOCATIONS = 10
"""Default number of test locations for forecasts."""


@dataclass(frozen=True, eq=False)
class UCME(KernelMetric):
    r"""Squared unnormalised calibration mean embedding at test locations.

    Parameters
    ----------
    kernel : tensor product of kernels, optional
        Default: as for `SKCE`.
    test_predictions : array-like of shape (J, K), or Distribution of J rows, optional
        Predictions at the test locations. Default for classes: the centre of the simplex and, up to 50 classes, its
        corners, each with every class as target. Default for forecasts: ten forecasts at the quantiles of the
        predicted means, with these means as targets.
    test_targets : array-like of shape (J,), optional
        Targets at the test locations; class indices for classes.

    Notes
    -----
    With the deviation of row i at location j, for K classes and the Gram matrix G of the target kernel,
    :math:`z_{ij} = k_P(p_i, t_j) \, r_i^\top G e_{s_j}`, the value is

    .. math:: \frac1J \sum_j \Big(\frac{\sum_i w_i z_{ij}}{\sum_i w_i}\Big)^2.

    It is never negative, and biased upwards by the variance of the means. Time and memory are O(n J).

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests beyond classification", ICLR 2021.

    Examples
    --------
    >>> from calibrant.kernels import GaussianKernel, WhiteKernel
    >>> p = Predictions([0.0, 0.0, 0.5], labels=[1, 1, 1]).take([0, 1])
    >>> UCME(GaussianKernel() @ WhiteKernel(), [[1.0, 0.0]], [0])(p)  # both residuals are (-1, 1)
    1.0
    """

    label = "UCME"
    meaning = "Squared mean deviation of labels from predictions near a few test locations."
    kernel: JointKernel | GeneralKernel | None = None
    test_predictions: object = None
    test_targets: object = None

    def __post_init__(self) -> None:
        if self.kernel is not None and not isinstance(self.kernel, JointKernel):
            raise TypeError(f"kernel must be a tensor product of kernels, but is {self.kernel!r}.")
        if (self.test_predictions is None) != (self.test_targets is None):
            raise InputError("test_predictions and test_targets must be given together, or neither of them.")

    def deviations(self, data: Data) -> FloatArray:
        """Return the deviation of every row at every test location, of shape (n, J)."""
        terms = self.terms(data)
        if isinstance(data, Predictions):
            where = self.class_locations(data)
            return np.sum([_class_deviations(data, term, *where) for term in terms], axis=0)
        places, targets = self.forecast_locations(data)
        return np.sum([_forecast_deviations(data, term, places, targets) for term in terms], axis=0)

    def terms(self, data: Data) -> tuple[TensorProduct, ...]:
        """Return the tensor products whose sum is the kernel, with every lengthscale a number."""
        kernel = tune(self.kernel, data)
        if not isinstance(kernel, JointKernel):
            raise TypeError(f"kernel must be a tensor product of kernels, but is {kernel!r}.")
        return kernel.terms

    def forecast_locations(self, data: Forecasts) -> tuple[Distribution, FloatArray]:
        """Return predicted laws and targets at the test locations of forecasts."""
        if self.test_predictions is None:
            return _forecast_locations(data)
        return _checked_forecast_locations(data, self.test_predictions, self.test_targets)

    def class_locations(self, data: Predictions) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the distinct predictions at the locations, (M, K), and the index and target of each location, (J,)."""
        k = data.n_classes
        if self.test_predictions is None:
            places, index = _class_places(k)
            return places, np.repeat(index, k), np.tile(np.arange(k), len(places))
        given, targets = _checked_class_locations(data, self.test_predictions, self.test_targets)
        places, index = np.unique(given, axis=0, return_inverse=True)
        return places, index.ravel(), targets

    def prepare(self, data: Data) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        deviations = self.deviations(data)

        def evaluate(weights: FloatArray) -> FloatArray:
            means = deviations.T @ weights / weights.sum(axis=0)
            return (means**2).mean(axis=0)

        return evaluate

    def value(self, data: Data) -> float:
        """Return the value at the data's own weights; for classes without storing the deviations of all rows."""
        self.check(data)
        if not isinstance(data, Predictions):
            return super().value(data)
        return float(self.prepare_labels(data)(data.labels[:, None])[0])

    def by_chance(self, data: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        """Return B values that calibrated forecasts have by chance; None for ensembles, as for `SKCE`."""
        from calibrant.forecasts import Samples

        if isinstance(data.distribution, Samples):
            return None
        return self.prepare_labels(data)(data.distribution.sample(rng, n_redraws))

    def prepare_labels(self, data: Data) -> Evaluator:
        """Return the map from labels or targets, (n, B), to B values; the kernel of the predictions is computed once.

        Deviations are linear in the labels: a location needs sums of weight times kernel over the rows of each class.
        """
        kernel = tune(self.kernel, data)
        if not isinstance(kernel, JointKernel):
            return Metric.prepare_labels(replace(self, kernel=kernel), data)
        if not isinstance(data, Predictions):
            return _retargeted(data, kernel, *self.forecast_locations(data))
        k, (places, index, targets) = data.n_classes, self.class_locations(data)
        share = data.weights / data.weights.sum()
        terms = [
            (share[:, None] * term.predictions.matrix(data.probs, places), gram_of(term.targets, k))
            for term in kernel.terms
        ]
        expected = [values.T @ data.probs for values, _ in terms]
        here = [np.flatnonzero(index == place) for place in range(len(places))]

        def evaluate(labels: IntArray) -> FloatArray:
            cell = (labels + k * np.arange(labels.shape[1])).ravel()
            means = np.zeros((labels.shape[1], len(index)))
            for (values, gram), predicted in zip(terms, expected, strict=True):
                for place, at in enumerate(here):
                    spread = np.repeat(values[:, place], labels.shape[1])
                    hits = np.bincount(cell, spread, minlength=k * len(means)).reshape(-1, k)
                    means[:, at] += gram.columns(hits - predicted[place], targets[at])
            return (means**2).mean(axis=1)

        return evaluate

    def details(self, data: Data) -> Mapping[str, object]:
        """Give the number of test locations, and the Monte Carlo error if there is one."""
        where = self.class_locations(data) if isinstance(data, Predictions) else self.forecast_locations(data)
        return {"locations": len(where[-1])} | monte_carlo_error(self.batch_values(data))


def _class_deviations(
    data: Predictions, term: TensorProduct, places: FloatArray, index: IntArray, targets: IntArray
) -> FloatArray:
    values = term.predictions.matrix(data.probs, places)[:, index]
    return values * gram_of(term.targets, data.n_classes).columns(data.residuals, targets)


def _forecast_deviations(
    data: Forecasts, term: TensorProduct, predictions: Distribution, targets: FloatArray
) -> FloatArray:
    from calibrant.forecasts import target_deviation

    scale, kernel = unscaled(term.targets)
    values = term.predictions.matrix(data.distribution, predictions)
    return scale * values * target_deviation(data, *target_profile(kernel), targets)


def _retargeted(data: Forecasts, kernel: JointKernel, places: Distribution, targets: FloatArray) -> Evaluator:
    """Return the map from targets, (n, B), to B values; what depends on the forecasts alone is computed once."""
    from calibrant.forecasts import target_kernel

    share = data.weights / data.weights.sum()
    terms, expected = [], np.zeros(len(targets))
    for term in kernel.terms:
        scale, of_targets = unscaled(term.targets)
        profile = target_profile(of_targets)
        values = scale * share[:, None] * term.predictions.matrix(data.distribution, places)
        expected += (values * data.distribution.expect(*profile, targets)).sum(axis=0)
        terms.append((profile, values))

    def evaluate(drawn: FloatArray) -> FloatArray:
        means = [
            np.sum([(v * target_kernel(*profile, drawn[:, b], targets)).sum(axis=0) for profile, v in terms], axis=0)
            for b in range(drawn.shape[1])
        ]
        return ((np.array(means).reshape(-1, len(targets)) - expected) ** 2).mean(axis=1)

    return evaluate


@cache
def _class_places(k: int) -> tuple[FloatArray, IntArray]:
    """Return the centre of the simplex and, unless there are many, its corners, sorted; and the index of each."""
    centre = np.full((1, k), 1 / k)
    given = np.vstack([centre, np.eye(k)]) if k <= MOST_CORNERS else centre
    places, index = np.unique(given, axis=0, return_inverse=True)
    return places, index.ravel()


def _forecast_locations(data: Forecasts) -> tuple[Distribution, FloatArray]:
    means = data.distribution.mean()
    order = np.argsort(means if means.ndim == 1 else means.sum(axis=1), kind="stable")
    ranks = ((np.arange(N_LOCATIONS) + 0.5) / N_LOCATIONS * len(order)).astype(int)
    rows = np.unique(order[ranks])
    return data.distribution.take(rows), means[rows]


def _checked_class_locations(data: Predictions, predictions: object, targets: object) -> tuple[FloatArray, IntArray]:
    checked = Predictions(predictions, targets, classes=data.classes)
    if checked.n_classes != data.n_classes:
        raise InputError(
            f"test_predictions must have {data.n_classes} classes like the data, but have {checked.n_classes}."
        )
    return checked.probs, checked.labels


def _checked_forecast_locations(
    data: Forecasts, predictions: object, targets: object
) -> tuple[Distribution, FloatArray]:
    if not isinstance(predictions, Distribution):
        raise TypeError(f"test_predictions must be a Distribution such as Normal(loc, scale), but is {predictions!r}.")
    checked = Forecasts(predictions, targets)
    if checked.distribution.event_shape != data.distribution.event_shape:
        raise InputError(
            f"test_predictions must be for targets of shape {data.distribution.event_shape} like the data, but are for "
            f"shape {checked.distribution.event_shape}."
        )
    return checked.distribution, checked.targets
