"""Conformal intervals: oracle values, guarantees by simulation, and their test."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtr

from calibrant import Forecasts, InputError, Normal, Samples
from calibrant.calibrators import load, save
from calibrant.calibrators.forecasts import (
    ConformalIntervals,
    SpreadScaling,
    WeightedConformalIntervals,
    check_intervals,
    coverage_test,
    judge_intervals,
)
from calibrant.calibrators.forecasts.conformal_scores import (
    confident_rank,
    order_statistic,
    rank_at_least,
    rank_at_most,
)
from calibrant.calibrators.forecasts.interval_check import coverage_law
from calibrant.metrics import IntervalCoverage, IntervalWidth
from forecast_laws import g1
from naming import each
from properties import examples

FIT, TEST, X = g1()


def covered(found, y=TEST.targets):
    return float(((found.low <= y) & (y <= found.high)).mean())


@each(
    "score, threshold, coverage",
    [
        ("absolute", 1.894884788, 0.87),
        ("normalised", 2.701693687, 0.8675),
        ("quantiles", 0.655431975, 0.855),
        ("pit", 0.496550636, 0.8675),
    ],
)
def test_thresholds_on_g1(score, threshold, coverage):
    fitted = ConformalIntervals(score=score).fit(FIT)
    assert fitted.ranks_.tolist() == [181]
    assert fitted.thresholds_[0, 0] == pytest.approx(threshold, abs=1e-8)
    found = fitted.interval(TEST.distribution)
    assert covered(found) == pytest.approx(coverage)
    law = fitted.calibrate(TEST)
    assert IntervalCoverage(0.9)(law) == pytest.approx(coverage)
    assert IntervalWidth(0.9)(law) == pytest.approx(np.mean(found.high - found.low))


def test_widths_and_tails_on_g1():
    both = ConformalIntervals(tails="each").fit(FIT)
    assert both.ranks_.tolist() == [191]
    assert both.thresholds_[0] == pytest.approx([2.546774354, 2.872012549], abs=1e-8)
    assert covered(both.interval(TEST.distribution)) == pytest.approx(0.875)
    joint = ConformalIntervals().fit(FIT).interval(TEST.distribution)
    assert np.mean(joint.high - joint.low) == pytest.approx(3.808975, abs=1e-6)
    cqr = ConformalIntervals(score="quantiles").fit(FIT).interval(TEST.distribution)
    assert np.mean(cqr.high - cqr.low) == pytest.approx(3.629856, abs=1e-6)
    apart = ConformalIntervals(score="quantiles", tails="each").fit(FIT)
    assert apart.thresholds_[0] == pytest.approx([0.651779, 0.694537], abs=1e-6)
    assert covered(apart.interval(TEST.distribution)) == pytest.approx(0.8625)


def test_groups_on_g1():
    sign = np.where(X < 0, "left", "right")
    fitted = ConformalIntervals(score="absolute").fit(FIT, groups=sign[:200])
    assert fitted.guarantee == "per group"
    assert (fitted.n_fitted_.tolist(), fitted.ranks_.tolist()) == ([95, 105], [87, 96])
    assert fitted.thresholds_[:, 0] == pytest.approx([1.740347102, 2.096114995], abs=1e-8)
    near = np.abs(X) < 1
    fitted = ConformalIntervals(score="absolute").fit(FIT, groups=near[:200])
    assert fitted.thresholds_[:, 0] == pytest.approx([2.096115, 1.573367], abs=1e-6)
    found, inside = fitted.interval(TEST.distribution, groups=near[200:]), near[200:]
    pooled = ConformalIntervals(score="absolute").fit(FIT).interval(TEST.distribution)
    hits = [(one.low <= TEST.targets) & (TEST.targets <= one.high) for one in (pooled, found)]
    assert [hit[inside].mean() for hit in hits] == pytest.approx([0.9391, 0.8629], abs=1e-4)
    assert [hit[~inside].mean() for hit in hits] == pytest.approx([0.8030, 0.8522], abs=1e-4)


def test_groups_that_are_small_or_new_have_infinite_intervals():
    names = np.array(["many"] * 192 + ["few"] * 8)
    fitted = ConformalIntervals().fit(FIT, groups=names)
    found = fitted.interval(TEST.distribution.take([0, 1, 2]), groups=["many", "few", "new"])
    assert np.isinf(found.high).tolist() == [False, True, True]
    assert found.group.tolist() == [1, 0, -1]
    with pytest.raises(InputError, match="were fitted by groups: pass groups"):
        fitted.interval(TEST.distribution)
    with pytest.raises(InputError, match="one name per row, 400"):
        fitted.interval(TEST.distribution, groups=["many"])


def test_weighted_on_g1():
    fitted = WeightedConformalIntervals(score="absolute").fit(FIT, ratios=np.exp(X[:200]))
    found = fitted.interval(Normal(np.zeros(3), 1.0), ratios=np.exp([0.0, 1.0, 2.0]))
    assert found.high == pytest.approx([2.096114995, 2.096114995, 2.329656631], abs=1e-8)
    assert found.n_effective == pytest.approx(101.34, abs=0.005)
    shifted = np.exp(X[200:])
    weighted = fitted.interval(TEST.distribution, ratios=shifted)
    plain = ConformalIntervals(score="absolute").fit(FIT).interval(TEST.distribution)
    shares = [
        np.average((one.low <= TEST.targets) & (TEST.targets <= one.high), weights=shifted) for one in (weighted, plain)
    ]
    assert shares == pytest.approx([0.874128, 0.830382], abs=1e-6)


@given(n=st.integers(1, 30), seed=st.integers(0, 10**6))
@examples(25)
def test_weighted_thresholds_are_those_of_loops(n, seed):
    rng = np.random.default_rng(seed)
    errors, ratios, own = rng.normal(size=n), rng.exponential(size=n) + 0.1, rng.exponential(size=4) + 0.1
    f = Forecasts(Normal(np.zeros(n), 1.0), errors)
    found = WeightedConformalIntervals(0.8, score="absolute").fit(f, ratios).interval(Normal(np.zeros(4), 1.0), own)
    scores = sorted([*np.abs(errors), np.inf])
    for high, ratio in zip(found.high, own, strict=True):
        needed = 0.8 * (sum(ratios) + ratio) - 1e-9
        reached = [s for s in scores if sum(w for e, w in zip(np.abs(errors), ratios, strict=True) if e <= s) >= needed]
        assert high == pytest.approx(reached[0] if reached else np.inf)


@pytest.mark.parametrize("tails", ["joint", "each"])
def test_equal_ratios_reproduce_the_split(tails):
    weighted = WeightedConformalIntervals(tails=tails).fit(FIT, ratios=np.full(200, 3.0))
    split = ConformalIntervals(tails=tails).fit(FIT).interval(TEST.distribution)
    found = weighted.interval(TEST.distribution, ratios=np.full(400, 3.0))
    assert np.array_equal(found.low, split.low)
    assert np.array_equal(found.high, split.high)


@each("n, level, rank", [(200, 0.9, 181), (8, 0.9, 9), (9, 0.9, 9), (19, 0.9, 18), (99, 0.9, 90)])
def test_ranks(n, level, rank):
    assert rank_at_least(n, level) == rank
    assert rank_at_most(n, 1 - level) == n + 1 - rank


def test_too_few_rows_give_infinity():
    few = FIT.take(slice(0, 8))
    found = ConformalIntervals().fit(few).interval(TEST.distribution)
    assert np.isinf(found.low).all()
    assert np.isinf(found.high).all()
    assert IntervalCoverage(0.9)(ConformalIntervals().fit(few).calibrate(TEST)) == 1.0
    assert np.isfinite(ConformalIntervals().fit(FIT.take(slice(0, 9))).thresholds_).all()


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.integers(0, 32))
def test_order_statistics_by_definition(scores, rank):
    whole = [-np.inf, *sorted(scores)] + [np.inf] * 40
    assert order_statistic(np.array(scores), np.ones(len(scores)), rank) == whole[rank]


def test_ranks_with_confidence_are_the_least_that_keep_it():
    for n, expected in ((100, 96), (200, 188), (500, 462), (1000, 916)):
        k = confident_rank(n, 0.9, 0.95)
        assert k == expected
        assert stats.beta(k, n + 1 - k).sf(0.9) >= 0.95 > stats.beta(k - 1, n + 2 - k).sf(0.9)


def coverages(n, runs, seed, **settings):
    """Return the true coverage of intervals fitted to n normal rows, again and again."""
    rng = np.random.default_rng(seed)
    law = Normal(np.zeros(n), 1.0)
    found = []
    for _ in range(runs):
        fitted = ConformalIntervals(**settings).fit(Forecasts(law, rng.standard_normal(n)))
        ends = fitted.interval(Normal([0.0], 1.0))
        found.append(ndtr(ends.high[0]) - ndtr(ends.low[0]))
    return np.array(found)


def test_the_coverage_has_the_law_that_is_said():
    found = coverages(200, 1000, 0)
    law = stats.beta(181, 20)
    assert law.mean() == pytest.approx(0.900498, abs=1e-6)
    assert found.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(1000))
    assert stats.kstest(found, law.cdf).statistic < 0.055
    fitted = ConformalIntervals().fit(FIT).interval(TEST.distribution)
    assert (fitted.ranks.tolist(), fitted.n_fitted.tolist()) == ([181], [200])


def test_the_coverage_of_both_tails_has_the_law_that_is_said():
    found = coverages(100, 500, 1, tails="each")
    k = 2 * rank_at_least(100, 0.95) - 101
    fitted = ConformalIntervals(tails="each").fit(FIT.take(slice(0, 100))).interval(TEST.distribution)
    assert fitted.ranks.tolist() == [k]
    assert stats.kstest(found, stats.beta(k, 101 - k).cdf).statistic < 0.08


def test_with_confidence_the_coverage_is_reached_that_often():
    found = coverages(100, 500, 2, guarantee_of="confidence", confidence=0.9)
    assert (found >= 0.9).mean() == pytest.approx(0.9, abs=0.03 + 4 * np.sqrt(0.09 / 500))
    assert (found >= 0.9).mean() >= 0.9 - 4 * np.sqrt(0.09 / 500)


def test_hits_have_the_law_of_the_test():
    """p-values below 0.05 come in at most 5 % of calibrated runs; a binomial test would reject far more often."""
    rng = np.random.default_rng(3)
    small, binomial = [], []
    for _ in range(150):
        y = rng.standard_normal(600)
        fitted = ConformalIntervals().fit(Forecasts(Normal(np.zeros(200), 1.0), y[:200]))
        result = coverage_test(fitted.interval(Normal(np.zeros(400), 1.0)), y[200:])
        small.append(result.pvalue <= 0.05)
        binomial.append(stats.binom.cdf(result.statistic, 400, 0.9) <= 0.05)
    assert np.mean(small) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
    assert np.mean(binomial) > 0.1


def test_broken_guarantees_are_found():
    found = ConformalIntervals().fit(FIT).interval(TEST.distribution)
    fair = coverage_test(found, TEST.targets)
    law = stats.betabinom(400, 181, 20)
    assert fair.pvalue == pytest.approx(law.cdf(fair.statistic))
    assert law.std() / 400 == pytest.approx(0.0258, abs=1e-4)
    assert coverage_test(found, 1.5 * TEST.targets).pvalue < 0.001
    assert coverage_test(found, TEST.distribution.loc).pvalue == 1.0
    both = coverage_test(found, TEST.distribution.loc, alternative="two-sided").pvalue
    assert both == pytest.approx(2 * law.pmf(400), rel=1e-9, abs=0)
    narrow = ConformalIntervals(level=0.5).fit(FIT).interval(TEST.distribution)
    few = stats.betabinom(400, int(narrow.ranks[0]), 201 - int(narrow.ranks[0]))
    both = coverage_test(narrow, TEST.distribution.loc, alternative="two-sided").pvalue
    assert 0 < both < 1e-20  # 1 minus a probability would be 0.
    assert both == pytest.approx(2 * few.pmf(400), rel=1e-9, abs=0)
    groups = ConformalIntervals().fit(FIT, groups=X[:200] < 0).interval(TEST.distribution, groups=X[200:] < 0)
    assert coverage_test(groups, TEST.targets).details["tests"] == 2


def test_what_cannot_be_tested_is_refused():
    weighted = WeightedConformalIntervals().fit(FIT).interval(TEST.distribution)
    with pytest.raises(InputError, match="the distribution of the coverage must be known"):
        coverage_test(weighted, TEST.targets)
    with pytest.raises(InputError, match="400 numbers, one per interval"):
        coverage_test(weighted, [1.0])
    unknown = np.where(np.arange(TEST.n_samples) == 7, np.nan, TEST.targets)
    with pytest.raises(InputError, match="targets must not be NaN, but row 7 is"):
        coverage_test(weighted, unknown)
    with pytest.raises(InputError, match="alternative must be"):
        coverage_test(weighted, TEST.targets, alternative="more")


def test_ends_that_cross_hold_the_midpoint_and_are_counted():
    wide = Normal(np.zeros(20), 100.0)
    fitted = ConformalIntervals(score="quantiles").fit(Forecasts(wide, np.linspace(-1, 1, 20)))
    assert fitted.thresholds_[0, 0] < 0
    found = fitted.interval(Normal([5.0], 1.0))
    assert found.n_empty == 1
    assert found.low == pytest.approx([5.0])
    assert found.high == pytest.approx([5.0])


def test_copies_count_and_the_law_is_then_unknown():
    weights = np.where(np.arange(200) % 2, 2.0, 1.0)
    weighted = ConformalIntervals().fit(Forecasts(FIT.distribution, FIT.targets, weights))
    copies = ConformalIntervals().fit(FIT.take(np.repeat(np.arange(200), weights.astype(int))))
    assert weighted.thresholds_ == pytest.approx(copies.thresholds_)
    assert weighted.ranks_.tolist() == [0]


def test_ensembles_have_intervals_too():
    members = Samples(np.random.default_rng(0).normal(size=(100, 10)))
    f = Forecasts(members, np.random.default_rng(1).normal(size=100))
    for score in ("absolute", "normalised", "quantiles"):
        found = ConformalIntervals(score=score).fit(f).interval(members)
        assert covered(found, f.targets) >= 0.9


def test_groups_are_kept_in_files(tmp_path):
    groups = np.where(X < 0, "left", "right")
    fitted = ConformalIntervals().fit(FIT, groups=groups[:200])
    save(fitted, tmp_path / "g.json")
    again = load(tmp_path / "g.json").interval(TEST.distribution, groups=groups[200:])
    assert np.array_equal(again.high, fitted.interval(TEST.distribution, groups=groups[200:]).high)
    plain = ConformalIntervals(tails="each").fit(FIT)
    save(plain, tmp_path / "c.json")
    again = load(tmp_path / "c.json").interval(TEST.distribution)
    assert np.array_equal(again.high, plain.interval(TEST.distribution).high)


@each(
    "call, words",
    [
        (lambda: ConformalIntervals(level=1.0).fit(FIT), "level must be"),
        (
            lambda: ConformalIntervals(score="squared").fit(FIT),
            'score must be "absolute", "normalised", "quantiles" or "pit", but is .squared',
        ),
        (lambda: ConformalIntervals(tails="left").fit(FIT), 'tails must be "joint" or "each"'),
        (lambda: ConformalIntervals(guarantee_of="all").fit(FIT), "guarantee_of must be"),
        (
            lambda: WeightedConformalIntervals().fit(FIT, ratios=np.zeros(200)),
            "ratios must be positive and finite, but row 0 is 0",
        ),
        (lambda: WeightedConformalIntervals().fit(FIT, ratios=[1.0]), r"ratios must be 200 .*but have shape \(1,\)"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


class TestCheck:
    @staticmethod
    def narrow(n, seed):
        rng = np.random.default_rng(seed)
        mean = rng.normal(size=n)
        return Forecasts(Normal(mean, 0.5), mean + rng.normal(size=n))

    def test_halves_are_other_rows(self):
        found = check_intervals(ConformalIntervals(), self.narrow(401, 0), rng=0)
        assert (found.total.n_fitted, found.total.n_samples) == (200, 201)
        assert found.total.before == pytest.approx(0.59, abs=0.08)  # P(|Z| < 0.82).
        assert found.total.low <= found.total.covered <= found.total.high
        assert found.parts == ()

    def test_range_and_p_are_those_of_the_beta_binomial_law(self):
        f = self.narrow(600, 1)
        fitted = ConformalIntervals().fit(f.take(slice(0, 200)))
        found = judge_intervals(fitted, f.take(slice(200, 600)))
        hits = round(found.total.covered * 400)
        law = stats.betabinom(400, 181, 20)
        assert found.pvalue == found.total.pvalue == pytest.approx(law.cdf(hits))
        assert (found.total.low, found.total.high) == (law.ppf(0.025) / 400, law.ppf(0.975) / 400)

    def test_groups_have_parts_of_their_own(self):
        f, groups = self.narrow(400, 2), np.repeat(["x", "y"], 200)
        found = check_intervals(ConformalIntervals(), f, groups, rng=0)
        assert [part.name for part in found.parts] == ["x", "y"]
        assert sum(part.n_samples for part in found.parts) == found.total.n_samples == 200
        assert found.total.low is None  # Groups have thresholds of their own: no law of all rows is known.
        assert found.guarantee == "per group"
        assert "in every group" in found.headline

    def test_too_few_rows_are_infinite_and_said_to_be(self):
        found = check_intervals(ConformalIntervals(), self.narrow(16, 0), rng=0)
        assert found.total.width == np.inf
        assert found.pvalue is None
        assert "infinite" in found.headline
        assert "8 rows of the fit are too few" in found.headline

    def test_drawn_rows_ascend_and_are_few(self):
        rows = check_intervals(ConformalIntervals(score="absolute"), self.narrow(900, 0), rng=0).rows
        assert len(rows.target) == 60
        assert (np.diff(rows.low_before + rows.high_before) >= 0).all()
        np.testing.assert_allclose(np.diff(rows.high - rows.low), 0, atol=1e-12)  # One width for all.

    @each(
        "arguments, error, words",
        [
            ((SpreadScaling(), 40), TypeError, "must give intervals"),
            ((ConformalIntervals(), 1), InputError, "two rows"),
            ((ConformalIntervals(), 40, ["a"]), InputError, "40 entries"),
        ],
    )
    def test_what_cannot_be_checked_is_refused(self, arguments, error, words):
        calibrator, n, *more = arguments
        with pytest.raises(error, match=words):
            check_intervals(calibrator, self.narrow(n, 0), *more)


@given(st.integers(1, 3000), st.integers(1, 3000), st.floats(0, 1))
def test_the_law_of_the_coverage_is_that_of_scipy(rows, n, share):
    rank = min(max(round(share * n), 1), n)
    law, expected = coverage_law(rows, rank, n), stats.betabinom(rows, rank, n + 1 - rank)
    some = np.unique(np.linspace(0, rows, 12).astype(int))
    np.testing.assert_allclose(law[some], expected.cdf(some), rtol=1e-9, atol=1e-300)
    assert law[-1] == 1.0
    levels = [0.025 * (1 - 1e-9), 0.975 * (1 - 1e-9)]  # Rows and ranks exist where 0.025 itself is reached.
    assert np.searchsorted(law, levels).tolist() == expected.ppf(levels).tolist()
