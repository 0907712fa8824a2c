"""What every row of METRICS promises, guided by the metadata on its class."""

import warnings
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.binning import Binning, Bins, Cells, EqualMass, MedianVariance, SimplexBinning
from calibrant.kernels.discrepancy import tune
from calibrant.metrics import (
    ECCE,
    ICI,
    METRICS,
    CoxIntercept,
    DirichletECE,
    GapQuantile,
    InTheLarge,
    KdeECE,
    ObservedExpectedRatio,
)
from calibrant.metrics.base.kernel import KernelMetric
from calibrant.metrics.base.lift import Lift
from naming import each
from simulate import calibrated, sharpened

every_metric = each("metric", METRICS)
calibration_metric = each(
    "metric",
    # Slopes and ratios have a right value, not a better direction.
    {k: m for k, m in METRICS.items() if m.measures == "calibration" and m.better == "lower"},
)
frequency_metric = each("metric", {k: m for k, m in METRICS.items() if m.weights == "frequency"})
every_size = each("k", [2, 3])
N = 200


def weighted(predictions, seed=5):
    weights = np.random.default_rng(seed).integers(0, 4, predictions.n_samples)
    return Predictions(predictions.probs, predictions.labels, weights), weights


@cache
def plain(k):
    """Return predictions that all metrics measure: distances and sorted orders are computed once."""
    return calibrated(n=N, k=k)


@cache
def plain_value(metric, k):
    """Return what a metric measures there, with which several tests compare."""
    return metric(plain(k))


@dataclass(frozen=True)
class FixedEdges(Binning):
    """Bins that do not depend on the data."""

    edges: tuple[float, ...]

    def cut(self, values, weights):
        edges = np.array(self.edges)
        return Bins(np.searchsorted(edges[1:-1], values, side="left"), len(edges) - 1, edges[:-1], edges[1:])


@dataclass(frozen=True, eq=False)
class FixedCells(SimplexBinning):
    """Cells that do not depend on the data."""

    index: np.ndarray

    def cells(self, probs, weights):
        return Cells(self.index, self.index.max() + 1)


def as_tuned(metric, predictions):
    """Replace whatever is tuned on weights or labels by what the data gives: over replicates it stays fixed."""
    if isinstance(metric, (KdeECE, DirichletECE)):
        return metric.fit_bandwidth(predictions)
    if isinstance(metric, Lift):
        return replace(metric, metric=as_tuned(metric.metric, predictions))
    if isinstance(metric, KernelMetric):
        return replace(metric, kernel=tune(metric.kernel, predictions))
    if isinstance(getattr(metric, "bins", None), MedianVariance):
        return replace(metric, bins=FixedCells(metric.bins.cells(predictions.probs, predictions.weights).index))
    if not isinstance(getattr(metric, "bins", None), EqualMass):
        return metric
    view = metric.view(predictions)
    cut = metric.bins.cut(view.positive, view.weights)
    return replace(metric, bins=FixedEdges((*cut.lower.tolist(), 1.0)))


def has_equal_mass(metric):
    """Whether the bins, of the metric or of the one that it lifts, hold equal shares of the rows."""
    return isinstance(getattr(getattr(metric, "metric", metric), "bins", None), EqualMass)


def after_swapping(metric):
    """Return by what a binary measure is multiplied if its two classes change places, and how exactly.

    Intercepts turn. Equal-mass bins, a maximum over partial sums and a smooth curve over joined rows begin at 0, and
    so differ a little from the same begun at 1, as does a ratio from that of the complements.
    """
    if isinstance(metric, (CoxIntercept, InTheLarge)):
        return -1, 1e-9
    begins_at_0 = has_equal_mass(metric)
    begins_at_0 |= isinstance(metric, (ECCE, ICI, GapQuantile, ObservedExpectedRatio))
    return 1, 0.2 if begins_at_0 else 1e-9


@every_metric
@every_size
class TestEveryMetric:
    def test_declares_how_it_behaves(self, metric, k):
        assert metric.family in {"score", "binned", "kernel", "smooth", "rank"}
        assert metric.accepts in {"any", "binary"}
        assert metric.better in {"lower", "higher", "none"}
        assert metric.measures in {"calibration", "accuracy", "both", "chance"}

    def test_ignores_the_order_of_rows(self, metric, k):
        p, _ = weighted(plain(k))
        shuffled = p.take(np.random.default_rng(1).permutation(p.n_samples))
        assert metric(shuffled) == pytest.approx(metric(p), rel=1e-12)

    def test_ignores_the_order_of_classes(self, metric, k):
        if isinstance(getattr(metric, "bins", None), MedianVariance) and k == 2:
            return  # Both classes vary alike; a median row belongs to the upper part of the first.
        p = calibrated(k=k)
        if metric.weights == "pairs" and has_equal_mass(metric):
            p = sharpened(p, 0.3)  # Without an error nothing but chance is left, which depends on single rows.
        order = np.roll(np.arange(k), 1)
        permuted = Predictions(p.probs[:, order], np.argsort(order)[p.labels])
        # Binary measures look at class 1, so swapping two classes swaps p and 1 - p: equal up to bin edges,
        # which no value of this data lies on. Some have a direction, by definition: see `after_swapping`.
        sign, tolerance = after_swapping(metric) if k == 2 else (1, 1e-9)
        assert metric(permuted) == pytest.approx(sign * metric(p), rel=tolerance)

    def test_single_precision_agrees(self, metric, k):
        p = plain(k)
        single = Predictions(p.probs.astype(np.float32), p.labels)
        assert metric(single) == pytest.approx(plain_value(metric, k), abs=1e-5)

    def test_changes_no_argument_and_no_global_state(self, metric, k):
        source = plain(k)
        probs, labels, weights = source.probs.copy(), source.labels.copy(), np.ones(N)
        state = np.random.get_state()[1].copy()  # noqa: NPY002 (the global generator is what must not move)
        errors, filters = np.geterr(), warnings.filters.copy()
        metric.estimate(Predictions(probs, labels, weights))
        assert np.array_equal(probs, source.probs)
        assert np.array_equal(labels, source.labels)
        assert np.array_equal(weights, np.ones(N))
        assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
        assert np.geterr() == errors
        assert warnings.filters == filters

    def test_prepared_replicates_equal_reweighted_data(self, metric, k):
        p = plain(k)
        metric = as_tuned(metric, p)
        draws = np.random.default_rng(3).multinomial(N, np.full(N, 1 / N), size=4).T.astype(float)
        values = metric.prepare(p)(draws)
        expected = [metric(Predictions(p.probs, p.labels, column)) for column in draws.T]
        assert values == pytest.approx(expected, rel=1e-10)

    def test_prepared_labels_equal_relabelled_data(self, metric, k):
        p, weights = weighted(plain(k))
        if metric.family == "smooth":  # Bandwidths may depend on labels, bins and lengthscales do not.
            metric = as_tuned(metric, p)
        draws = np.random.default_rng(4).integers(0, k, (N, 4))
        values = metric.prepare_labels(p)(draws)
        expected = [metric(Predictions(p.probs, column, weights)) for column in draws.T]
        assert values == pytest.approx(expected, rel=1e-10)

    def test_few_rows_give_a_number_or_a_reason(self, metric, k):
        p = plain(k)
        few = metric.estimate(p.take(range(metric.least_rows)))
        assert np.isfinite(few.value) or few.details.get("one_outcome")
        assert np.isfinite(metric.prepare(p.take(range(metric.least_rows)))(np.ones((metric.least_rows, 1)))).all()
        if metric.least_rows > 1:
            with pytest.raises(InputError, match="needs at least two rows"):
                metric(p.take([7]))


@frequency_metric
@every_size
def test_integer_weights_equal_copies_of_rows(metric, k):
    p, weights = weighted(plain(k))
    if isinstance(metric, KernelMetric):  # Lengthscales are tuned on rows, not on copies.
        metric = as_tuned(metric, p)
    copies = p.take(np.repeat(np.arange(p.n_samples), weights))
    assert metric(p) == pytest.approx(metric(Predictions(copies.probs, copies.labels)), rel=1e-10)


@every_metric
def test_one_column_equals_two(metric):
    p = plain(2)
    assert metric(Predictions(p.probs[:, 1], p.labels)) == pytest.approx(plain_value(metric, 2), rel=1e-12)


@cache
def sharpened_by(temperature, n, k):
    """Return predictions that all metrics measure."""
    return sharpened(calibrated(n=n, k=k), temperature)


@calibration_metric
@every_size
def test_grows_when_predictions_are_sharpened_away_from_the_truth(metric, k):
    # The largest gap needs more rows than measures of all pairs, whose time grows with the square.
    n = 600 if metric.family in ("kernel", "smooth") and not isinstance(metric, GapQuantile) else 4000
    values = [metric(sharpened_by(temperature, n, k)) for temperature in (1.0, 0.6, 0.3)]
    assert values[0] < values[1] < values[2]


@every_metric
def test_repr_rebuilds_the_metric(metric):
    import calibrant.binning
    import calibrant.kernels
    import calibrant.metrics

    modules = (calibrant.metrics, calibrant.binning, calibrant.kernels)
    names = {name: getattr(module, name) for module in modules for name in module.__all__} | {"inf": np.inf}
    assert repr(eval(repr(metric), names)) == repr(metric)  # noqa: S307 (our own repr)
