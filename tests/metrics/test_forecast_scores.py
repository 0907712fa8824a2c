"""Scores of predictive distributions: published values, definitions by integration, bad settings."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from calibrant import Forecasts, InputError, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.binning import EqualMass, EqualWidth
from calibrant.forecasts import MonteCarlo
from calibrant.metrics import (
    CRPS,
    ENCE,
    IntervalCoverage,
    IntervalScore,
    IntervalWidth,
    LogScore,
    PinballLoss,
    QuantileCalibration,
    Sharpness,
)
from naming import each

TOOLBOX = Forecasts(Normal([1.0, 2.0, 3.0], [0.1, 0.5, 1.0]), [1.5, 3.0, 2.0])
HUNDRED = tuple(np.linspace(0, 1, 100).tolist())

PUBLISHED = {
    "sharpness": (Sharpness(), 0.648074069840786),
    "log score": (LogScore(), 4.920361108686675),
    "crps": (CRPS(), 0.59080610693),
    "check score": (PinballLoss(levels=99), 0.29801437323836477),
    "mace, intervals": (QuantileCalibration(HUNDRED, form="interval"), 0.3733333),
    "mace, quantiles": (QuantileCalibration(HUNDRED), 0.2375758),
    "rmsce, intervals": (QuantileCalibration(HUNDRED, norm=2, form="interval"), 0.4165757),
    "rmsce, quantiles": (QuantileCalibration(HUNDRED, norm=2), 0.3036257),
}


@each("metric, value", PUBLISHED)
def test_values_that_uncertainty_toolbox_publishes(metric, value):
    assert metric(TOOLBOX) == pytest.approx(value, abs=1e-7)


def test_the_interval_score_that_uncertainty_toolbox_publishes():
    scores = [IntervalScore(level)(TOOLBOX) for level in np.linspace(0.01, 0.99, 99).tolist()]
    assert np.mean(scores) == pytest.approx(3.20755700861995, rel=1e-12)


def test_crps_values_that_properscoring_publishes():
    assert CRPS()(Forecasts(Normal([0.0], [1.0]), [0.0])) == pytest.approx(0.23369497725510913, rel=1e-14)
    ensemble = np.random.RandomState(0).randn(1, 1000)
    assert CRPS()(Forecasts(Samples(ensemble), [0.0])) == pytest.approx(0.2297109370729622, rel=1e-12)


@pytest.mark.parametrize("ensemble, value", [("empirical", 1 / 2), ("fair", 1 / 6)])
def test_crps_of_three_members_by_hand(ensemble, value):
    assert CRPS(ensemble)(Forecasts(Samples([[0.0, 1.0, 3.0]]), [1.5])) == pytest.approx(value)


def test_crps_of_laplace_forecasts_by_hand():
    for z in (0.0, 0.7, -4.0):
        expected = 2 * (abs(z) + math.exp(-abs(z)) - 0.75)
        assert CRPS()(Forecasts(Laplace([1.0], 2.0), [1 + 2 * z])) == pytest.approx(expected, rel=1e-13)


LAWS = {
    "normal": Normal([0.3], 1.2),
    "laplace": Laplace([0.3], 0.8),
    "normals": Mixture([0.3, 0.7], [Normal([-1.0], 0.2), Normal([1.0], 2.0)]),
    "mixed": Mixture([0.5, 0.2, 0.3], [Laplace([-1.0], 0.2), Normal([1.0], 1.0), Laplace([0.5], 0.2000001)]),
    "members": Mixture([0.5, 0.1, 0.4], [Samples([[0.3, 4.0, 4.0]]), Samples([[-1.0]]), Normal([1.0], 2.0)]),
}


@each("law", LAWS)
@each("y", [-3.0, 0.4, 12.0])
def test_crps_is_the_integral_of_squared_differences(law, y):
    def integrand(x, step):
        return (law.cdf(np.array([x]))[0] - step) ** 2

    cuts = sorted({-60.0, -4.0, -1.0, 0.3, 0.5, 1.0, 4.0, y, 60.0})
    pieces = [
        integrate.quad(integrand, a, b, args=(float(a >= y),), epsabs=1e-13, epsrel=1e-11, limit=300)
        for a, b in pairwise(cuts)
    ]
    value, bound = (sum(part) for part in zip(*pieces, strict=True))
    assert CRPS()(Forecasts(law, [y])) == pytest.approx(value, rel=1e-10, abs=10 * bound)


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=7), st.floats(-9, 9))
def test_crps_of_an_ensemble_by_its_definition(members, y):
    x, f = np.array(members), Forecasts(Samples([members]), [y])
    gaps = np.abs(x[:, None] - x)
    assert CRPS()(f) == pytest.approx(np.abs(x - y).mean() - gaps.mean() / 2, abs=1e-12)
    fair = np.abs(x - y).mean() - gaps.sum() / (len(x) * (len(x) - 1)) / 2
    assert CRPS("fair")(f) == pytest.approx(fair, abs=1e-12)


def test_the_fair_score_of_small_ensembles_is_that_of_their_law_on_average():
    rng = np.random.default_rng(0)
    n = 20_000
    y, draws = rng.normal(size=n), rng.normal(size=(n, 4))
    fair = CRPS("fair").per_row(Forecasts(Samples(draws), y))
    exact = 1 / math.sqrt(math.pi)  # E |Y - Z| / 2 for Y, Z from the same standard normal law
    assert abs(fair.mean() - exact) < 4 * fair.std() / math.sqrt(n)
    empirical = CRPS().per_row(Forecasts(Samples(draws), y))
    assert empirical.mean() - exact > 10 * empirical.std() / math.sqrt(n)


def test_a_point_forecast_earns_its_absolute_error():
    assert CRPS()(Forecasts(Samples([[2.0], [3.0]]), [5.0, 1.0])) == 2.5
    with pytest.raises(InputError, match="at least two members"):
        CRPS("fair")(Forecasts(Samples([[2.0]]), [5.0]))


def test_many_members_approach_the_law():
    rng = np.random.default_rng(1)
    law = LAWS["mixed"]
    exact = CRPS()(Forecasts(law, [0.4]))
    values = [CRPS("fair")(Forecasts(Samples(law.sample(rng, 4000)), [0.4])) for _ in range(20)]
    assert abs(np.mean(values) - exact) < 4 * np.std(values, ddof=1) / math.sqrt(20)


def test_the_energy_score_of_vectors():
    rng = np.random.default_rng(2)
    law = Mixture(
        [0.4, 0.6], [MvNormal([[0.0, 1.0]], [[1.0, 0.3]]), MvNormal([[2.0, 0.0]], [[[1.0, 0.5], [0.5, 2.0]]])]
    )
    y = np.array([[0.5, -0.5]])
    draws = law.sample(rng, 200_000)[0]
    pairs = np.linalg.norm(draws[:100_000] - draws[100_000:], axis=1)
    reach = np.linalg.norm(draws - y, axis=1)
    error = math.hypot(reach.std() / math.sqrt(200_000), pairs.std() / math.sqrt(100_000) / 2)
    assert abs(CRPS()(Forecasts(law, y)) - (reach.mean() - pairs.mean() / 2)) < 4 * error


def test_monte_carlo_scores_come_with_their_error():
    loc = np.zeros(50)
    exact = CRPS()(Forecasts(Normal(loc, 1.0), loc + 0.5))
    law = MonteCarlo(stats.norm(loc, 1.0), n_draws=512)
    estimate = CRPS().estimate(Forecasts(law, loc + 0.5))
    assert 0 < abs(estimate.value - exact) < 4 * estimate.details["monte_carlo_error"]
    assert estimate.details["monte_carlo_error"] < 0.01
    few = MonteCarlo(stats.norm(loc, 1.0), n_draws=10)
    assert CRPS().estimate(Forecasts(few, loc)).details == {}
    assert CRPS().estimate(TOOLBOX).details == {}


def test_twice_the_pinball_loss_approaches_the_crps():
    f = Forecasts(LAWS["normals"], [0.4])
    assert 2 * PinballLoss(levels=2000)(f) == pytest.approx(CRPS()(f), rel=2e-3)


def test_blocks_of_rows_do_not_matter(monkeypatch):
    f = Forecasts(Samples(np.random.default_rng(3).normal(size=(50, 7))), np.zeros(50))
    whole = PinballLoss().per_row(f)
    monkeypatch.setattr("calibrant.metrics.forecasts.scores.CELLS", 100)
    assert np.array_equal(PinballLoss().per_row(f), whole)


def test_an_impossible_target_makes_the_log_score_infinite():
    f = Forecasts(MonteCarlo(stats.uniform(np.zeros(3), 1.0), n_draws=2), [0.5, 2.0, 3.0], weights=[1.0, 1.0, 0.0])
    estimate = LogScore().estimate(f)
    assert estimate.value == math.inf
    assert estimate.details == {"infinite_rows": 1, "first_rows": (1,)}
    assert LogScore()(f.take([0])) == 0.0


def test_ence_by_hand():
    sd = np.repeat([0.5, 1.0, 2.0], 4)
    errors = [0.5, -0.5, 0.5, -0.5, 2.0, -2.0, 0.0, 0.0, 1.0, -1.0, 1.0, -1.0]
    f = Forecasts(Normal(np.arange(12.0), sd), np.arange(12.0) + errors)
    expected = (0 + (math.sqrt(2) - 1) + 0.5) / 3
    for bins in (EqualMass(3), EqualWidth(4), EqualWidth(30)):
        assert ENCE(bins)(f) == pytest.approx(expected, rel=1e-12)
    assert ENCE(EqualWidth(30)).estimate(f).details == {"bins_used": 3}


def test_ence_without_predicted_spread_is_zero_or_infinite():
    f = Forecasts(Samples([[1.0, 1.0], [2.0, 2.0]]), [1.0, 2.0])
    assert ENCE()(f) == 0.0
    assert ENCE()(Forecasts(f.distribution, [1.0, 3.0])) == math.inf


@each("level", [0.5, 0.8, 0.9, 0.95])
def test_coverage_counts_targets_between_the_predicted_quantiles(level):
    rng = np.random.default_rng(4)
    laws = [
        Normal(np.zeros(200), 1.0),
        Samples(rng.integers(0, 9, (200, 20)).astype(float)),
        LAWS["mixed"].take([0] * 200),
    ]
    for law in laws:
        f = Forecasts(law, rng.integers(-2, 10, 200))
        low, high = law.quantile([(1 - level) / 2, (1 + level) / 2]).T
        estimate = IntervalCoverage(level).estimate(f)
        assert estimate.value == pytest.approx(np.mean((low <= f.targets) & (f.targets <= high)))
        assert estimate.details["gap"] == pytest.approx(estimate.value - level)
        assert estimate.details["below"] == pytest.approx(np.mean(f.targets < low))
        assert IntervalWidth(level)(f) == pytest.approx(np.mean(high - low))


def test_kinds_of_sharpness():
    f = Forecasts(MvNormal(np.zeros((2, 2)), [[9.0, 16.0], [0.5, 0.5]]), np.zeros((2, 2)))
    assert Sharpness("mean")(f) == 3.0
    assert Sharpness("variance")(f) == 13.0
    assert Sharpness()(f) == pytest.approx(math.sqrt(13))


BAD = {
    "ensemble": (lambda: CRPS("other"), InputError, 'ensemble must be "fair" or "empirical"'),
    "no levels": (lambda: PinballLoss(0), InputError, "whole number of at least 1"),
    "end levels": (lambda: PinballLoss((0.0, 0.5)), InputError, "must lie between 0 and 1, but reach from 0 to 0.5"),
    "descending": (lambda: QuantileCalibration((0.5, 0.4)), InputError, "in ascending order"),
    "a list": (lambda: PinballLoss([0.5]), InputError, "if not a tuple"),
    "norm": (lambda: QuantileCalibration(norm=0.5), InputError, "norm must be a number of at least 1"),
    "form": (lambda: QuantileCalibration(form="x"), InputError, 'form must be "quantile" or "interval"'),
    "bins": (lambda: ENCE(10), TypeError, "bins must be a Binning such as"),
    "level": (lambda: IntervalWidth(1.0), InputError, "level must be a number between 0 and 1"),
    "percent": (lambda: IntervalCoverage(90), InputError, "level must be a number between 0 and 1"),
    "score": (lambda: IntervalScore(True), InputError, "level must be a number between 0 and 1"),
    "kind": (lambda: Sharpness("x"), InputError, 'kind must be "rms", "mean" or "variance"'),
}


@each("make, error, message", BAD)
def test_bad_settings_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
