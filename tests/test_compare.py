"""Paired comparison of models."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.bootstrap import Bootstrap
from calibrant.compare import DEFAULT_METRICS, compare
from calibrant.hypotest import holm
from calibrant.intervals.debiased import debiased_difference
from calibrant.metrics import ECE, METRICS, NLL, Brier, InTheLarge
from calibrant.results import as_record
from simulate import calibrated, sharpened

GOOD = calibrated(n=300, k=3)
BAD = sharpened(GOOD, 0.4)


def samples(seed, n, n_resamples):
    """Rows of the bootstrap samples that `compare` draws."""
    rng = np.random.default_rng(np.random.default_rng(seed).integers(2**63))
    counts = np.concatenate(list(Bootstrap(n_resamples).counts(n, rng)), axis=1)
    return [np.repeat(np.arange(n), column.astype(int)) for column in counts.T]


def test_values_and_resampled_differences_are_their_definitions():
    metrics = {"nll": NLL(), "ece": ECE(), "in-the-large": InTheLarge()}
    result = compare({"good": GOOD, "bad": BAD}, metrics, n_resamples=50, rng=4)
    for key, metric in metrics.items():
        draws = np.array([metric(BAD.take(rows)) - metric(GOOD.take(rows)) for rows in samples(4, 300, 50)])
        entry = result.entry("bad", key)
        low, high = np.quantile(draws, [0.025, 0.975], method="inverted_cdf")
        assert entry.value == pytest.approx(metric(BAD), rel=1e-12)
        assert entry.difference.value == pytest.approx(metric(BAD) - metric(GOOD), rel=1e-12)
        assert entry.difference.resampled == pytest.approx((low, high), rel=1e-9)
        assert entry.difference.same_sign == np.mean(np.sign(draws) == np.sign(entry.difference.value))
        assert result.entry("good", key).difference is None
    assert entry.difference.method == "percentile"
    assert (entry.difference.low, entry.difference.high) == entry.difference.resampled
    assert entry.difference.pvalue == 2 * (1 + min((draws <= 0).sum(), (draws >= 0).sum())) / 51


def test_limits_of_score_differences_are_those_of_the_studentised_bootstrap():
    result = compare({"good": GOOD, "bad": BAD}, ["accuracy", "nll"], n_resamples=99, level=0.9, rng=6)
    rows = NLL().per_row(BAD) - NLL().per_row(GOOD)
    error = rows.std() / np.sqrt(300)
    drawn = [rows[sample] for sample in samples(6, 300, 99)]
    studentised = np.array([(x.mean() - rows.mean()) / (x.std() / np.sqrt(300)) for x in drawn])
    low, high = np.quantile(studentised, [0.05, 0.95], method="inverted_cdf")
    found = result.entry("bad", "nll").difference
    assert found.method == "bootstrap-t"
    assert (found.low, found.high) == pytest.approx((rows.mean() - high * error, rows.mean() - low * error), rel=1e-9)
    beyond = min((studentised >= rows.mean() / error).sum(), (studentised <= rows.mean() / error).sum())
    assert found.pvalue == pytest.approx(2 * (1 + beyond) / 100, rel=1e-12)


def test_limits_of_calibration_differences_are_those_of_debiased_squares():
    result = compare({"good": GOOD, "bad": BAD}, ["ece", "kde-ece-per-predicted-class"], n_resamples=20, rng=0)
    for key in ("ece", "kde-ece-per-predicted-class"):
        found = result.entry("bad", key).difference
        expected = debiased_difference(GOOD, BAD, METRICS[key], 0.95)
        assert (found.low, found.high, found.pvalue) == (*expected.limits[:2], expected.pvalue)
        assert (found.method, found.quantity) == ("debiased", expected.limits.quantity)
        assert found.is_significant


def test_metrics_without_a_valid_interval_have_none():
    result = compare({"good": GOOD, "bad": BAD}, ["ucme", "nll"], n_resamples=20, rng=0)
    assert result.entry("bad", "ucme").interval is None
    assert result.entry("bad", "ucme").difference.method == "percentile"
    assert result.entry("bad", "nll").interval is not None
    bare = compare({"good": GOOD, "bad": BAD}, ["nll"], n_resamples=20, intervals=False, rng=0)
    assert bare.entry("bad", "nll").interval is None
    assert bare.entry("bad", "nll").difference.low == result.entry("bad", "nll").difference.low


def test_clusters_leave_calibration_errors_without_limits_of_their_own():
    clusters = np.arange(300) // 3
    result = compare({"good": GOOD, "bad": BAD}, ["ece", "skce", "nll"], n_resamples=20, clusters=clusters, rng=0)
    for key, method in (("ece", "none"), ("skce", "percentile")):
        assert result.entry("bad", key).interval.low is None
        assert result.entry("bad", key).interval.reason == "they are for independent rows, not for clusters"
        assert result.entry("bad", key).difference.method == method
    assert result.entry("bad", "ece").difference.reason == "they are for independent rows, not for clusters"
    assert result.entry("bad", "nll").difference.method == "bootstrap-t"


def test_p_values_are_adjusted_over_all_differences():
    models = {"good": GOOD, "bad": BAD, "same": GOOD}
    result = compare(models, ["nll", "brier", "accuracy"], n_resamples=99, rng=0)
    differences = [entry.difference for entry in result.entries if entry.difference is not None]
    assert [d.adjusted for d in differences] == holm([d.pvalue for d in differences]).tolist()
    assert all(d.pvalue >= 2 / 100 for d in differences)
    same = result.entry("same", "nll").difference
    assert (same.value, same.low, same.high, same.pvalue, same.is_significant) == (0, 0, 0, 1, False)


def test_a_model_against_a_calibrated_twin_is_significant_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    found, n_sets = 0, 300
    for _ in range(n_sets):
        noise = rng.normal(scale=0.5, size=(2, 100))
        truth = np.full(100, 0.5)
        labels = (rng.random(100) < truth).astype(int)
        one, two = (Predictions(1 / (1 + np.exp(-z)), labels) for z in noise)  # Equally bad on average.
        found += (
            compare({"a": one, "b": two}, ["brier"], n_resamples=199, rng=rng)
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
        ["nll", "ece"],
        n_resamples=20,
        by=np.arange(300) % 2,
        progress=lambda *x: seen.append(x),
        rng=0,
    )
    assert seen[-1] == (3 * 4 * 20, 3 * 4 * 20)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_same_seed_gives_the_same_answer():
    first, second = (as_record(compare({"a": GOOD, "b": BAD}, ["nll"], n_resamples=40, rng=7)) for _ in range(2))
    assert first == second


def test_default_metrics_are_rows_of_the_table():
    assert set(DEFAULT_METRICS) <= set(METRICS)


@pytest.mark.parametrize(
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
            "the same labels in the same order.*first row",
        ),
        ({"a": GOOD, "b": Predictions(GOOD.probs, GOOD.labels, np.arange(1, 301))}, {}, "same weights.*first row 1"),
        ({"a": GOOD, "b": calibrated(n=300, k=4)}, {}, "same classes"),
        ({"a": GOOD}, {"by": [1, 2]}, "by must have one value a row"),
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
    result = compare({"a": first, "b": second}, ["nll", "ece", "in-the-large"], n_resamples=99, rng=0)
    for key in result.metrics:
        entry = result.entry("b", key)
        found = entry.difference
        assert (found.low, found.high, found.pvalue, found.adjusted, found.method) == (None, None, 1.0, 1.0, "none")
        assert not found.is_significant
        assert found.reason.startswith("at least 15 wrong rows must be expected")
        assert found.resampled[0] <= found.resampled[1]
        assert entry.interval is None or entry.interval.low is None
    assert result.entry("b", "ece").interval.null is not None
    first, second = nearly_sure(17)
    result = compare({"a": first, "b": second}, ["nll"], n_resamples=99, rng=0)
    assert result.entry("b", "nll").difference.method == "bootstrap-t"
    assert result.entry("b", "nll").difference.reason == ""


def test_one_model_that_is_wrong_often_enough_suffices():
    first, _ = nearly_sure(4)
    vague = Predictions._trusted((first.probs + 0.5) / 2, first.labels, first.weights, first.classes)
    result = compare({"sure": first, "vague": vague}, ["brier", "ece"], n_resamples=199, rng=0)
    assert result.entry("vague", "brier").difference.is_significant
    assert result.entry("vague", "ece").difference.is_significant
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
        assert (found["same"].low, found["same"].high, found["same"].pvalue) == (0.0, 0.0, 1.0)
        assert (found["few"].low, found["few"].method) == (None, "none")
        assert found["few"].reason == "at least 20 rows must differ in their score"
        assert found["many"].method == "bootstrap-t"


def test_few_clusters_leave_differences_without_limits():
    result = compare({"good": GOOD, "bad": BAD}, ["nll"], n_resamples=99, clusters=np.arange(300) % 29, rng=0)
    assert result.entry("bad", "nll").difference.method == "none"
    assert result.entry("bad", "nll").difference.reason == "at least 30 clusters are needed"
    assert "at least 30 clusters" in result.entry("bad", "nll").interval.reason


def test_differences_without_limits_do_not_count_in_the_adjustment():
    p = calibrated(n=120, k=4)
    models = {"good": p, "bad": sharpened(p, 0.5)}
    both = compare(models, ["nll", "kde-ece-per-predicted-class"], n_resamples=99, rng=0)
    alone = compare(models, ["nll"], n_resamples=99, rng=0)
    assert both.entry("bad", "kde-ece-per-predicted-class").difference.method == "none"
    assert both.entry("bad", "kde-ece-per-predicted-class").difference.reason.startswith("its bins hold too few rows")
    assert both.entry("bad", "nll").difference.adjusted == alone.entry("bad", "nll").difference.adjusted
