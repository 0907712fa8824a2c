"""Probability integral transforms, and the curves of predictive distributions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import Forecasts, InputError, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.binning import EqualMass, EqualWidth
from calibrant.curves.forecasts import binomial_limits, pit_histogram, quantile_curve, spread_curve
from calibrant.forecasts import MonteCarlo, pit
from calibrant.forecasts.transform import level_shares
from calibrant.metrics import ENCE, IntervalCoverage, QuantileCalibration
from naming import each

N = 4000


def laws(rng):
    loc, scale = rng.normal(size=N), rng.uniform(0.2, 2, N)
    return {
        "normal": Normal(loc, scale),
        "laplace": Laplace(loc, scale),
        "mixture": Mixture([0.3, 0.7], [Normal(loc, scale), Laplace(loc + 2, 0.5)]),
        "ensemble": Samples(rng.integers(0, 5, (N, 6)).astype(float)),
        "counts": MonteCarlo(stats.poisson(np.exp(loc)), n_draws=2),
        "with an atom": Mixture([0.5, 0.5], [Samples(np.zeros((N, 1))), Normal(loc, scale)]),
    }


LAWS = laws(np.random.default_rng(0))
every_law = each("law", LAWS)


@every_law
def test_targets_that_follow_the_forecasts_have_uniform_transforms(law):
    f = Forecasts(law, law.sample(np.random.default_rng(1), 1)[:, 0])
    assert stats.kstest(pit(f, rng=2, ensemble="empirical"), "uniform").pvalue > 0.01
    curve = quantile_curve(f, np.arange(1, 10) / 10, level=0.9999, ensemble="empirical")
    assert np.all((curve.low <= curve.observed) & (curve.observed <= curve.high))
    histogram = pit_histogram(f, level=0.9999, ensemble="empirical")
    assert np.all((histogram.low <= histogram.count) & (histogram.count <= histogram.high))


@every_law
def test_too_narrow_forecasts_have_a_histogram_like_a_u(law):
    f = Forecasts(law, 5 * law.sample(np.random.default_rng(1), 1)[:, 0] - 4 * law.mean())
    count = pit_histogram(f, ensemble="empirical").count
    assert min(count[0], count[-1]) > 1.5 * count[3:7].max()


@each("m", [1, 4, 9, 50])
def test_a_target_exchangeable_with_the_members_has_a_uniform_rank(m):
    draws = np.random.default_rng(m).normal(size=(N, m + 1))
    f = Forecasts(Samples(draws[:, 1:]), draws[:, 0])
    assert stats.kstest(pit(f, rng=0), "uniform").pvalue > 0.01
    histogram = pit_histogram(f, level=0.9999)
    assert np.all((histogram.low <= histogram.count) & (histogram.count <= histogram.high))
    assert QuantileCalibration()(f) < 0.02


@pytest.mark.parametrize("ensemble", ["fair", "empirical"])
def test_ties_are_broken_at_random_within_their_interval(ensemble):
    f = Forecasts(Samples([[1.0, 2.0, 2.0, 3.0]] * 2000), [2.0] * 2000)
    values = pit(f, rng=0, ensemble=ensemble)
    low, high = (1 / 5, 4 / 5) if ensemble == "fair" else (1 / 4, 3 / 4)
    assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 0.01
    assert low <= values.min() < values.max() <= high


def test_the_same_seed_gives_the_same_transforms():
    f = Forecasts(LAWS["ensemble"], np.full(N, 2.0))
    assert np.array_equal(pit(f, rng=3), pit(f, rng=np.random.default_rng(3)))
    assert not np.array_equal(pit(f, rng=3), pit(f, rng=4))


@every_law
def test_shares_are_the_mean_of_randomised_ones(law):
    f = Forecasts(law, law.sample(np.random.default_rng(5), 1)[:, 0]).take(slice(60))
    lower, upper = law.take(slice(60)).cdf_below(f.targets), law.take(slice(60)).cdf(f.targets)
    levels, weights = np.array([0.0, 0.1, 0.5, 0.93, 1.0]), np.random.default_rng(6).random((60, 2))
    drawn = lower + np.random.default_rng(7).random((20_000, 60)) * (upper - lower)
    expected = [[np.average(np.mean(drawn <= q, axis=0), weights=w) for w in weights.T] for q in levels]
    assert level_shares(lower, upper, levels)(weights) == pytest.approx(np.array(expected), abs=0.005)


@each("seed", range(12))
def test_shares_are_the_sum_over_rows_and_levels(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    lower = rng.integers(0, 11, n) / 11
    upper = np.minimum(lower + rng.integers(0, 4, n) / 11, 1)
    levels, weights = np.sort(rng.integers(0, 23, 7) / 22), rng.random((n, 3))

    def share(level, low, high):
        return float(low <= level) if low == high else min(1.0, max(0.0, (level - low) / (high - low)))

    expected = [[share(q, a, b) for a, b in zip(lower, upper, strict=True)] @ weights / weights.sum(0) for q in levels]
    assert level_shares(lower, upper, levels)(weights) == pytest.approx(np.array(expected), abs=1e-13)


def test_histogram_by_hand():
    f = Forecasts(Normal(np.zeros(4), 1.0), [-3.0, -0.1, 0.0, 0.2], weights=[1.0, 2.0, 0.0, 1.0])
    histogram = pit_histogram(f, bins=4)
    assert histogram.count.tolist() == [1.0, 2.0, 1.0, 0.0]
    assert histogram.lower.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert histogram.upper.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert (histogram.expected, histogram.n_samples) == (1.0, 3)


def test_the_limits_of_a_histogram_are_binomial():
    f = Forecasts(Normal(np.zeros(200), 1.0), np.zeros(200))
    histogram = pit_histogram(f, bins=8, level=0.9)
    low, high = int(histogram.low[0]), int(histogram.high[0])
    up_to = np.cumsum([math.comb(200, k) * 7 ** (200 - k) / 8**200 for k in range(201)])
    assert up_to[low - 1] <= 0.05 <= up_to[low]
    assert up_to[high - 1] <= 0.95 <= up_to[high]


def test_limits_hold_as_often_as_they_say():
    rng = np.random.default_rng(8)
    inside = []
    for _ in range(100):
        f = Forecasts(Normal(np.zeros(50), 1.0), rng.normal(size=50))
        histogram, curve = pit_histogram(f, bins=5), quantile_curve(f, [0.2, 0.5])
        inside.append([histogram.low[0] <= histogram.count[0] <= histogram.high[0], *_within(curve)])
    assert np.all(np.mean(inside, axis=0) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 100))


def _within(curve):
    return ((curve.low <= curve.observed) & (curve.observed <= curve.high)).tolist()


def test_weights_widen_the_limits():
    f = Forecasts(Normal(np.zeros(100), 1.0), np.zeros(100))
    uneven = Forecasts(f.distribution, f.targets, np.arange(100.0) ** 4)
    plain, wide = quantile_curve(f, [0.5]), quantile_curve(uneven, [0.5])
    assert wide.high - wide.low > 1.4 * (plain.high - plain.low)
    assert wide.n_samples == 99


def test_the_interval_form_is_the_coverage_of_central_intervals():
    law = LAWS["mixture"]
    f = Forecasts(law, 2 * law.sample(np.random.default_rng(9), 1)[:, 0])
    curve = quantile_curve(f, [0.5, 0.8, 0.9], form="interval")
    assert curve.observed == pytest.approx([IntervalCoverage(level)(f) for level in (0.5, 0.8, 0.9)])
    assert quantile_curve(f, [0.0, 1.0], form="interval").observed.tolist() == [0.0, 1.0]


def test_quantile_calibration_is_the_norm_of_the_gaps_of_the_curve():
    law = LAWS["laplace"]
    f = Forecasts(law, law.mean() + np.random.default_rng(10).normal(size=N))
    curve = quantile_curve(f)
    gaps = np.abs(curve.observed - curve.nominal)
    assert QuantileCalibration()(f) == pytest.approx(gaps.mean(), rel=1e-12)
    assert QuantileCalibration(norm=2)(f) == pytest.approx(math.sqrt(np.mean(gaps**2)), rel=1e-12)
    assert QuantileCalibration(norm=math.inf)(f) == gaps.max()


@pytest.mark.parametrize("norm, slack", [(1, 0.1), (2, 0.25)])
def test_the_value_by_chance_is_that_of_calibrated_forecasts(norm, slack):
    rng, metric = np.random.default_rng(11), QuantileCalibration(norm=norm)
    values = [metric(Forecasts(Normal(np.zeros(100), 1.0), rng.normal(size=100))) for _ in range(200)]
    chance = metric.estimate(Forecasts(Normal(np.zeros(100), 1.0), np.zeros(100))).details["by_chance"]
    assert np.mean(values) == pytest.approx(chance, rel=slack)
    assert np.sqrt(np.mean(np.square(values))) == pytest.approx(chance, rel=slack + 0.2)


def test_intervals_of_calibrated_forecasts_cover_what_they_say():
    for name in ("normal", "laplace", "mixture"):
        f = Forecasts(LAWS[name], LAWS[name].sample(np.random.default_rng(12), 1)[:, 0])
        for level in (0.5, 0.9, 0.99):
            error = math.sqrt(level * (1 - level) / N)
            assert abs(IntervalCoverage(level)(f) - level) < 4 * error


class TestSpreadCurve:
    def forecasts(self):
        law = LAWS["normal"]
        weights = np.random.default_rng(13).integers(0, 3, N)
        return Forecasts(law, law.sample(np.random.default_rng(14), 1)[:, 0], weights)

    @pytest.mark.parametrize("bins", [EqualMass(10), EqualWidth(7)], ids=["mass", "width"])
    def test_points_are_the_root_means_of_each_bin(self, bins):
        f = self.forecasts()
        curve, sd = spread_curve(f, bins), f.distribution.sd()
        assert curve.count.sum() == (f.weights > 0).sum()
        for b in range(len(curve.count)):
            # Right-closed, up to the twelve decimals that bins look at.
            inside = (sd > curve.lower[b] + 1e-9 * np.sign(b - 0.5)) & (sd <= curve.upper[b] + 1e-9) & (f.weights > 0)
            assert inside.sum() == curve.count[b]
            weights = f.weights[inside]
            assert weights.sum() == pytest.approx(curve.weight[b])
            errors = (f.targets - f.distribution.mean())[inside]
            assert curve.observed[b] == pytest.approx(math.sqrt(np.average(errors**2, weights=weights)))
            assert curve.predicted[b] == pytest.approx(math.sqrt(np.average(sd[inside] ** 2, weights=weights)))

    def test_ence_is_the_mean_relative_gap(self):
        f = self.forecasts()
        curve = spread_curve(f)
        gaps = np.abs(curve.predicted - curve.observed) / curve.predicted
        assert ENCE()(f) == pytest.approx(gaps.mean(), rel=1e-12)

    def test_limits_cover_the_predicted_spread_of_calibrated_forecasts(self):
        rng = np.random.default_rng(15)
        covered = []
        for _ in range(100):
            curve = spread_curve(
                Forecasts(
                    Normal(np.zeros(1000), np.linspace(1, 2, 1000)), np.linspace(1, 2, 1000) * rng.normal(size=1000)
                )
            )
            covered.append((curve.low <= curve.predicted) & (curve.predicted <= curve.high))
        assert 0.91 < np.mean(covered) < 0.97

    def test_one_spread_is_one_bin(self):
        curve = spread_curve(Forecasts(Normal([0.0, 0.0], 2.0), [1.0, -1.0]))
        assert (curve.predicted.tolist(), curve.observed.tolist()) == ([2.0], [1.0])
        assert (curve.lower.tolist(), curve.upper.tolist()) == ([2.0], [2.0])


VECTORS = Forecasts(MvNormal(np.zeros((3, 2)), 1.0), np.zeros((3, 2)))
PLAIN = Forecasts(Normal([0.0], 1.0), [0.0])
BAD = {
    "vectors": (
        lambda: pit(VECTORS),
        "needs univariate distributions with a distribution function, but this is MvNormal",
    ),
    "vector spreads": (
        lambda: spread_curve(VECTORS),
        "must be univariate for a spread curve or ENCE, but are MvNormal",
    ),
    "ensemble": (lambda: pit(PLAIN, ensemble="x"), 'ensemble must be "fair" or "empirical"'),
    "bins": (lambda: pit_histogram(PLAIN, bins=0), "bins must be a whole number of at least 1"),
    "level": (lambda: pit_histogram(PLAIN, level=95), "level must be a number between 0 and 1"),
    "levels": (lambda: quantile_curve(PLAIN, [0.5, 1.5]), "levels must be numbers from 0 to 1 in ascending order"),
    "form": (lambda: quantile_curve(PLAIN, form="x"), 'form must be "quantile" or "interval"'),
}


@each("call, message", BAD)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@given(
    st.integers(1, 200) | st.integers(1, 10**7),
    st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0]), min_size=1, max_size=8),
    st.floats(0.01, 0.999) | st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
def test_limits_of_a_binomial_count_are_those_of_scipy(n, shares, level):
    shares, tail = np.array(shares), (1 - level) / 2
    low, high = binomial_limits(shares, n, level)
    np.testing.assert_array_equal(low, stats.binom.ppf(tail, n, shares) / n)
    np.testing.assert_array_equal(high, stats.binom.isf(tail, n, shares) / n)
