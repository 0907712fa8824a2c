"""Limits of measures of forecasts, and what chance makes of them."""

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import Forecasts, InputError, MvNormal, Normal, Samples, assess_forecasts, interval
from calibrant.metrics import (
    CRPS,
    ENCE,
    FORECAST_METRICS,
    IntervalCoverage,
    IntervalScore,
    IntervalWidth,
    LogScore,
    PinballLoss,
    QuantileCalibration,
    Sharpness,
)
from calibrant.metrics.forecasts.metric import draw_masses, exchanged
from naming import each

SCORES = {
    "crps": CRPS(),
    "pinball": PinballLoss(),
    "interval-score": IntervalScore(),
    "interval-width": IntervalWidth(),
    "sharpness": Sharpness(),
    "log-score": LogScore(),
    "interval-coverage": IntervalCoverage(),
}


def world(rng, n, narrow=1.0):
    sd = rng.uniform(0.5, 1.5, n)
    mean = rng.normal(size=n)
    return Forecasts(Normal(mean, sd / narrow), mean + sd * rng.normal(size=n))


def ensembles(rng, n, m=10):
    sd = rng.uniform(0.5, 1.5, n)
    draws = sd[:, None] * rng.normal(size=(n, m + 1))
    return Forecasts(Samples(draws[:, :m]), draws[:, m])


@pytest.mark.parametrize("narrow", [1.0, 1.4])
def test_limits_contain_the_true_value_in_95_of_100_data_sets(narrow):
    rng = np.random.default_rng(3)
    truths = {name: metric(world(rng, 30_000, narrow)) for name, metric in SCORES.items()}
    repeats, hits, given = 100, dict.fromkeys(SCORES, 0), dict.fromkeys(SCORES, 0)
    for _ in range(repeats):
        f = world(rng, 320, narrow)
        for name, metric in SCORES.items():
            try:
                found = interval(f, metric, rng=0)
            except InputError:  # The log score of forecasts that are too narrow.
                continue
            given[name] += 1
            assert found.low <= found.value <= found.high
            hits[name] += found.low <= truths[name] <= found.high
    low, high = binom.ppf([0.0005, 0.9995], repeats, [0.93, 0.97])  # 0.93 to 0.97, up to the chance of 100 data sets.
    checked = [name for name, count in given.items() if count == repeats]
    assert set(SCORES) - set(checked) <= {"log-score"}
    assert {name: hits[name] for name in checked if not low <= hits[name] <= high} == {}


def test_the_root_of_a_mean_variance_has_the_roots_of_its_limits():
    f = world(np.random.default_rng(0), 100)
    squared, rooted = (interval(f, Sharpness(kind)) for kind in ("variance", "rms"))
    assert (rooted.low**2, rooted.high**2) == pytest.approx((squared.low, squared.high))


def test_coverage_has_the_limits_of_wilson():
    y = np.concatenate([np.full(90, 0.0), np.full(10, 9.0)])
    found = interval(Forecasts(Normal(np.zeros(100), 1.0), y), IntervalCoverage(), rng=0)
    assert (round(found.low, 4), round(found.high, 4)) == (0.8256, 0.9448)  # 90 of 100, by any table.
    assert found.method == "wilson"


@each(
    "metric, n, reason",
    [
        (CRPS(), 49, "at least 50 rows are needed"),
        (IntervalScore(), 149, "at least 150 rows are needed"),
        (IntervalScore(0.5), 29, "at least 30 rows are needed"),
        (IntervalCoverage(), 99, "at least 100 rows are needed"),
        (LogScore(), 499, "at least 500 rows are needed"),
        (FORECAST_METRICS["skce"], 1000, "simulated for predictions of classes only"),
    ],
)
def test_limits_without_known_coverage_are_refused(metric, n, reason):
    with pytest.raises(InputError, match=reason):
        interval(world(np.random.default_rng(0), n), metric)


def test_coverage_needs_targets_outside_the_intervals():
    with pytest.raises(InputError, match="at least 4 targets must lie outside"):
        interval(world(np.random.default_rng(0), 200, narrow=0.2), IntervalCoverage())


def test_a_log_score_that_few_targets_decide_is_refused():
    rng = np.random.default_rng(0)
    f = Forecasts(Normal(np.zeros(500), 1.0), rng.standard_t(3, 500))
    with pytest.raises(InputError, match=r"lie beyond 99\.9% of the forecast"):
        interval(f, LogScore())
    assert interval(f, CRPS()).low is not None
    both = MvNormal(np.zeros((500, 2)), np.broadcast_to(np.eye(2), (500, 2, 2)))
    with pytest.raises(InputError, match="univariate distributions"):
        interval(Forecasts(both, rng.normal(size=(500, 2))), LogScore())


def test_one_target_that_is_nearly_impossible_decides_a_log_score():
    """Six standard deviations: beyond 99.99%, where 0.05 of 500 are expected."""
    targets = np.append(np.random.default_rng(3).normal(size=499), 6.0)
    with pytest.raises(InputError, match=r"1 target lies beyond 99\.99% of the forecast"):
        interval(Forecasts(Normal(np.zeros(500), 1.0), targets), LogScore())


def test_weights_that_leave_few_rows_are_refused():
    f = world(np.random.default_rng(0), 400)
    heavy = Forecasts(f.distribution, f.targets, np.where(np.arange(400) < 10, 1e6, 1.0))
    with pytest.raises(InputError, match="weights are so unequal"):
        interval(heavy, CRPS())


@each("name", ["mace", "rmsce", "mace-interval", "ence", "interval-coverage", "skce", "ucme"])
def test_what_chance_makes_of_normal_forecasts_is_what_redrawn_targets_make(name):
    rng = np.random.default_rng(1)
    metric, f = FORECAST_METRICS[name], world(rng, 60)
    slow = np.array([metric(f.with_targets(f.distribution.sample(rng, 1)[:, 0])) for _ in range(150)])
    quick = metric.by_chance(f, 150, rng)
    error = np.hypot(slow.std(), quick.std()) / np.sqrt(150)
    assert abs(slow.mean() - quick.mean()) < 4 * error
    assert 0.75 < quick.std() / slow.std() < 1.33


@each("name", ["mace", "rmsce", "mace-interval", "ence", "interval-coverage"])
def test_what_chance_makes_of_ensembles_is_what_other_calibrated_ones_show(name):
    rng = np.random.default_rng(2)
    metric = FORECAST_METRICS[name]
    others = np.array([metric(ensembles(rng, 150)) for _ in range(80)])
    quick = metric.by_chance(ensembles(rng, 150), 80, rng)
    error = np.hypot(others.std(), quick.std()) / np.sqrt(80)
    assert abs(others.mean() - quick.mean()) < 5 * error


def test_an_exchanged_target_is_in_the_ensemble_and_a_member_in_its_place():
    f = ensembles(np.random.default_rng(0), 500, m=4)
    (other,) = exchanged(f, 1, np.random.default_rng(1))
    before, after = (np.column_stack([g.distribution.draws, g.targets]) for g in (f, other))
    assert np.array_equal(np.sort(before), np.sort(after))
    changed = float((other.targets != f.targets).mean())
    assert abs(changed - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 500)  # 4 of 5 orders.


def test_the_interval_of_a_small_ensemble_holds_less_than_its_level():
    f = ensembles(np.random.default_rng(0), 400, m=20)
    shares = IntervalCoverage().by_chance(f, 400, np.random.default_rng(0))
    assert shares.mean() == pytest.approx(18 / 21, abs=0.005)  # Between the members of rank 1 and 19.


def test_kernel_errors_of_ensembles_have_no_known_chance():
    f = ensembles(np.random.default_rng(0), 20)
    for name in ("skce", "kce", "ucme"):
        assert FORECAST_METRICS[name].by_chance(f, 9, np.random.default_rng(0)) is None


def test_weights_of_cells_are_those_of_rows():
    rng = np.random.default_rng(0)
    masses = draw_masses(np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.3, 0.5]), 4000, rng)
    assert np.allclose(masses.sum(axis=1), 6)
    assert np.allclose(masses.mean(axis=0), [1.2, 1.8, 3.0], atol=0.1)


def test_rows_without_weight_do_not_change_what_chance_makes():
    f = world(np.random.default_rng(0), 50)
    padded = Forecasts(
        Normal(np.append(f.distribution.loc, [0.0] * 50), np.append(f.distribution.scale, [1.0] * 50)),
        np.append(f.targets, [5.0] * 50),
        np.repeat([1.0, 0.0], 50),
    )
    for metric in (QuantileCalibration(), IntervalCoverage(), ENCE()):
        alone, beside = (metric.by_chance(g, 400, np.random.default_rng(1)) for g in (f, padded))
        assert abs(alone.mean() - beside.mean()) < 5 * np.hypot(alone.std(), beside.std()) / 20


def test_an_assessment_holds_limits_or_reasons_and_the_chance_of_its_own_test():
    found = assess_forecasts(world(np.random.default_rng(5), 400), n_resamples=99, rng=0)
    for name, known in found.limits.items():
        assert known.value == found.metrics[name].value
        assert (known.low is None) == bool(known.reason), name
        assert known.low is None or known.low <= known.value <= known.high
    assert found.limits["mace"].expected == pytest.approx(found.verdict.expected)
    assert {name for name, known in found.limits.items() if known.null is not None} == {
        "mace",
        "rmsce",
        "mace-interval",
        "ence",
        "interval-coverage",
        "skce",
        "kce",
        "ucme",
    }
    assert set(found.limits) == set(found.metrics)
