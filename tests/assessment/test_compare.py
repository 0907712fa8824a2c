"""Paired comparison of models."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from calibrant import Forecasts, InputError, Normal, Predictions
from calibrant.assessment.comparison import DEFAULT_METRICS, compare
from calibrant.hypotest import holm
from calibrant.intervals.debiased import debiased_difference
from calibrant.intervals.differences import around, percentiles
from calibrant.metrics import ECE, METRICS, NLL, Brier, InTheLarge, KdeECE
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import as_record, bandwidth_in_words, rule_in_words
from calibrant.results.words.comparisons import PERCENTILES
from naming import each
from simulate import calibrated, sharpened

GOOD = calibrated(n=300, k=3)
BAD = sharpened(GOOD, 0.4)


def samples(seed, n, n_resamples):
    """Rows of the bootstrap samples that `compare` draws."""
    rng = np.random.default_rng(np.random.default_rng(seed).integers(2**63))
    counts = np.concatenate(list(Bootstrap(n_resamples).counts(n, rng)), axis=1)
    return [np.repeat(np.arange(n), column.astype(int)) for column in counts.T]


@pytest.mark.parametrize("rule, keys", [("percentile", ["nll", "ece", "in-the-large"]), ("valid", ["resolution"])])
def test_values_and_percentiles_of_differences_are_their_definitions(rule, keys):
    metrics = {"nll": NLL(), "ece": ECE(), "in-the-large": InTheLarge(), "resolution": METRICS["resolution"]}
    result = compare({"good": GOOD, "bad": BAD}, metrics, n_resamples=50, differences=rule, rng=4)
    assert result.rule == rule
    for key in keys:
        metric = metrics[key]
        draws = np.array([metric(BAD.take(rows)) - metric(GOOD.take(rows)) for rows in samples(4, 300, 50)])
        entry = result.entry("bad", key)
        low, high = np.quantile(draws, [0.025, 0.975], method="inverted_cdf")
        assert entry.value == pytest.approx(metric(BAD), rel=1e-12)
        assert entry.difference.value == pytest.approx(metric(BAD) - metric(GOOD), rel=1e-12)
        assert (entry.difference.low, entry.difference.high) == pytest.approx((low, high), rel=1e-9)
        assert entry.difference.is_significant == (low > 0 or high < 0)
        assert entry.difference.method == "percentile"
        assert entry.difference.pvalue == 2 * (1 + min((draws <= 0).sum(), (draws >= 0).sum())) / 51
        assert result.entry("good", key).difference is None


def test_percentiles_by_request_are_given_whatever_the_rows_and_say_what_they_cover():
    """Few wrong rows, clusters: the rule is the rule. The words hold the least and largest share of the tables."""
    first, second = nearly_sure(4)
    clusters = np.arange(200) // 20
    models = {"a": first, "b": second}
    result = compare(models, ["nll", "ece"], n_resamples=99, differences="percentile", clusters=clusters, rng=0)
    assert {entry.difference.method for entry in result.entries if entry.difference} == {"percentile"}
    assert "docs/coverage.md" in rule_in_words(result)
    assert rule_in_words(compare(models, ["nll"], n_resamples=9, rng=0)) == ""


def test_the_words_about_percentiles_are_those_of_the_tables():
    rows = [*csv.DictReader((Path(__file__).parents[2] / "docs/coverage/coverage.csv").read_text().splitlines())]
    for names in (("ece", "kde-ece"), ("nll", "brier")):
        shares = [
            100 * float(row["coverage"])
            for row in rows
            if row["metric"].removesuffix(" difference") in names
            and row["metric"].endswith(" difference")
            and row["method"] == "percentile"
            and 2 * int(row["refused"]) <= int(row["sets"])
        ]
        assert f"in {round(min(shares))} to {round(max(shares))}" in PERCENTILES


def test_limits_of_score_differences_are_those_of_the_mean_of_the_rows():
    """Hall's transformed t of the rows has Student's quantiles at the limits, and at 0 it gives the p-value."""
    result = compare({"good": GOOD, "bad": BAD}, ["accuracy", "nll"], n_resamples=9, level=0.9, rng=6)
    rows = NLL().per_row(BAD) - NLL().per_row(GOOD)
    k = np.sum((rows - rows.mean()) ** 3) / np.sum((rows - rows.mean()) ** 2) ** 1.5

    def transformed(truth):
        deviation = (rows.mean() - truth) / (rows.std(ddof=1) / np.sqrt(300))
        return ((1 + k * deviation / 3) ** 3 - 1) / k + k / 6

    found = result.entry("bad", "nll").difference
    assert found.method == "hall"
    assert transformed(found.low) == pytest.approx(t.ppf(0.95, 150), rel=1e-9)
    assert transformed(found.high) == pytest.approx(t.ppf(0.05, 150), rel=1e-9)
    assert found.pvalue == pytest.approx(2 * t.sf(abs(transformed(0.0)), 150), rel=1e-9)


def test_limits_of_root_mean_square_differences_are_those_of_their_law():
    result = compare({"good": GOOD, "bad": BAD}, ["rms-debiased", "rms-debiased-one-vs-rest"], n_resamples=20, rng=0)
    for key in result.metrics:
        found = result.entry("bad", key).difference
        expected = debiased_difference(GOOD, BAD, METRICS[key], 0.95)
        assert (found.low, found.high, found.pvalue) == (*expected.limits, expected.pvalue)
        assert (found.method, found.reason) == ("debiased", "")
        assert found.is_significant


def test_all_models_have_the_bandwidth_of_the_baseline_unless_each_asks_for_its_own():
    chosen = KdeECE().details(GOOD)["bandwidth"]
    assert chosen != KdeECE().details(BAD)["bandwidth"]
    for choice, metric in (("baseline", KdeECE(bandwidth=chosen)), ("own", KdeECE())):
        result = compare({"good": GOOD, "bad": BAD}, ["kde-ece"], bandwidth=choice, n_resamples=9, rng=0)
        assert result.entry("bad", "kde-ece").value == pytest.approx(metric(BAD), rel=1e-9)
        words = "kde-ece: with one bandwidth for all models, that of good"
        assert bandwidth_in_words(result) == (words if choice == "baseline" else "")


def test_differences_of_errors_that_chance_makes_positive_have_no_limits():
    result = compare({"good": GOOD, "bad": BAD}, ["ece", "kde-ece", "ucme", "nll"], n_resamples=20, rng=0)
    for key in ("ece", "kde-ece", "ucme"):
        found = result.entry("bad", key).difference
        assert (found.low, found.high, found.pvalue, found.method) == (None, None, 1.0, "none")
        assert (
            found.reason == "chance adds more to the error of the better calibrated model; rms-debiased can have limits"
        )
        assert result.entry("bad", key).interval.low is None
    assert result.entry("bad", "ece").interval.null is not None
    assert result.entry("bad", "nll").interval.low is not None
    bare = compare({"good": GOOD, "bad": BAD}, ["nll"], n_resamples=20, intervals=False, rng=0)
    assert bare.entry("bad", "nll").interval is None
    assert bare.entry("bad", "nll").difference.low == result.entry("bad", "nll").difference.low


@each("name", list(METRICS))
@each("temperature", [0.4, 1.05])
def test_limits_stand_beside_the_value_they_are_limits_of(name, temperature):
    """One rule for every metric, interval and difference: low <= value <= high, or none and why."""
    p = calibrated(n=200, k=2)
    models = {"good": p, "other": sharpened(p, temperature)}
    result = compare(models, [name], n_resamples=9, rng=0)
    found = [(entry.value, entry.interval) for entry in result.entries]
    found += [(entry.difference.value, entry.difference) for entry in result.entries if entry.difference is not None]
    for value, limits in found:
        if limits is None:
            continue
        assert limits.value == value
        assert (limits.low is None) == (limits.high is None) == (limits.method == "none")
        if limits.low is None:
            assert limits.reason
        else:
            assert limits.low <= value <= limits.high
    difference = result.entry("other", name).difference
    assert difference.is_significant == (difference.low is not None and (difference.low > 0 or difference.high < 0))


def test_percentiles_on_one_side_of_the_value_are_no_limits():
    limits = percentiles(np.array([0.3, 0.4, 0.5]), np.zeros(3), 0.5)
    assert around(limits, 0.4) is limits
    assert around(limits, 0.6)[:4] == (None, None, 1.0, "none")
    assert around(limits, 0.2).reason == "the percentiles lie on one side of it"


def test_clusters_leave_calibration_errors_without_limits_of_their_own():
    clusters = np.arange(300) // 3
    keys = ["rms-debiased", "skce", "nll"]
    result = compare({"good": GOOD, "bad": BAD}, keys, n_resamples=20, clusters=clusters, rng=0)
    for key, method in (("rms-debiased", "none"), ("skce", "percentile")):
        assert result.entry("bad", key).interval.low is None
        assert result.entry("bad", key).interval.reason == "they are for independent rows, not for clusters"
        assert result.entry("bad", key).difference.method == method
    assert result.entry("bad", "rms-debiased").difference.reason == "they are for independent rows, not for clusters"
    assert result.entry("bad", "nll").difference.method == "hall"


def test_p_values_are_adjusted_over_all_differences():
    models = {"good": GOOD, "bad": BAD, "same": GOOD}
    result = compare(models, ["nll", "brier", "accuracy"], n_resamples=99, rng=0)
    differences = [entry.difference for entry in result.entries if entry.difference is not None]
    differences = [d for d in differences if d.method != "none"]
    assert [d.adjusted for d in differences] == holm([d.pvalue for d in differences]).tolist()
    assert all(d.pvalue > 0 for d in differences)
    assert len(differences) == 4
    same = result.entry("same", "nll").difference
    assert (same.value, same.low, same.pvalue, same.adjusted, same.is_significant) == (0, None, 1, 1, False)


def test_a_model_against_a_calibrated_twin_is_significant_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    found, n_sets = 0, 80
    for _ in range(n_sets):
        noise = rng.normal(scale=0.5, size=(2, 100))
        truth = np.full(100, 0.5)
        labels = (rng.random(100) < truth).astype(int)
        one, two = (Predictions(1 / (1 + np.exp(-z)), labels) for z in noise)  # Equally bad on average.
        found += (
            compare({"a": one, "b": two}, ["brier"], n_resamples=99, rng=rng)
            .entry("b", "brier")
            .difference.is_significant
        )
    assert found / n_sets < 0.05 + 3.1 * np.sqrt(0.05 * 0.95 / n_sets) + 0.01


def test_the_baseline_may_be_any_model_and_signs_turn():
    one = compare({"good": GOOD, "bad": BAD}, ["brier"], n_resamples=50, rng=0)
    two = compare({"good": GOOD, "bad": BAD}, ["brier"], baseline="bad", n_resamples=50, rng=0)
    assert two.entry("good", "brier").difference.value == -one.entry("bad", "brier").difference.value
    assert two.entry("bad", "brier").difference is None


def test_infinite_log_losses_are_reported_as_such():
    labels = [1, 0, 0, 1] * 20
    fine = Predictions([0.8, 0.3, 0.6, 0.4] * 20, labels)
    sure = Predictions([0.0, 0.3, 0.6, 0.4] + [0.8, 0.3, 0.6, 0.4] * 19, labels)
    result = compare({"fine": fine, "sure": sure, "twin": sure}, ["nll"], baseline="fine", n_resamples=99, rng=0)
    entry = result.entry("sure", "nll")
    assert entry.value == entry.difference.value == entry.difference.high == np.inf
    assert np.isfinite(entry.difference.low)
    against = compare({"sure": sure, "twin": sure}, ["nll"], n_resamples=99, rng=0)
    assert against.entry("twin", "nll").difference is None
    assert "nan" not in str(as_record(result)).replace("nan_", "")


def test_groups_without_weight_are_left_out():
    weights, by = np.arange(300) >= 100, np.arange(300) // 100
    good, bad = (Predictions(p.probs, p.labels, weights.astype(float)) for p in (GOOD, BAD))
    assert [*compare({"good": good, "bad": bad}, ["brier"], n_resamples=30, by=by, rng=0).groups] == ["1", "2"]
    narrow, wide = (Forecasts(Normal(np.zeros(300), sd), np.linspace(-2, 2, 300), weights) for sd in (1.0, 2.0))
    assert [*compare({"narrow": narrow, "wide": wide}, ["crps"], by=by, rng=0).groups] == ["1", "2"]


def test_groups_are_compared_by_themselves():
    by = np.arange(300) % 2
    result = compare({"good": GOOD, "bad": BAD}, ["brier"], n_resamples=30, by=by, rng=0)
    assert list(result.groups) == ["0", "1"]
    assert result.groups["1"].entry("bad", "brier").value == Brier()(BAD.take(by == 1))
    assert result.groups["1"].n_samples == 150


def test_clusters_widen_what_depends_on_them():
    rows = np.repeat(np.arange(100), 3)
    one, two = (Predictions._trusted(p.probs[rows], p.labels[rows], np.ones(300), p.classes) for p in (GOOD, BAD))
    alone = compare({"a": one, "b": two}, ["brier"], n_resamples=400, rng=0).entry("b", "brier").difference
    together = (
        compare({"a": one, "b": two}, ["brier"], n_resamples=400, clusters=rows, rng=0).entry("b", "brier").difference
    )
    assert together.high - together.low == pytest.approx(np.sqrt(3) * (alone.high - alone.low), rel=0.2)


def test_progress_ends_at_the_total():
    seen = []
    compare(
        {"a": GOOD, "b": BAD},
        ["nll", "in-the-large"],
        n_resamples=20,
        by=np.arange(300) % 2,
        progress=lambda *x: seen.append(x),
        rng=0,
    )
    assert seen[-1] == (3 * 2 * 4, 3 * 2 * 4)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_same_seed_gives_the_same_answer():
    first, second = (as_record(compare({"a": GOOD, "b": BAD}, ["nll"], n_resamples=40, rng=7)) for _ in range(2))
    assert first == second


def test_default_metrics_are_rows_of_the_table():
    assert set(DEFAULT_METRICS) <= set(METRICS)


@each(
    "models, settings, words",
    [
        ({}, {}, "at least one"),
        ({"a": GOOD}, {"baseline": "b"}, "baseline must be one of 'a', but is 'b'"),
        ({"a": GOOD}, {"metrics": ["eec"]}, "'eec' is not"),
        ({"a": GOOD}, {"level": 95}, "level must be"),
        ({"a": GOOD}, {"n_resamples": 0}, "n_resamples"),
        ({"a": GOOD, "b": GOOD.take(np.arange(299))}, {}, "the same rows, but have 300 and 299"),
        (
            {"a": GOOD, "b": GOOD.with_labels(np.roll(GOOD.labels, 1))},
            {},
            "the same labels in the same order.*first is row",
        ),
        ({"a": GOOD, "b": Predictions(GOOD.probs, GOOD.labels, np.arange(1, 301))}, {}, "same weights.*first is row 1"),
        ({"a": GOOD, "b": calibrated(n=300, k=4)}, {}, "same classes"),
        ({"a": GOOD}, {"by": [1, 2]}, "by must have one value per row"),
        ({"a": GOOD}, {"differences": "basic"}, 'differences must be "valid" or "percentile", but is .basic.'),
        ({"a": GOOD}, {"bandwidth": "shared"}, 'bandwidth must be "baseline" or "own", but is .shared.'),
    ],
)
def test_what_cannot_be_compared_is_refused(models, settings, words):
    with pytest.raises(InputError, match=words):
        compare(models, **settings)


def nearly_sure(wrong, n=200):
    """Rows of which so many are expected to be wrong, in each of two models."""
    rng = np.random.default_rng(5)
    odd = np.clip(rng.exponential(wrong / n, n), 1e-9, 0.4)
    odd *= wrong / odd.sum()
    labels = (rng.random(n) > odd).astype(int)
    return (Predictions._trusted(np.column_stack([p, 1 - p]), labels, np.ones(n), (0, 1)) for p in (odd, odd**1.02))


def test_differences_have_no_limits_if_neither_model_is_expected_to_be_wrong_often_enough():
    first, second = nearly_sure(4)
    result = compare({"a": first, "b": second}, ["nll", "rms-debiased", "in-the-large"], n_resamples=99, rng=0)
    for key in result.metrics:
        entry = result.entry("b", key)
        found = entry.difference
        assert (found.low, found.high, found.pvalue, found.adjusted, found.method) == (None, None, 1.0, 1.0, "none")
        assert not found.is_significant
        assert found.reason.startswith("at least 15 wrong rows must be expected")
        assert entry.interval is None or entry.interval.low is None
    assert result.entry("b", "rms-debiased").interval.null is not None
    first, second = nearly_sure(17)
    result = compare({"a": first, "b": second}, ["nll"], n_resamples=99, rng=0)
    assert result.entry("b", "nll").difference.method == "hall"
    assert result.entry("b", "nll").difference.reason == ""


def test_one_model_that_is_wrong_often_enough_suffices():
    first, _ = nearly_sure(4)
    vague = Predictions._trusted((first.probs + 0.5) / 2, first.labels, first.weights, first.classes)
    result = compare({"sure": first, "vague": vague}, ["brier", "rms-debiased"], n_resamples=199, rng=0)
    assert result.entry("vague", "brier").difference.is_significant
    assert result.entry("vague", "rms-debiased").difference.is_significant
    assert "15 wrong rows" in result.entry("sure", "brier").interval.reason


def test_scores_that_differ_in_few_rows_have_no_limits_of_their_difference():
    p = calibrated(n=300, k=3)

    def changed(n_rows):
        probs = p.probs.copy()
        probs[:n_rows] = probs[:n_rows, ::-1]
        return Predictions(probs, p.labels)

    models = {"base": p, "same": changed(0), "few": changed(19), "many": changed(60)}
    result = compare(models, ["nll", "brier"], n_resamples=99, rng=0)
    for key in result.metrics:
        found = {model: result.entry(model, key).difference for model in models}
        for model in ("same", "few"):
            assert (found[model].low, found[model].method, found[model].pvalue) == (None, "none", 1.0)
            assert found[model].reason == "at least 20 rows must differ in their score"
        assert found["many"].method == "hall"


def test_few_clusters_leave_differences_without_limits():
    result = compare({"good": GOOD, "bad": BAD}, ["nll"], n_resamples=99, clusters=np.arange(300) % 29, rng=0)
    assert result.entry("bad", "nll").difference.method == "none"
    assert result.entry("bad", "nll").difference.reason == "at least 30 clusters are needed"
    assert "at least 30 clusters" in result.entry("bad", "nll").interval.reason


def test_differences_without_limits_do_not_count_in_the_adjustment():
    p = calibrated(n=120, k=4)
    models = {"good": p, "bad": sharpened(p, 0.5)}
    both = compare(models, ["nll", key := "rms-debiased-per-predicted-class"], n_resamples=99, rng=0)
    alone = compare(models, ["nll"], n_resamples=99, rng=0)
    assert both.entry("bad", key).difference.method == "none"
    assert both.entry("bad", key).difference.reason.startswith("its bins hold too few rows")
    assert both.entry("bad", "nll").difference.adjusted == alone.entry("bad", "nll").difference.adjusted
