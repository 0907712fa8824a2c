"""Intervals and further tests of an assessment."""

from unittest.mock import patch

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.assessment.assessing import assess
from calibrant.hypotest import TESTS
from calibrant.intervals import interval
from calibrant.metrics import (
    ECE,
    ICI,
    METRICS,
    NLL,
    Accuracy,
    CoxIntercept,
    CoxSlope,
    DirichletECE,
    InTheLarge,
    KdeECE,
    SmoothECE,
)
from calibrant.resampling.bootstrap import Bootstrap
from simulate import calibrated, draw_labels, sharpened

P = sharpened(calibrated(n=300, k=3), 0.5)
LIMITS = "calibrant.assessment.ranges"


def test_limits_are_those_of_the_method_that_is_valid_for_each_metric():
    metrics = {
        "accuracy": Accuracy(),
        "top": METRICS["rms-debiased"],
        "classes": METRICS["rms-debiased-one-vs-rest"],
        "predicted": METRICS["rms-debiased-per-predicted-class"],
        "ece": ECE(),
        "discrimination": METRICS["discrimination"],
    }
    found = assess(P, metrics=metrics, n_resamples=49, rng=0).intervals
    assert set(found) == set(metrics) - {"discrimination"}
    for key in found:
        expected = interval(P, metrics[key], bootstrap=Bootstrap(9))  # Neither of these is random.
        assert (found[key].low, found[key].high) == (expected.low, expected.high)
        assert (found[key].method, found[key].reason) == (expected.method, expected.reason)
        assert found[key].value == pytest.approx(metrics[key](P), rel=1e-12)
    assert found["classes"].low != found["top"].low != found["predicted"].low


def test_errors_without_limits_have_their_range_by_chance_and_all_limits_contain_the_value():
    found = assess(P, n_resamples=49, rng=0)
    for key, limits in found.intervals.items():
        assert limits.value == pytest.approx(found.metrics[key].value, rel=1e-9, abs=1e-12)
        assert limits.reason if limits.low is None else limits.low <= limits.value <= limits.high
    errors = [key for key, m in METRICS.items() if m.measures == "calibration" and m.better == "lower"]
    without = {key for key in errors if found.intervals[key].null is None}
    assert without == {"ece-simplex", "ece-simplex-median", "skce", "kce", "mmce", "ucme"}  # Slow to redraw.
    slow = {DirichletECE: 299, ICI: 299, KdeECE: 300}  # There are 300 rows of three classes.
    with patch("calibrant.assessment.ranges.MOST_REDRAWN", slow):
        quick = assess(P, n_resamples=49, rng=0).intervals
    assert {key for key in errors if quick[key].null is None} - without == {
        *("dirichlet-ece", "ici", "kde-ece-one-vs-rest", "kde-ece-per-predicted-class")
    }


def test_the_range_by_chance_is_over_labels_drawn_from_the_predictions():
    found = assess(P, metrics={"l2": ECE(norm=2)}, n_resamples=99, rng=0).intervals["l2"]
    labels = (np.random.default_rng(0).random((300, 1, 4000)) >= P.probs.cumsum(axis=1)[:, :-1, None]).sum(axis=1)
    draws = ECE(norm=2).prepare_labels(P)(labels)
    assert abs(found.expected - draws.mean()) < 4 * draws.std() / np.sqrt(99)


def test_limits_of_scores_are_reproducible_and_near_those_of_normal_theory():
    first, second = (assess(P, metrics={"nll": NLL()}, n_resamples=399, rng=3).intervals["nll"] for _ in range(2))
    assert (first.low, first.high) == (second.low, second.high)
    rows = -np.log(P.probs[np.arange(300), P.labels])
    half = 1.96 * rows.std() / np.sqrt(300)
    assert (first.low, first.high) == pytest.approx((rows.mean() - half, rows.mean() + half), abs=0.4 * half)


def test_the_range_by_chance_is_that_of_redrawn_labels():
    metrics = {"ece": ECE(), "other": ECE(norm=2), "kde-ece": METRICS["kde-ece"], "rms": METRICS["rms-debiased"]}
    result = assess(P, metrics=metrics, n_resamples=199, rng=0)
    assert result.intervals["rms"].expected == pytest.approx(result.verdict.expected, rel=1e-9)
    for key in ("ece", "kde-ece"):
        metric = metrics[key].fit_bandwidth(P)
        rng = np.random.default_rng(1)
        redrawn = [metric(P.with_labels(draw_labels(P.probs, rng))) for _ in range(100)]
        error = 5 * np.std(redrawn) * np.sqrt(1 / 100 + 1 / 199)
        assert result.intervals[key].expected == pytest.approx(np.mean(redrawn), abs=error)


def test_limits_of_fitted_numbers_need_no_resamples():
    metrics = {"slope": CoxSlope(), "intercept": CoxIntercept(), "large": InTheLarge(), "oe": METRICS["oe-ratio"]}
    found = assess(P, metrics=metrics, n_resamples=1, rng=0).intervals
    for key, metric in metrics.items():
        expected = interval(P, metric)
        assert (found[key].low, found[key].high, found[key].method) == (expected.low, expected.high, "sandwich")


def test_more_rows_have_fewer_redraws_and_never_more_than_asked_for():
    seen = []

    def redrawn(view, metrics, n_redraws, rng):
        seen.append(n_redraws)
        return [(key, np.ones(n_redraws)) for key in metrics]

    with patch(f"{LIMITS}._redrawn", redrawn):
        for cells in (300 * 10**6, 300 * 60, 300):
            with patch(f"{LIMITS}.RANGE_CELLS", cells):
                assess(P, metrics={"smooth": SmoothECE()}, n_resamples=999, rng=0)
        assess(P, metrics={"smooth": SmoothECE()}, n_resamples=9, rng=0)
    assert seen == [99, 60, 39, 9]


def test_averages_over_many_classes_have_no_range_and_errors_of_the_confidence_have():
    """Three classes of 300 rows count as three of 1000: what takes the time of a few rows is the class itself."""
    keys = ("ece", "ece-one-vs-rest", "rms-debiased-one-vs-rest", "kde-ece")
    for cells, without in ((3000, set()), (2999, {"ece-one-vs-rest", "rms-debiased-one-vs-rest"})):
        with patch(f"{LIMITS}.MOST_CELLS", cells):
            found = assess(P, metrics=keys, sections=("limits",), n_resamples=9, rng=0).intervals
        assert {key for key in keys if found[key].null is None} == without


def test_ranges_from_events_in_cells_are_those_of_redrawn_labels(monkeypatch):
    """Two samples of 99 draws of the same law: their means differ by less than four standard errors."""
    by_labels = assess(P, metrics={"ece": ECE()}, n_resamples=99, rng=0).intervals["ece"]
    monkeypatch.setattr("calibrant.resampling.event_counts.FEW_ROWS", 1)
    by_counts = assess(Predictions(P.probs, P.labels), metrics={"ece": ECE()}, n_resamples=99, rng=0).intervals["ece"]
    spread = (by_labels.null[1] - by_labels.null[0]) / 4
    assert by_counts.expected != by_labels.expected
    assert abs(by_counts.expected - by_labels.expected) < 4 * spread * np.sqrt(2 / 99)


def test_the_range_by_chance_does_not_depend_on_how_many_labels_are_drawn_together(monkeypatch):
    metrics = {"smooth": SmoothECE(), "kde": KdeECE(bandwidth=0.1), "classes": METRICS["ece-one-vs-rest"]}

    def ranges():
        found = assess(P, sections=["limits"], metrics=metrics, n_resamples=49, rng=0).intervals
        return np.array([found[key].null for key in metrics])

    whole = ranges()
    monkeypatch.setattr("calibrant.resampling.redraws.BLOCK_CELLS", 5 * P.n_samples)  # Five at a time.
    for n_threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
        np.testing.assert_allclose(ranges(), whole, rtol=1e-12)


def test_intervals_can_be_left_out():
    assert assess(P, metrics={"ece": ECE()}, sections=("metrics",), n_resamples=9, rng=0).intervals == {}


def test_further_tests_are_those_of_the_table_without_their_draws():
    result = assess(P, metrics={"ece": ECE()}, n_resamples=9, rng=0)
    assert set(result.tests) == {"spiegelhalter", "cox", "ecce", "skce"}
    for name in ("spiegelhalter", "cox", "ecce"):
        assert result.tests[name].pvalue == TESTS[name](P).pvalue
    assert all(test.null is None for test in result.tests.values())
    with patch("calibrant.assessment.sections.MOST_PAIRED_ROWS", 299):
        blocks = assess(P, metrics={"ece": ECE()}, n_resamples=9, rng=0).tests
    assert blocks["skce-block"].pvalue == TESTS["skce-block"](P).pvalue
    assert "skce" not in blocks


def test_tests_and_limits_that_refuse_the_rows_are_left_out():
    certain = Predictions([0.9, 0.1], labels=[1, 0])  # Separable: no logistic regression has a finite solution.
    result = assess(certain, n_resamples=9, rng=0)
    assert "cox" not in result.tests
    assert "spiegelhalter" in result.tests
    assert all(found.low is None and found.reason for found in result.intervals.values())
    assert "15 wrong rows" in result.intervals["nll"].reason
    assert result.intervals["ece"].null is not None
