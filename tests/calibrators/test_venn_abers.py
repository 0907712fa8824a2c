"""Venn-Abers prediction against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from calibrant.calibrators import VennAbers
from properties import examples
from simulate import calibrated, sharpened


def refitted(scores, labels, weights, new):
    """Isotonic regression with the new score added as 0 and as 1, evaluated at that score."""
    places, pool = np.unique(np.append(scores, new), return_inverse=True)
    mass = np.bincount(pool, np.append(weights, 1.0))
    at = np.searchsorted(places, new)
    hits = np.bincount(pool[:-1], weights * labels, len(places))
    means = [(hits + label * (np.arange(len(places)) == at)) / mass for label in (0.0, 1.0)]
    return [isotonic_regression(mean, sample_weight=mass)[at] for mean in means]


rows = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=14)


@given(rows)
@examples(15)
def test_both_probabilities_equal_refitting_with_ties_and_weights(table):
    scores, labels, weights = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    new = np.arange(-1, 10, 0.5)
    low, high = VennAbers(scores="raw").fit_line(scores, labels == 1, weights).line_intervals(new)
    expected = np.array([refitted(scores, labels, weights, s) for s in new])
    assert low == pytest.approx(expected[:, 0], abs=1e-12)
    assert high == pytest.approx(expected[:, 1], abs=1e-12)


def test_both_probabilities_equal_refitting_on_many_rows():
    rng = np.random.default_rng(0)
    probs = rng.random(600)
    labels = (rng.random(600) < probs**1.5).astype(int)
    weights = rng.random(600) + 0.1
    new = np.concatenate([rng.random(40), probs[:20], [0.0, 1.0]])
    low, high = VennAbers().fit(probs, labels, weights).intervals(new)
    expected = np.array([refitted(probs, labels, weights, s) for s in new])
    assert low == pytest.approx(expected[:, 0], abs=1e-9)
    assert high == pytest.approx(expected[:, 1], abs=1e-9)


def test_the_single_probability_lies_between_and_balances_the_log_loss():
    p = sharpened(calibrated(k=2), 0.5)
    fitted = VennAbers().fit(p.probs, p.labels)
    low, high = fitted.intervals(p.probs)
    single = fitted.predict_proba(p.probs)[:, 1]
    assert single == pytest.approx(high / (1 - low + high), abs=1e-12)
    assert ((low <= single) & (single <= high)).all()
    # Regret against high if the label is 1 equals regret against low if it is 0.
    assert np.log(high / single) == pytest.approx(np.log((1 - low) / (1 - single)), abs=1e-9)


def test_probabilities_are_never_certain():
    fitted = VennAbers().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    probs = fitted.predict_proba([0.0, 0.1, 0.5, 0.9, 1.0])
    assert ((probs > 0) & (probs < 1)).all()
    # Two rows of class 0 below: a third label there makes 0 of 3 or 1 of 3.
    low, high = fitted.intervals([0.05])
    assert (low[0], high[0]) == pytest.approx((0, 1 / 3))


def test_one_of_both_probabilities_is_calibrated():
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(300):
        probs = rng.random(21)
        labels = rng.random(21) < probs**3
        low, high = VennAbers().fit(probs[:20], labels[:20]).intervals(probs[20:])
        errors.append(labels[20] - (high if labels[20] else low)[0])
    # The mean of 300 errors below 1 in size; a wrong map would be off by the calibration error, 0.25.
    assert abs(np.mean(errors)) < 0.06


def test_more_classes_give_one_interval_each():
    p = sharpened(calibrated(k=4), 0.5)
    fitted = VennAbers().fit(p.probs, p.labels)
    low, high = fitted.intervals(p.probs)
    assert low.shape == high.shape == p.probs.shape
    assert (low <= high).all()
    alone = VennAbers().fit(p.probs[:, 2], p.labels == 2)
    assert np.column_stack([low[:, 2], high[:, 2]]) == pytest.approx(
        np.column_stack(alone.intervals(p.probs[:, 2])), abs=1e-12
    )


def test_raw_scores_have_intervals():
    low, high = VennAbers(scores="raw").fit([-5.0, 3.0, np.inf], [0, 1, 1]).intervals([-np.inf, 0.0, 99.0])
    assert low == pytest.approx([0, 0, 1 / 2])
    assert high == pytest.approx([1 / 2, 1, 1])


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_finite_intervals(label):
    low, high = VennAbers().fit([0.3, 0.4], [label, label], classes=[0, 1]).intervals([0.35])
    assert [low[0], high[0]] == pytest.approx([0, 1 / 2] if label == 0 else [1 / 2, 1])
