"""Calibrators of two classes lifted to many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import IsotonicRegression

from calibrant import InputError
from calibrant.binning import EqualWidth
from calibrant.calibrators import (
    BBQ,
    CALIBRATORS,
    HistogramBinning,
    IsotonicCalibration,
    OneVsRest,
    PlattScaling,
    Pooled,
    QuadraticScaling,
    TemperatureScaling,
    VennAbers,
)
from calibrant.calibrators.binary.pooled import keep_order
from calibrant.calibrators.fitting.log_odds import class_scores, log_odds_of_classes
from naming import each
from properties import examples
from simulate import calibrated, sharpened

MAPS = [IsotonicCalibration(), QuadraticScaling(), HistogramBinning(), BBQ(), VennAbers()]
"""Flat maps, maps that fall, maps that jump."""


def normalise(values):
    return values / values.sum(axis=1, keepdims=True)


def test_irova_is_one_isotonic_regression_a_class():
    p = sharpened(calibrated(k=3), 0.5)
    columns = []
    for k in range(3):
        peer = IsotonicRegression(out_of_bounds="clip").fit(p.probs[:, k], p.labels == k)
        columns.append(peer.predict(p.probs[:, k]))
    raw = np.column_stack(columns)
    expected = normalise(raw + 1e-6 * p.probs)
    assert CALIBRATORS["irova"]().fit(p.probs, p.labels).predict_proba(p.probs) == pytest.approx(expected, abs=1e-9)


def test_irm_is_one_isotonic_regression_of_all_pairs():
    p = sharpened(calibrated(k=3), 0.5)
    hits = p.labels[:, None] == np.arange(3)
    peer = IsotonicRegression(out_of_bounds="clip").fit(p.probs.ravel(), hits.ravel())
    expected = normalise(peer.predict(p.probs.ravel()).reshape(p.probs.shape) + 1e-6 * p.probs)
    # Ties are held apart by two parts in a million.
    assert CALIBRATORS["irm"]().fit(p.probs, p.labels).predict_proba(p.probs) == pytest.approx(expected, abs=2e-6)


def test_more_than_two_classes_mean_one_against_the_rest():
    p = sharpened(calibrated(k=4), 0.5)
    one = PlattScaling().fit(p.probs, p.labels).predict_proba(p.probs)
    other = OneVsRest(PlattScaling()).fit(p.probs, p.labels).predict_proba(p.probs)
    assert one == pytest.approx(other, abs=1e-13)


def test_platt_of_a_class_is_that_of_its_binary_problem():
    p = sharpened(calibrated(k=4), 0.5)
    lifted = OneVsRest(PlattScaling()).fit(p.probs, p.labels)
    alone = PlattScaling().fit(p.probs[:, 1], p.labels == 1)
    assert lifted.calibrators_[1].slope_ == pytest.approx(alone.slope_, rel=1e-6)
    assert lifted.calibrators_[1].intercept_ == pytest.approx(alone.intercept_, rel=1e-6)


def test_scores_of_classes_are_what_they_are_called():
    probs = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]])
    log_probs = np.log(probs)
    assert class_scores(log_probs, "probability") == pytest.approx(np.log(probs / (1 - probs)), abs=1e-11)
    assert class_scores(log_probs, "logit") == pytest.approx(log_probs, abs=1e-11)
    margins = np.log([[0.5 / 0.3, 0.3 / 0.5, 0.2 / 0.5], [1.0, 1.0, 0.5]])
    assert class_scores(log_probs, "margin") == pytest.approx(margins, abs=1e-11)
    with pytest.raises(InputError, match='score must be "probability", "logit" or "margin"'):
        OneVsRest(PlattScaling(), score="odds").fit(probs.repeat(2, axis=0), [0, 1, 2, 0])


def test_log_odds_are_accurate_near_one():
    logits = np.array([[60.0, 0.0, 0.0]])
    log_probs = logits - np.log(np.exp(logits - 60).sum(axis=1, keepdims=True)) - 60
    assert log_odds_of_classes(log_probs)[0, 0] == pytest.approx(60 - np.log(2), rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*observed label of probability 0:calibrant.DataWarning")
@each("score", ["probability", "logit", "margin"])
def test_impossible_classes_and_certain_rows_have_finite_results(score):
    probs = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    for inner in MAPS:
        result = OneVsRest(inner, score=score).fit(probs, [0, 1, 2, 2]).predict_proba(probs)
        assert np.isfinite(result).all()
        assert result.sum(axis=1) == pytest.approx(1, abs=1e-12)


def test_a_row_that_all_maps_send_to_zero_keeps_its_probabilities():
    # No class was right with a probability of at most 0.4.
    probs = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.9, 0.05, 0.05], [0.05, 0.9, 0.05]])
    fitted = OneVsRest(HistogramBinning(EqualWidth(2))).fit(probs, [0, 1, 2, 0, 1])
    row = np.array([[0.4, 0.35, 0.25]])
    scores = class_scores(np.log(row), "probability").T
    assert all(np.isneginf(c.log_odds(x)) for c, x in zip(fitted.calibrators_, scores, strict=True))
    assert fitted.predict_proba(row) == pytest.approx(row, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*among the labels:calibrant.DataWarning")
@pytest.mark.parametrize("inner", MAPS, ids=lambda m: type(m).__name__)
@given(dtype=st.sampled_from([np.float32, np.float64]), data=st.data())
@examples(20)
def test_pooled_keeps_the_order_of_every_row(inner, dtype, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    k = data.draw(st.integers(2, 8))
    p = sharpened(calibrated(n=80, k=k, seed=seed), 0.4)
    fitted = Pooled(inner).fit(p.probs.astype(dtype), p.labels)
    logits = data.draw(arrays(np.float32, (5, k), elements=st.floats(-30, 30, width=32)))
    probs = np.exp(logits - logits.max(axis=1, keepdims=True)).astype(dtype)
    probs /= probs.sum(axis=1, keepdims=True)
    result = fitted.predict_proba(probs)
    for rounded in (result, result.astype(np.float32)):
        assert np.array_equal(rounded.argmax(axis=1), probs.argmax(axis=1))
    # Numbers that single precision can tell apart keep their order, and equal numbers stay equal.
    above = probs[:, :, None] > probs[:, None, :] * (1 + 1e-6)
    assert (result[:, :, None] > result[:, None, :])[above].all()
    equal = probs[:, :, None] == probs[:, None, :]
    assert (result[:, :, None] == result[:, None, :])[equal].all()


def test_pooled_keeps_neighbours_of_single_precision_apart():
    p = calibrated(k=3)
    fitted = Pooled(IsotonicCalibration()).fit(p.probs, p.labels)
    one = np.float32(0.4)
    probs = np.array([[one, np.nextafter(one, np.float32(1)), np.float32(0.2)]])
    assert probs.dtype == np.float32
    assert fitted.predict(probs)[0] == 1
    assert fitted.predict_proba(probs).astype(np.float32).argmax() == 1


def test_order_is_kept_by_raising_as_little_as_possible():
    values = np.array([[0.0, 0.0, -1.0, 3.0, -np.inf]])
    originals = np.array([[1.0, 2.0, 3.0, 4.0, -np.inf]])
    result = keep_order(values, originals)
    gap = 2.0**-21
    assert result == pytest.approx(np.array([[0.0, gap, 2 * gap, 3.0, -np.inf]]), abs=1e-12)
    ordered = np.array([[0.1, 0.5, 0.2]])
    assert np.array_equal(keep_order(ordered, ordered), ordered)


def test_values_are_raised_over_all_that_are_no_higher_in_rank():
    """By loops, with several ties: each class above the largest of those below and beside it, a gap for each rank."""
    rng, gap = np.random.default_rng(0), 2.0**-21
    for k in rng.integers(2, 8, 100):
        originals, values = rng.integers(0, 3, k), rng.integers(0, 4, k).astype(float)
        ranks = [len({other for other in originals if other < own}) for own in originals]
        expected = [
            max(v - gap * r for v, r in zip(values, ranks, strict=True) if r <= own) + gap * own for own in ranks
        ]
        assert keep_order(values[None], originals[None].astype(float))[0] == pytest.approx(expected, abs=1e-12)


def test_equal_probabilities_in_different_rows_are_ties():
    # 0.7 is 1 - 0.3 and 1 - (0.1 + 0.2): equal, but not in floating point.
    log_probs = np.log([[0.7, 0.3, 1e-300], [0.7, 0.1, 0.2], [0.7, 0.15, 0.15]])
    assert len(np.unique(log_odds_of_classes(log_probs)[:, 0])) > 1
    assert len(np.unique(class_scores(log_probs, "probability")[:, 0])) == 1


def test_lifts_take_calibrators_of_two_classes_only():
    p = calibrated()
    for lift in (OneVsRest, Pooled):
        with pytest.raises(TypeError, match="calibrator must be a binary calibrator"):
            lift(TemperatureScaling()).fit(p.probs, p.labels)


def test_the_inner_calibrator_is_not_fitted_itself():
    p = calibrated()
    inner = IsotonicCalibration()
    Pooled(inner).fit(p.probs, p.labels)
    OneVsRest(inner).fit(p.probs, p.labels)
    assert not hasattr(inner, "scores_")
    assert CALIBRATORS["irm"]().calibrator is not CALIBRATORS["irm"]().calibrator


def test_lifts_describe_themselves():
    irova, irm = CALIBRATORS["irova"](), CALIBRATORS["irm"]()
    assert (irova.kind, irm.kind) == ("isotonic", "isotonic")
    assert not irova.preserves_argmax
    assert irm.preserves_argmax
    assert irova.n_parameters == "K (up to 2n)"
    assert (irova.data_efficiency, irm.data_efficiency) == ("low", "medium")
    assert (irova.expressiveness, irm.expressiveness) == ("high", "medium")
