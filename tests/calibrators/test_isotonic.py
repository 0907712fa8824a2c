"""Isotonic calibration and the ROC convex hull, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calibrant import InputError
from calibrant.calibrators import IsotonicCalibration, ROCConvexHull
from calibrant.counts import LaplaceCorrection, MEstimate
from calibrant.roc import convex_hull, hull_probabilities, roc_curve
from naming import each

RANKS = np.arange(10, 0, -1)
LABELS = np.array([1, 1, 0, 1, 1, 0, 1, 1, 0, 0])


def best_map(scores, labels, weights):
    """The max-min formula at every distinct score, straight from the theory of isotonic regression."""
    values = np.unique(scores)

    def mean(i, j):
        inside = (scores >= values[i]) & (scores <= values[j])
        return np.average(labels[inside], weights=weights[inside])

    k = len(values)
    fitted = [max(min(mean(i, j) for j in range(m, k)) for i in range(m + 1)) for m in range(k)]
    return values, np.array(fitted)


rows = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 1), st.sampled_from([1.0, 2.0, 0.5, 3.25])), min_size=1, max_size=9
)


@given(rows)
def test_isotonic_equals_brute_force_with_ties_and_weights(table):
    scores, labels, weights = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    values, expected = best_map(scores, labels, weights)
    fitted = IsotonicCalibration(scores="raw").fit_line(scores, labels == 1, weights)
    found = 1 / (1 + np.exp(-fitted.log_odds(values).clip(-700, 700)))
    assert found == pytest.approx(expected, abs=1e-12)


@given(rows)
def test_the_hull_without_smoothing_equals_isotonic_regression_at_the_fitted_scores(table):
    scores, labels, weights = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    values, expected = best_map(scores, labels, weights)
    for merge_equal in (True, False):
        fitted = ROCConvexHull(merge_equal=merge_equal, scores="raw").fit_line(scores, labels == 1, weights)
        found = 1 / (1 + np.exp(-fitted.log_odds(values).clip(-700, 700)))
        assert found == pytest.approx(expected, abs=1e-12)


def test_between_pools_the_map_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    probs = rng.random(500).round(2)
    labels = (rng.random(500) < probs**2).astype(int)
    weights = rng.random(500)
    peer = IsotonicRegression(out_of_bounds="clip").fit(probs, labels, weights)
    new = np.linspace(0, 1, 997)
    found = IsotonicCalibration().fit(probs, labels, weights).predict_proba(new)[:, 1]
    assert found == pytest.approx(peer.predict(new), abs=1e-9)


def test_centred_isotonic_rises_strictly_through_the_middle_of_every_pool():
    # The pools are {0.1}, {0.3, 0.5} and {0.8}, with the probabilities 0, 1/2 and 1; 0.5 weighs three times as much.
    fitted = IsotonicCalibration(centred=True).fit([0.1, 0.3, 0.5, 0.5, 0.8], [0, 1, 1, 0, 1], [1, 1, 1, 2, 1])
    middle = (0.3 + 3 * 0.5) / 4
    probs = fitted.predict_proba([0.05, 0.1, middle, (0.1 + middle) / 2, 0.8, 0.9])[:, 1]
    assert probs == pytest.approx([0, 0, 0.5, 0.25, 1, 1], abs=1e-12)
    inside = fitted.predict_proba(np.linspace(0.1, 0.8, 50))[:, 1]
    assert (np.diff(inside) > 0).all()


def test_centred_isotonic_merges_equal_pools_and_so_has_no_flat_stretch():
    # 0-1 and 0-1 are two pools of 1/2 if only strict violators are merged.
    fitted = IsotonicCalibration(centred=True).fit([0.2, 0.3, 0.6, 0.7], [1, 0, 1, 0])
    assert fitted.probabilities_.tolist() == [0.5]


@pytest.mark.parametrize("centred", [False, True])
def test_log_odds_that_no_probability_can_tell_apart_keep_their_labels(centred):
    logits = np.array([40.0, 41.0, 42.0])  # All three are the probability 1 in double precision.
    fitted = IsotonicCalibration(centred=centred, scores="logits").fit(logits, [0, 1, 1])
    probs = fitted.predict_proba(np.array([39.0, 40.0, 40.5, 41.0, 42.0, 43.0]))[:, 1]
    assert (np.diff(probs) >= 0).all()
    assert probs[[0, 1, -1]] == pytest.approx([0, 0, 1])
    assert centred or probs[3] == 1.0


def test_infinite_raw_scores_are_infinitely_far_away():
    fitted = IsotonicCalibration(scores="raw").fit([-np.inf, 0.0, 10.0, np.inf], [0, 0, 1, 1])
    probs = fitted.predict_proba([-np.inf, -1e300, 0.0, 5.0, 10.0, 1e300, np.inf])[:, 1]
    assert probs.tolist() == [0, 0, 0, 0.5, 1, 1, 1]
    between = IsotonicCalibration(scores="raw").fit([-np.inf, np.inf], [0, 1])
    assert between.predict_proba([-np.inf, 3.0, np.inf])[:, 1].tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("gap", [5e-324, 1e-300])
def test_tiny_gaps_between_scores_stay_finite(gap):
    fitted = IsotonicCalibration(scores="raw").fit([0.0, gap, 1.0], [0, 1, 1])
    assert fitted.predict_proba([0.0, gap, 0.5])[:, 1].tolist() == [0, 1, 1]
    wide = IsotonicCalibration(scores="raw").fit([-1.5e308, 0.0, 1.5e308], [0, 1, 1])
    assert np.isfinite(wide.predict_proba([-1e308, 1e307])).all()


def test_a_transformed_ranker_is_calibrated_alike_at_the_fitted_scores():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=300)
    labels = (rng.normal(size=300) < scores).astype(int)
    for build in (IsotonicCalibration, ROCConvexHull):
        one = build(scores="raw").fit(scores, labels).predict_proba(scores)
        other = build(scores="raw").fit(np.exp(3 * scores), labels).predict_proba(np.exp(3 * scores))
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize(
    "merge_equal, expected",
    [
        (False, [2 / 3, 2 / 3, 3 / 5, 3 / 5, 3 / 5, 3 / 5, 3 / 5, 3 / 5, 1 / 3, 1 / 3]),
        (True, [3 / 4, 3 / 4, 5 / 8, 5 / 8, 5 / 8, 5 / 8, 5 / 8, 5 / 8, 1 / 4, 1 / 4]),
    ],
)
def test_laplace_correction_of_the_worked_example(merge_equal, expected):
    fitted = ROCConvexHull(LaplaceCorrection(), merge_equal=merge_equal, scores="raw").fit(RANKS, LABELS)
    assert fitted.predict_proba(RANKS)[:, 1] == pytest.approx(expected, abs=1e-12)


def test_the_hull_without_smoothing_of_the_worked_example():
    fitted = ROCConvexHull(scores="raw").fit(RANKS, LABELS)
    assert fitted.predict_proba(RANKS)[:, 1] == pytest.approx([1, 1, *[2 / 3] * 6, 0, 0], abs=1e-12)


@each("smoothing", [None, LaplaceCorrection(), MEstimate(2, prior="observed")])
@each("merge_equal", [True, False])
def test_the_calibrator_agrees_with_the_functions_of_the_hull(smoothing, merge_equal):
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 40, 200)
    labels = (rng.random(200) < scores / 40).astype(int)
    weights = rng.integers(1, 4, 200)
    hull = convex_hull(roc_curve(scores, labels, weights), merge_equal=merge_equal)
    new = np.linspace(-5, 45, 201)
    fitted = ROCConvexHull(smoothing, merge_equal, scores="raw").fit(scores, labels, weights)
    assert fitted.predict_proba(new)[:, 1] == pytest.approx(hull_probabilities(hull, new, smoothing), abs=1e-12)


@given(rows)
def test_smoothed_hulls_never_fall(table):
    scores, labels, weights = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    fitted = ROCConvexHull(LaplaceCorrection(), scores="raw").fit_line(scores, labels == 1, weights)
    assert (np.diff(fitted.log_odds(np.linspace(-1, 7, 33))) >= 0).all()


def test_smoothing_that_would_reverse_two_segments_pools_them():
    # Segments of 1 of 1 and of 18 of 20: corrected 2/3 and 19/22, in the wrong order.
    scores, labels = [1, *[0] * 20], [1, *[1] * 18, 0, 0]
    fitted = ROCConvexHull(LaplaceCorrection(), scores="raw").fit(scores, labels)
    pooled = (1 * 2 / 3 + 20 * 19 / 22) / 21
    assert fitted.predict_proba([0, 1])[:, 1] == pytest.approx([pooled, pooled], abs=1e-12)


def test_one_class_makes_one_segment():
    one = ROCConvexHull(LaplaceCorrection()).fit([0.2, 0.4, 0.6], [1, 1, 1])
    assert one.predict_proba([0.1, 0.9])[:, 1] == pytest.approx([4 / 5, 4 / 5])
    with pytest.raises(InputError, match="labels must hold both classes"):
        ROCConvexHull(scores="raw").fit([1.0, 2.0], [1, 1])


def test_a_smoothing_that_is_no_rule_is_refused():
    with pytest.raises(TypeError, match="smoothing must be None or a rule"):
        ROCConvexHull("laplace").fit([0.2, 0.8], [0, 1])
