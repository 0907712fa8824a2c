"""Assessing predictive distributions: the test is exact, and the verdict names what is wrong."""

import json

import numpy as np
import pytest
from scipy import stats

from calibrant import (
    Forecasts,
    Laplace,
    Mixture,
    MvNormal,
    Normal,
    Predictions,
    Quantiles,
    Samples,
    as_record,
    assess_forecasts,
    compare,
)
from calibrant.assessment.forecasts.limits import assessed_interval, limits_of_coverage
from calibrant.assessment.forecasts.verdict import judge
from calibrant.hypotest import ConsistencyTest
from calibrant.hypotest.omnibus.forecasts import run_on_forecasts
from calibrant.metrics import FORECAST_METRICS, QuantileCalibration
from calibrant.results.words.metrics import forecast_notes
from naming import each

N = 400


def truth(n=N, seed=0):
    rng = np.random.default_rng(seed)
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    return rng, mean, sd, mean + sd * rng.normal(size=n)


def run(forecasts, n_resamples=199, seed=0):
    return run_on_forecasts(forecasts, "omnibus", n_resamples, np.random.default_rng(seed))


def verdict(forecasts):
    test, worst = run(forecasts)
    return judge(worst, test)


def laws(rng, mean, sd):
    return {
        "normal": Normal(mean, sd),
        "mixture": Mixture([0.4, 0.6], [Normal(mean, sd), Normal(mean, sd)]),
        "ensemble": Samples(mean[:, None] + sd[:, None] * rng.normal(size=(len(mean), 9))),
    }


@pytest.mark.parametrize("kind", ["normal", "mixture", "weighted", "vectors", "members"])
def test_calibrated_forecasts_are_rejected_as_often_as_the_level_says(kind):
    """Of 200 tests at 10%, a binomial law leaves fewer than 9 or more than 33 in 1 case of 1000."""
    rejected = 0
    for seed in range(200):
        rng, mean, sd, y = truth(40, seed)
        if kind == "vectors":
            cov = np.array([[1.0, 0.7], [0.7, 2.0]])
            pair = np.column_stack([mean, mean]) + rng.multivariate_normal([0, 0], cov, 40)
            f = Forecasts(MvNormal(np.column_stack([mean, mean]), np.broadcast_to(cov, (40, 2, 2))), pair)
        elif kind == "members":
            draws = rng.normal(size=(40, 6, 2)) + mean[:, None, None]
            f = Forecasts(Samples(draws[:, 1:]), draws[:, 0])
        else:  # Ensembles of numbers are in tests/hypotest/test_forecast_omnibus.py.
            law = laws(rng, mean, sd).get(kind, Normal(mean, sd))
            f = Forecasts(law, y, rng.integers(1, 5, 40) if kind == "weighted" else None)
        rejected += run(f, 39, seed)[0].pvalue <= 0.1
    # Bonferroni's correction for dependent tests is on the safe side.
    assert (0 if kind in ("vectors", "members") else 9) <= rejected <= 33


@pytest.mark.parametrize("weighted", [False, True])
def test_uniform_numbers_in_place_of_targets_give_the_law_of_the_redraw_test(weighted):
    rng, mean, sd, y = truth(30)
    f = Forecasts(Laplace(mean, sd), y, rng.integers(0, 4, 30) if weighted else None)
    by_targets = ConsistencyTest(QuantileCalibration(), 400)(f, rng=1)
    found, _ = run(f.take(np.flatnonzero(f.weights > 0)), 4000)
    assert found.estimate == pytest.approx(by_targets.statistic, abs=1e-12)
    assert found.details["expected"] == pytest.approx(by_targets.details["expected"], rel=0.1)
    assert found.details["detectable"] == pytest.approx(by_targets.details["detectable"], rel=0.2)
    assert found.details["parts"]["quantiles"]["pvalue"] == pytest.approx(by_targets.pvalue, abs=0.1)


def test_the_verdict_names_the_direction():
    _, mean, sd, y = truth()
    assert verdict(Forecasts(Normal(mean, sd), y)).code == "consistent"
    for law, code in [
        (Normal(mean, 0.7 * sd), "over-confident"),
        (Normal(mean, 1.5 * sd), "under-confident"),
        (Normal(mean - 0.5, sd), "biased"),
        (Normal(mean - 50, sd), "biased"),
        (Mixture([0.7, 0.3], [Normal(mean, 0.4 * sd), Normal(mean, 4 * sd)]), "miscalibrated"),
    ]:
        assert verdict(Forecasts(law, y)).code == code


def test_the_words_hold_the_coverage_and_the_side_of_a_bias():
    _, mean, sd, y = truth()
    z = (y - mean) / (0.7 * sd)
    found = verdict(Forecasts(Normal(mean, 0.7 * sd), y))
    inside = [np.mean(np.abs(z) <= stats.norm.ppf(0.5 + level / 2)) for level in (0.5, 0.9)]
    assert found.headline == (
        f"Too narrow (over-confident): 50% intervals hold {inside[0]:.1%} of the targets, 90% intervals hold "
        f"{inside[1]:.1%}."
    )
    assert found.gap == pytest.approx(0.9 - inside[1])
    assert 0 < found.expected < found.detectable < found.error
    assert f"{found.error:.3g}" in found.explanation
    low = verdict(Forecasts(Normal(mean - 1, sd), y)).headline
    assert low.startswith(f"Biased: the forecasts are too low; {np.mean(y > mean - 1):.1%} of the targets are above")
    assert "too high" in verdict(Forecasts(Normal(mean + 1, sd), y)).headline


def test_wrong_correlations_of_vectors_are_found_by_their_distances():
    rng, mean, _, _ = truth(1500)
    cov = np.array([[1.0, 0.9], [0.9, 1.0]])
    y = np.column_stack([mean, mean]) + rng.multivariate_normal([0, 0], cov, 1500)
    f = Forecasts(MvNormal(np.column_stack([mean, mean]), np.broadcast_to(np.eye(2), (1500, 2, 2))), y)
    test, _ = run(f)
    assert test.details["subject"] == "distance from the mean"
    assert test.details["tests"] == 3
    assert test.pvalue == pytest.approx(3 / (1 + 3 * 199))
    shifted = Forecasts(MvNormal(f.distribution.mean() - [0, 1], np.broadcast_to(cov, (1500, 2, 2))), y)
    assert verdict(shifted).code in ("biased", "over-confident")


def test_an_assessment_of_numbers_holds_everything_and_can_be_written_as_json():
    _, mean, sd, y = truth()
    steps = []
    f = Forecasts(Normal(mean, sd), y)
    found = assess_forecasts(f, name="a", n_resamples=99, rng=3, progress=lambda *step: steps.append(step))
    own = [name for name in FORECAST_METRICS if name != "crps-fair"]  # Which is for ensembles.
    assert list(found.metrics) == own
    assert found.metrics["mace"].value == pytest.approx(found.test.estimate, abs=1e-12)
    assert (found.name, found.law, found.n_samples, found.n_dimensions) == ("a", "Normal", N, 1)
    assert found.pit.count.sum() == pytest.approx(N)
    assert (found.quantiles.form, found.intervals.form) == ("quantile", "interval")
    assert found.spread.count.sum() == N
    assert found.settings["seed"] == 3
    assert len(found.test.null) == 99
    total = 1 + 2 * len(own)  # The test, then every metric and its limits.
    assert steps == [(i + 1, total) for i in range(total)]
    record = json.loads(json.dumps(as_record(found), allow_nan=False))
    assert record["verdict"]["code"] == found.verdict.code
    again = assess_forecasts(f, n_resamples=99, rng=3)
    assert vars(again.verdict) == vars(found.verdict)


@each("kind", ["laplace", "mixture", "ensemble", "vectors", "vector ensemble", "one row"])
def test_every_kind_of_law_is_assessed_and_what_does_not_apply_is_none(kind):
    rng, mean, sd, y = truth(1 if kind == "one row" else 25)
    n = len(y)
    pair, both = np.column_stack([y, y + rng.normal(size=n)]), np.column_stack([mean, mean])
    law = {
        "laplace": Laplace(mean, sd),
        "one row": Normal(mean, sd),
        "vectors": MvNormal(both, np.broadcast_to(2 * np.eye(2), (n, 2, 2))),
        "vector ensemble": Samples(both[:, None] + rng.normal(size=(n, 5, 2))),
    } | {name: law for name, law in laws(rng, mean, sd).items() if name in ("mixture", "ensemble")}
    vectors = kind.startswith("vector")
    found = assess_forecasts(Forecasts(law[kind], pair if vectors else y), n_resamples=19, rng=0)
    assert found.n_dimensions == (2 if vectors else 1)
    for part in (found.pit, found.quantiles, found.intervals, found.spread):
        assert (part is None) is vectors
    assert ("crps" in found.metrics, "mace" in found.metrics) == (True, not vectors)
    assert ("skce" in found.metrics) is (n > 1)
    assert 0 < found.verdict.pvalue <= 1
    assert "1 rows" not in found.verdict.headline


def test_rows_without_weight_count_as_absent():
    _, mean, sd, y = truth(60)
    weights = np.repeat([1.0, 0.0], 30)
    with_zeros = assess_forecasts(Forecasts(Normal(mean, sd), y, weights), n_resamples=19, rng=0)
    without = assess_forecasts(Forecasts(Normal(mean[:30], sd[:30]), y[:30]), n_resamples=19, rng=0)
    assert vars(with_zeros.verdict) == vars(without.verdict)


def test_kernel_errors_of_many_rows_say_how_many_were_compared(monkeypatch):
    monkeypatch.setattr("calibrant.assessment.forecasts.assessing.PAIRED_ROWS", 200)
    _, mean, sd, y = truth(300)
    found = assess_forecasts(Forecasts(Normal(mean, sd), y), n_resamples=19, rng=0)
    assert found.metrics["skce"].details["rows"] == 200
    assert "rows" not in found.metrics["crps"].details


def test_what_are_no_forecasts_is_refused():
    with pytest.raises(TypeError, match="takes Forecasts, but got Predictions"):
        assess_forecasts(Predictions([0.5], labels=[1]))


def test_the_verdict_weighs_the_size_of_the_error():
    _, mean, sd, y = truth(20_000)
    good = verdict(Forecasts(Normal(mean, sd), y))
    assert good.low <= good.error <= good.high
    assert (good.code, good.size) == ("calibrated", "within tolerance")
    assert good.headline.startswith("Calibrated to within 0.02: 50% ")
    narrow = verdict(Forecasts(Normal(mean, 0.7 * sd), y))
    assert (narrow.code, narrow.size) == ("over-confident", "beyond tolerance")
    slight = verdict(Forecasts(Normal(mean, 0.95 * sd), y))
    assert (slight.code, slight.size) == ("over-confident", "within tolerance")
    assert slight.headline.startswith("Slightly too narrow (over-confident): ")
    few = verdict(Forecasts(Normal(mean[:50], sd[:50]), y[:50]))
    assert (few.code, few.size) == ("consistent", "not known")
    assert (
        assess_forecasts(Forecasts(Normal(mean[:50], sd[:50]), y[:50]), tolerance=0.3, rng=0).verdict.tolerance == 0.3
    )


def test_limits_of_the_error_hold_the_true_one_in_95_percent_of_data_sets():
    rng, levels, held = np.random.default_rng(0), np.arange(1, 100) / 100, 0
    # Of normals that are too narrow by a third, the share of targets up to a quantile is Phi(z / 1.5).
    true = float(np.abs(stats.norm.cdf(stats.norm.ppf(levels) / 1.5) - levels).mean())
    for _ in range(200):
        f = Forecasts(Normal(np.zeros(200), np.ones(200)), 1.5 * rng.normal(size=200))
        test, worst = run(f, 1)
        found = judge(worst, test)
        held += found.low <= true <= found.high
    assert held >= 182  # Fewer of 200 have a probability of 0.006 at 95%.


def test_weighted_forecasts_have_no_limits_and_say_so():
    _, mean, sd, y = truth()
    found = verdict(Forecasts(Normal(mean, sd), y, weights=np.arange(1.0, 1 + len(y))))
    assert (found.low, found.size) == (None, "not known")
    assert found.reason in found.explanation


LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def quantile_forecasts(levels=LEVELS, narrow=1.0, n=400):
    _, mean, sd, y = truth(n)
    return Forecasts(Quantiles(levels, Normal(mean, sd / narrow).quantile(levels)), y)


def test_columns_of_quantiles_are_judged_at_their_own_levels():
    found = assess_forecasts(quantile_forecasts(narrow=2.0), n_resamples=99, rng=0)
    assert found.verdict.code == "over-confident"
    assert "50% intervals hold" in found.verdict.headline
    assert "90% intervals hold" in found.verdict.headline
    assert found.pit is None
    assert found.spread is None
    assert found.quantiles.nominal.tolist() == LEVELS
    assert found.intervals.nominal.tolist() == [0.5, 0.9]
    assert list(found.metrics) == [
        "crps",
        "pinball",
        "interval-score",
        "mace",
        "rmsce",
        "mace-interval",
        "interval-coverage",
        "interval-width",
    ]
    f = quantile_forecasts(narrow=2.0)
    below = (f.targets[:, None] <= f.distribution.values).mean(axis=0)
    assert found.metrics["mace"].value == pytest.approx(np.abs(below - LEVELS).mean())
    assert found.test.estimate == pytest.approx(found.metrics["mace"].value)
    assert found.verdict.gap == pytest.approx(0.9 - (below[-1] - below[0]))


@pytest.mark.parametrize(
    ("levels", "words", "missing"),
    [
        ([0.1, 0.5, 0.9], "80% intervals hold", set()),
        ([0.2, 0.7], "between the quantiles of level 0.2 and 0.7", {"interval-coverage", "mace-interval"}),
    ],
)
def test_only_intervals_between_columns_are_spoken_of(levels, words, missing):
    found = assess_forecasts(quantile_forecasts(levels), n_resamples=99, rng=0)
    assert words in found.verdict.headline
    assert "90%" not in found.verdict.headline
    assert not missing.intersection(found.metrics)
    assert (found.intervals is None) == bool(missing)


def test_the_test_of_quantiles_holds_its_level_although_laws_between_them_are_assumed():
    rng, hits = np.random.default_rng(1), 0
    for _ in range(200):
        mean = rng.normal(size=100)
        law = Quantiles(LEVELS, Normal(mean, 1.0).quantile(LEVELS))
        found, _ = run_on_forecasts(Forecasts(law, mean + rng.normal(size=100)), "omnibus", 99, rng)
        hits += found.pvalue <= 0.1
    assert hits <= 31  # Of 200; more has a probability of 0.005 at a level of 0.1.


def test_kernel_errors_of_ensembles_say_why_they_have_no_range():
    rng, mean, sd, y = truth(40)
    found = assess_forecasts(Forecasts(laws(rng, mean, sd)["ensemble"], y), n_resamples=19, rng=0).limits["skce"]
    assert found.null is None
    assert "classes only; the range by chance of such forecasts takes too long" in found.reason


def test_intervals_that_are_off_alone_are_named_beside_a_consistent_verdict():
    """Five quantiles, of which the outer two hold too little: the mean gap of five levels does not show it."""
    u = np.concatenate([np.linspace(0.0, 0.05, 63), np.linspace(0.05, 0.95, 872)[1:-1], np.linspace(0.95, 1.0, 63)])
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    columns = Quantiles(levels, Normal(np.zeros(len(u)), 1.0).quantile(levels))
    found = verdict(Forecasts(columns, stats.norm.ppf(u.clip(1e-9, 1 - 1e-9))))
    assert found.code == "consistent"
    assert "Taken alone, 90% intervals hold fewer than chance explains" in found.explanation
    exact = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    assert "Taken alone" not in verdict(Forecasts(columns.take(np.arange(996)), exact[:996])).explanation


def few_members(seed=0, n=80, members=9):
    rng = np.random.default_rng(seed)
    return Forecasts(Samples(rng.normal(size=(n, members))), 1.5 * rng.normal(size=n))


def too_narrow(n=80):
    _, mean, sd, y = truth(n)
    return Forecasts(Normal(mean, sd / 1.5), y)


@pytest.mark.parametrize("forecasts", [few_members(), too_narrow()])
def test_the_error_of_the_verdict_is_that_of_the_table_with_its_limits(forecasts):
    found = assess_forecasts(forecasts, n_resamples=99, rng=1)
    verdict, known = found.verdict, found.limits["mace"]
    assert found.metrics["mace"].value == known.value == verdict.error
    assert (known.low, known.high) == (verdict.low, verdict.high)
    assert known.null == (0, verdict.detectable)
    assert known.reason == ""


@pytest.mark.parametrize("forecasts", [few_members(), too_narrow()])
def test_a_comparison_shows_the_limits_of_the_assessment(forecasts):
    alone = assess_forecasts(forecasts, n_resamples=19, rng=1).limits
    both = compare({"a": forecasts, "b": forecasts}, metrics=["mace", "rmsce", "mace-interval"], rng=1)
    for key in ("mace", "rmsce", "mace-interval"):
        known = both.entry("b", key).interval
        assert (known.low, known.high) == pytest.approx((alone[key].low, alone[key].high), abs=1e-12)
        assert known.low == pytest.approx(max(0, known.value - np.sqrt(np.log(40) / (2 * forecasts.n_samples))))


def test_limits_of_coverage_are_for_rows_of_equal_weight_and_count_those_alone():
    f, weights = too_narrow(), np.repeat([0.0, 2.0], 40)
    absent = assessed_interval(QuantileCalibration(), Forecasts(f.distribution, f.targets, weights), 0.2, seed=0)
    there = assessed_interval(QuantileCalibration(), f.take(np.arange(40, 80)), 0.2, seed=0)
    assert (absent.low, absent.high) == (there.low, there.high)
    unequal = assessed_interval(QuantileCalibration(), Forecasts(f.distribution, f.targets, weights + 1), 0.2, seed=0)
    assert (unequal.low, unequal.high, unequal.reason) == (None, None, "limits are for rows of equal weight")


@pytest.mark.parametrize("metric", [QuantileCalibration(norm=2), QuantileCalibration(form="interval")])
def test_limits_of_coverage_hold_and_can_fail(metric):
    """Targets three halves as far out as the forecasts say; at least 95 of 100 limits hold, thinner ones do not."""
    levels = np.arange(1, 100) / 100
    ends = levels if metric.form == "quantile" else (1 + levels) / 2
    below = stats.norm.cdf(stats.norm.ppf(ends) / 1.5)
    true = np.abs((below if metric.form == "quantile" else 2 * below - 1) - levels)
    true = np.sqrt((true**2).mean()) if metric.norm == 2 else true.mean()
    values = np.array([metric(too_far_out(seed)) for seed in range(300)])
    low, high = np.array([limits_of_coverage(value, np.ones(100))[:2] for value in values]).T
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)
    assert np.mean((low <= true) & (true <= high)) > least
    assert np.mean(np.abs(values - true) <= 0.2 * (high - values)) < least


def too_far_out(seed, n=100):
    return Forecasts(Normal(np.zeros(n), 1.0), 1.5 * np.random.default_rng(seed).normal(size=n))


def rounded_members():
    f = few_members(n=60)
    return Forecasts(Samples(np.round(f.distribution.draws)), np.round(f.targets), np.tile([1.0, 2.0, 5.0], 20))


@each("forecasts", [few_members(), rounded_members(), few_members(members=1)])
def test_the_error_of_ensembles_is_one_number_whatever_the_seed_and_the_call(forecasts):
    """Ranks of targets that equal members are drawn for the test alone, and by numbers made of the data."""
    value = QuantileCalibration()(forecasts)
    found = [run(forecasts, 99, seed) for seed in range(3)]
    assert [one.result.estimate for one in found] == [pytest.approx(value, abs=1e-12)] * 3
    assert len({tuple(one.worst.values) for one in found}) == 1
    assert len({one.result.details["parts"]["quantiles"]["statistic"] for one in found}) == 1
    has_ties = (forecasts.targets[:, None] == forecasts.distribution.draws).any()
    assert ("ties" in found[0].result.details) is bool(has_ties)
    assessed = assess_forecasts(forecasts, n_resamples=19, rng=5)
    assert assessed.metrics["mace"].value == pytest.approx(value, abs=1e-12)
    assert "ties" not in assessed.verdict.explanation


def test_the_range_of_the_error_of_ensembles_is_that_of_equally_likely_ranks():
    """The averaged error has a smaller law than one whose place within a rank is drawn: 5 members, 60 rows."""
    f, rng = few_members(n=60, members=5), np.random.default_rng(0)
    levels, ends = np.arange(1, 100) / 100, np.arange(7) / 6
    parts = np.clip((levels[:, None] - ends[:-1]) * 6, 0, 1)  # Of each rank, up to each level.
    errors = [
        np.abs(parts @ np.bincount(rng.integers(0, 6, 60), minlength=6) / 60 - levels).mean() for _ in range(4000)
    ]
    test = run(f, 3999).result
    assert test.details["expected"] == pytest.approx(np.mean(errors), rel=0.03)
    assert test.details["detectable"] == pytest.approx(np.quantile(errors, 0.95), rel=0.04)


def test_ranges_by_chance_are_the_same_in_every_call_with_one_seed():
    f = too_narrow(150)
    alone = assess_forecasts(f, n_resamples=19, rng=3)
    both = compare({"a": f, "b": f}, metrics=["ence", "ucme", "kce", "skce"], rng=3)
    for key in ("skce", "kce", "ucme", "ence"):
        for model in "ab":
            assert both.entry(model, key).interval.null == alone.limits[key].null


TRENDS = {
    "No calibrator here corrects a trend of the centre": lambda mean, sd, z: 1.5 * mean + sd * z,
    "No calibrator here corrects a spread": lambda mean, sd, z: mean + sd * z * np.exp(0.5 * mean),
    "The calibrator spread-by-level corrects this": lambda mean, sd, z: mean + sd ** (0.2) * z,
}


@each("words", list(TRENDS))
def test_what_mends_a_trend_is_said(words):
    rng, mean, sd, _ = truth(600)
    targets = TRENDS[words](mean, sd, rng.normal(size=600))
    said = verdict(Forecasts(Normal(mean, sd), targets)).explanation
    assert [one for one in TRENDS if one in said] == [words]
    columns = Forecasts(Quantiles([0.1, 0.5, 0.9], Normal(mean, sd).quantile([0.1, 0.5, 0.9])), targets)
    assert ("spread-by-level" in verdict(columns).explanation) is False
    assert not any(one in verdict(too_narrow()).explanation for one in TRENDS)


def test_notes_say_what_is_by_rank():
    ensembles, others = (assess_forecasts(f, n_resamples=19, rng=1) for f in (few_members(), too_narrow()))
    words = forecast_notes(ensembles, list(ensembles.metrics), str)
    assert any("intervals by rank in the verdict" in note for note in words)
    [only] = forecast_notes(others, list(others.metrics), str)
    said = "hold with a probability of at least 95%, so they are wider than others"
    assert only == f"the limits of mace; rmsce; mace-interval {said}"
    assert not forecast_notes(others, ["crps"], str)
