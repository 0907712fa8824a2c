"""What every measure of predictive distributions promises, guided by the metadata on its class."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibrant import Forecasts, InputError, Laplace, Mixture, MvNormal, Normal, Predictions, Samples
from calibrant.binning import Binning, Bins
from calibrant.hypotest import ConsistencyTest
from calibrant.metrics import ENCE, FORECAST_METRICS, METRICS, QuantileCalibration, Sharpness
from calibrant.metrics.forecasts.metric import ForecastMetric
from naming import each

OWN = {name: metric for name, metric in FORECAST_METRICS.items() if isinstance(metric, ForecastMetric)}
every_metric = each("metric", OWN)
N = 120


def parameters(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.uniform(0.5, 2, n), rng


def normals(n=N):
    loc, scale, rng = parameters(n)
    return Forecasts(Normal(loc, scale), loc + scale * rng.normal(size=n))


def mixtures(n=N):
    loc, scale, rng = parameters(n)
    law = Mixture(rng.dirichlet(np.ones(3), n), [Normal(loc, scale), Laplace(loc + 1, 0.5), Normal(loc, 3.0)])
    return Forecasts(law, law.sample(rng, 1)[:, 0])


def ensembles(n=N):
    loc, scale, rng = parameters(n)
    draws = loc[:, None] + scale[:, None] * rng.normal(size=(n, 10))
    return Forecasts(Samples(draws[:, :9]), draws[:, 9])


DATA = {"normals": normals(), "mixtures": mixtures(), "ensembles": ensembles()}
SUITED = {f"{d}-{m}": (DATA[d], m) for d in DATA for m, metric in OWN.items() if metric.suits(DATA[d])}
"""Data and the name of a metric that needs nothing which their laws lack, by both names."""


def test_every_metric_suits_some_data():
    assert {name for _, name in SUITED.values()} == set(OWN)
    assert {f"{d}-{m}" for d in DATA for m in OWN} - set(SUITED) == {"ensembles-log-score"}


def weighted(data, seed=5, least=0):
    weights = np.random.default_rng(seed).integers(least, 4, data.n_samples)
    return Forecasts(data.distribution, data.targets, weights), weights


@dataclass(frozen=True)
class Thirds(Binning):
    """Bins that do not depend on weights."""

    def cut(self, values, weights):
        edges = np.array([0.0, 1 / 3, 2 / 3, 1.0])
        return Bins(np.searchsorted(edges[1:-1], values, side="left"), 3, edges[:-1], edges[1:])


def with_fixed_bins(metric):
    return replace(metric, bins=Thirds()) if isinstance(metric, ENCE) else metric


@each("data, metric", {name: (data, OWN[metric]) for name, (data, metric) in SUITED.items()})
class TestEveryMetric:
    def test_declares_how_it_behaves(self, metric, data):
        assert metric.family in {"score", "binned"}
        assert metric.better in {"lower", "none"}
        assert metric.measures in {"calibration", "both", "sharpness"}
        assert metric.needs in {"anything", "line", "cdf", "density", "sd", "sd on the line"}

    def test_ignores_the_order_of_rows(self, metric, data):
        f, _ = weighted(data)
        shuffled = f.take(np.random.default_rng(1).permutation(N))
        assert metric(shuffled) == pytest.approx(metric(f), rel=1e-12)

    def test_integer_weights_equal_copies_of_rows(self, metric, data):
        f, weights = weighted(data)
        copies = f.take(np.repeat(np.arange(N), weights))
        assert metric(f) == pytest.approx(metric(Forecasts(copies.distribution, copies.targets)), rel=1e-10)

    def test_prepared_replicates_equal_reweighted_data(self, metric, data):
        metric = with_fixed_bins(metric)
        evaluate = metric.prepare(data)
        draws = np.random.default_rng(3).integers(1, 5, (N, 6)).astype(float)
        expected = [metric(Forecasts(data.distribution, data.targets, column)) for column in draws.T]
        assert evaluate(draws) == pytest.approx(expected, rel=1e-10)

    def test_prepared_targets_equal_other_targets(self, metric, data):
        f, weights = weighted(data)
        draws = f.distribution.sample(np.random.default_rng(4), 5)
        expected = [metric(Forecasts(f.distribution, column, weights)) for column in draws.T]
        assert metric.prepare_labels(f)(draws) == pytest.approx(expected, rel=1e-10)

    def test_changes_no_argument_and_no_global_state(self, metric, data):
        targets, weights = data.targets.copy(), np.ones(N)
        f = Forecasts(data.distribution, targets, weights)
        state = np.random.get_state()[1].copy()  # noqa: NPY002 (the global generator is what must not move)
        errors, filters = np.geterr(), warnings.filters.copy()
        metric.estimate(f)
        assert np.array_equal(targets, data.targets)
        assert np.array_equal(weights, np.ones(N))
        assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
        assert np.geterr() == errors
        assert warnings.filters == filters

    def test_one_row_gives_a_number(self, metric, data):
        assert np.isfinite(metric(data.take([7])))


def scaled(data, factor, shift):
    law = data.distribution
    if isinstance(law, Samples):
        law = Samples(shift + factor * law.draws)
    elif isinstance(law, Normal):
        law = Normal(shift + factor * law.loc, factor * law.scale)
    else:
        parts = [type(part)(shift + factor * part.loc, factor * part.scale) for part in law.components]
        law = Mixture(law.component_weights, parts)
    return Forecasts(law, shift + factor * data.targets)


UNIT = {"crps", "crps-fair", "pinball", "interval-score", "interval-width", "sharpness"}


@each("data, name", SUITED)
@each("factor, shift", [(7.0, -3.0), (1e-9, 0.0), (1e6, 1e6)])
def test_a_change_of_unit_acts_as_it_must(data, name, factor, shift):
    metric = OWN[name]
    value = metric(data)
    expected = {"log-score": value + np.log(factor)} | dict.fromkeys(UNIT, factor * value)
    assert metric(scaled(data, factor, shift)) == pytest.approx(expected.get(name, value), rel=1e-9, abs=0)


@every_metric
def test_single_precision_agrees(metric):
    loc, scale, rng = parameters()
    targets = loc + scale * rng.normal(size=N)
    single = Forecasts(Normal(*(a.astype(np.float32) for a in (loc, scale))), targets.astype(np.float32))
    assert metric(single) == pytest.approx(metric(Forecasts(Normal(loc, scale), targets)), rel=2e-6, abs=1e-5)


@each("name", [name for name, metric in OWN.items() if metric.better == "lower"])
def test_wrong_forecasts_are_worse(name):
    metric, f = OWN[name], normals(4000)
    loc, scale = f.distribution.loc, f.distribution.scale
    wrong = {"narrow": Normal(loc, scale / 2), "wide": Normal(loc, 2 * scale), "shifted": Normal(loc + 2, scale)}
    for law in wrong.values():
        assert metric(Forecasts(law, f.targets)) > metric(f)


@pytest.mark.parametrize("name", [name for name, metric in OWN.items() if metric.measures == "sharpness"])
def test_sharpness_does_not_look_at_the_targets(name):
    f = normals()
    assert OWN[name](f) == OWN[name](Forecasts(f.distribution, f.targets + 100))
    assert OWN[name](Forecasts(Normal(f.distribution.loc, 2 * f.distribution.scale), f.targets)) == 2 * OWN[name](f)


@every_metric
def test_repr_rebuilds_the_metric(metric):
    import calibrant.binning
    import calibrant.metrics

    # Names that nobody has asked for yet are not in vars().
    names = {name: getattr(calibrant.metrics, name) for name in calibrant.metrics.__all__} | vars(calibrant.binning)
    assert eval(repr(metric), names) == metric  # noqa: S307 (our own repr)


@every_metric
def test_classes_are_refused(metric):
    with pytest.raises(TypeError, match="is computed from Forecasts, but got Predictions"):
        metric(Predictions([0.2, 0.8], [0, 1]))
    assert not metric.suits(Predictions([0.2, 0.8], [0, 1]))


def test_metrics_of_classes_refuse_forecasts():
    with pytest.raises(TypeError, match="ECE is computed from Predictions, but got Forecasts"):
        METRICS["ece"](normals())
    assert not METRICS["ece"].suits(normals())
    assert METRICS["skce"].suits(normals())


@pytest.mark.parametrize(
    "name, needs",
    [
        ("mace", "univariate distributions with a"),
        ("ence", "univariate distributions with finite standard deviations, but"),
    ],
)
def test_vectors_are_refused_by_measures_of_the_line(name, needs):
    f = Forecasts(MvNormal(np.zeros((3, 2)), 1.0), np.zeros((3, 2)))
    with pytest.raises(InputError, match=f"needs {needs}"):
        OWN[name](f)


def test_ensembles_have_no_log_score():
    with pytest.raises(InputError, match="LogScore needs distributions with a density, but these are Samples"):
        OWN["log-score"](ensembles())


def test_every_metric_of_forecasts_can_be_looked_up_once():
    assert set(FORECAST_METRICS) - set(OWN) == {"skce", "kce", "ucme"}
    assert all(metric.forecasts for metric in FORECAST_METRICS.values())
    assert all(METRICS.get(name, metric) is metric for name, metric in FORECAST_METRICS.items())


def test_the_exact_test_takes_any_of_them():
    f = normals(300)
    narrow = Forecasts(Normal(f.distribution.loc, f.distribution.scale / 1.5), f.targets)
    for name in ("mace", "ence", "crps"):
        test = ConsistencyTest(OWN[name], n_resamples=99)
        assert test(narrow, rng=0).pvalue == 0.01, name
        assert test(f, rng=0).pvalue > 0.02, name


def test_labels_follow_the_settings():
    largest, cubic = QuantileCalibration(norm=np.inf).about(), QuantileCalibration(norm=3, form="interval").about()
    assert (largest.label, largest.meaning.split()[0]) == ("Coverage error", "Largest")
    assert (cubic.label, cubic.meaning.split(" distance")[0]) == ("Coverage error, norm 3, intervals", "Mean (norm 3)")
    meanings = [Sharpness(kind).about().meaning.split(";")[0] for kind in ("rms", "mean", "variance")]
    assert meanings == ["Root mean predicted variance", "Mean predicted standard deviation", "Mean predicted variance"]
