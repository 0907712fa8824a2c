"""The redraw test."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.hypotest import TESTS, ConsistencyTest
from calibrant.metrics import ECE, METRICS, Brier
from calibrant.resampling.redraws import redraw_events, redraw_labels
from naming import each
from simulate import calibrated, sharpened


def test_level_holds_on_calibrated_data():
    """250 calibrated data sets of 40 rows: rejections at 0.1 within 3.3 binomial standard errors of 25."""
    test = ConsistencyTest(ECE(), n_resamples=99)
    rejected = sum(test(calibrated(n=40, seed=s), rng=s).pvalue <= 0.1 for s in range(250))
    assert abs(rejected - 25) < 3.3 * np.sqrt(250 * 0.1 * 0.9)


def test_pvalues_are_uniform_where_the_statistic_has_no_ties():
    """With the Brier score ties have probability 0, so (b + 1)/(B + 1) is uniform on its grid."""
    from scipy.stats import chisquare

    test = ConsistencyTest(Brier(), n_resamples=9)
    pvalues = [test(calibrated(n=15, seed=s), rng=s + 10_000).pvalue for s in range(150)]
    counts = np.bincount(np.round(np.array(pvalues) * 10).astype(int) - 1, minlength=10)
    assert chisquare(counts).pvalue > 1e-4


def test_overconfidence_is_found():
    p = sharpened(calibrated(n=1000), 0.5)
    result = ConsistencyTest(n_resamples=199)(p, rng=0)
    assert result.pvalue == 1 / 200
    assert result.statistic == ECE()(p)


def test_the_seed_decides_and_blocks_do_not(monkeypatch):
    p = calibrated(n=100)
    whole = ConsistencyTest(n_resamples=50)(p, rng=3)
    monkeypatch.setattr("calibrant.resampling.redraws.BLOCK_CELLS", 700)
    blocks = ConsistencyTest(n_resamples=50)(p, rng=3)
    assert np.array_equal(whole.null, blocks.null)
    assert not np.array_equal(whole.null, ConsistencyTest(n_resamples=50)(p, rng=4).null)


def test_labels_are_drawn_with_the_predicted_probabilities():
    p = Predictions([[0.2, 0.5, 0.3]] * 3, [0, 1, 2])
    labels = np.concatenate([*redraw_labels(p, 40_000, np.random.default_rng(0))], axis=1)
    share = np.bincount(labels[0], minlength=3) / 40_000
    assert np.abs(share - [0.2, 0.5, 0.3]).max() < 4 * np.sqrt(0.25 / 40_000)


def test_events_are_the_labels_of_class_1_regardless_of_how_many_are_drawn_together():
    p = Predictions(np.linspace(0.02, 0.98, 700), [0, 1] * 350)
    labels, events = (list(draw(p, 150, np.random.default_rng(0))) for draw in (redraw_labels, redraw_events))
    assert len(events) > 1
    cumulative = 1 - p.positive  # One redraw after another from one stream of numbers.
    expected = cumulative[:, None] <= np.random.default_rng(0).random((150, 700)).T
    np.testing.assert_array_equal(np.concatenate(events, axis=1), expected)
    np.testing.assert_array_equal(np.concatenate(labels, axis=1), expected)


def test_impossible_classes_are_never_drawn():
    p = Predictions([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.2, 0.2, 0.6]], [1, 0, 2])
    (labels,) = redraw_labels(p, 5000, np.random.default_rng(0))
    assert set(labels[0]) == {1}
    assert set(labels[1]) == {0, 2}


def test_progress_is_told():
    seen = []
    ConsistencyTest(n_resamples=30)(calibrated(), rng=0, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (30, 30)


@each("metric", [m for m in METRICS.values() if m.better == "lower"])
def test_any_metric_serves(metric):
    assert 0 < ConsistencyTest(metric, 9)(calibrated(n=60), rng=0).pvalue <= 1


@each("test", TESTS)
@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # The labels of the least probable class.
def test_every_test_accepts_calibrated_and_rejects_blatantly_wrong_data(test):
    p = calibrated(n=2000)
    assert test(p, rng=0).pvalue > 0.01
    sharp = sharpened(p, 0.1).probs
    labels = np.where(np.arange(2000) % 10 == 0, p.labels, sharp.argmin(axis=1))
    assert test(Predictions(sharp, labels), rng=0).pvalue < 0.01


@each("n_resamples", [0, -1, 2.5, "9", True])
def test_a_bad_number_of_redraws_is_refused(n_resamples):
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1"):
        ConsistencyTest(n_resamples=n_resamples)


class Broken(Brier):
    """A metric that is not a number for some labels."""

    def per_row(self, predictions):
        return np.full(predictions.n_samples, np.nan if predictions.labels[:9].any() else 0.5)


def test_a_metric_that_is_not_a_number_under_a_redraw_is_an_error_not_a_pvalue():
    p = calibrated(n=30)
    p = p.with_labels(np.zeros(30, dtype=np.int64))
    with pytest.raises(InputError, match="NaN for 50 of 50 redraws"):
        ConsistencyTest(Broken(), 50)(p, rng=0)


def test_a_metric_that_is_not_a_number_for_the_observed_labels_says_so():
    p = calibrated(n=30).with_labels(np.ones(30, dtype=np.int64))
    with pytest.raises(InputError, match="has no value to compare with redraws"):
        ConsistencyTest(Broken(), 50)(p, rng=0)


def test_a_number_is_not_a_metric():
    with pytest.raises(TypeError, match="metric must be a Metric"):
        ConsistencyTest(metric=3)
