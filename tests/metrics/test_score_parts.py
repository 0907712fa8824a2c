"""Parts of scores: isotonic recalibration, bins, and groups of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binary_cases import published
from calibrant import InputError, Predictions
from calibrant.binning import EqualMass, EqualWidth
from calibrant.metrics import (
    ECE,
    NLL,
    Classwise,
    Discrimination,
    Miscalibration,
    Refinement,
    Reliability,
    Resolution,
    SquaredError,
    decompose,
    segment_decomposition,
)
from calibrant.results import as_record
from naming import each
from properties import examples
from simulate import calibrated

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
reproducible = examples(40, derandomize=True)
both_scores = pytest.mark.parametrize("score", ["squared-error", "log"])
SMALL = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], [0, 0, 0, 1, 1, 1])


def isotonic_by_definition(probs, labels, weights):
    """The min-max formula: at each value, the largest over lower starts of the smallest mean up to a higher end."""
    levels = sorted(set(probs.tolist()))

    def mean(low, high):
        rows = (probs >= low) & (probs <= high)
        return (weights * labels)[rows].sum() / weights[rows].sum()

    fit = {v: max(min(mean(a, b) for b in levels if b >= v) for a in levels if a <= v) for v in levels}
    return np.array([fit[v] for v in probs.tolist()])


def mean_score(predicted, labels, weights, score):
    right = np.where(labels == 1, predicted, 1 - predicted)
    with np.errstate(divide="ignore"):
        rows = (1 - right) ** 2 if score == "squared-error" else -np.log(right)
    return float(weights @ rows / weights.sum())


def simulated(n, levels, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = 1.5
    return Predictions(rng.integers(1, levels, n) / levels, rng.integers(0, 2, n), weights)


@both_scores
@reproducible
@given(st.integers(1, 14), st.sampled_from([4, 12, 1000]), st.integers(0, 2**31))
def test_corp_by_its_definition(score, n, levels, seed):
    p = simulated(n, levels, seed)
    kept = p.take(p.weights > 0)
    probs, labels, weights = kept.positive, kept.labels, kept.weights
    fitted = isotonic_by_definition(probs, labels, weights)
    own, best = (mean_score(x, labels, weights, score) for x in (probs, fitted))
    base = mean_score(np.full(len(probs), weights @ labels / weights.sum()), labels, weights, score)
    parts = decompose(p, score)
    assert parts.value == pytest.approx(own)
    assert parts.miscalibration == pytest.approx(own - best, abs=1e-12)
    assert parts.discrimination == pytest.approx(base - best, abs=1e-12)
    assert parts.uncertainty == pytest.approx(base, abs=1e-12)
    assert Miscalibration(score)(p) == pytest.approx(own - best, abs=1e-12)
    assert Discrimination(score)(p) == pytest.approx(base - best, abs=1e-12)
    assert Refinement(score)(p) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    "score, expected",
    [
        ("squared-error", (0.2266667, 0.1016667, 0.125, 0.25)),
        ("log", (0.6986228, 0.3237327, 0.3182571, 0.6931472)),
    ],
)
def test_published_parts_of_six_rows(score, expected):
    """Values that model-diagnostics takes from the R package reliabilitydiag."""
    parts = decompose(SMALL, score)
    found = (parts.value, parts.miscalibration, parts.discrimination, parts.uncertainty)
    assert found == pytest.approx(expected, abs=5e-8)


def test_a_lower_squared_error_may_go_with_a_worse_calibration():
    """The twelve rows of scikit-learn's issue 10883, whose squared errors are 1/6 and 1/12."""
    labels = [0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    one = decompose(Predictions([0, *[0.25] * 4, *[0.5] * 2, *[0.75] * 4, 1], labels))
    other = decompose(Predictions([0, *[0.25] * 3, 0.75, *[0.5] * 2, 0.25, *[0.75] * 3, 1], labels))
    assert (one.value, one.miscalibration, one.discrimination) == pytest.approx((1 / 6, 0, 1 / 12), abs=1e-12)
    assert (other.value, other.miscalibration, other.discrimination) == pytest.approx((1 / 12, 1 / 24, 5 / 24))


@pytest.mark.parametrize("sharpness, value, miscalibration", [(1, 0.1251857, 0.0015010), (2, 0.1347129, 0.0110282)])
def test_simulated_data_of_the_calzone_project(sharpness, value, miscalibration):
    parts = decompose(published(sharpness))
    assert (parts.value, parts.miscalibration) == pytest.approx((value, miscalibration), abs=5e-8)
    assert parts.discrimination == pytest.approx(0.1263009, abs=5e-8)  # The same for every increasing map.


def test_ties_are_pooled_whatever_the_order_of_the_rows():
    probs, labels = [0.3, 0.3, 0.3, 0.8], np.array([1, 0, 0, 1])
    for order in ([0, 1, 2, 3], [1, 2, 0, 3], [1, 0, 2, 3]):
        assert Refinement()(Predictions(probs, labels[order])) == pytest.approx(3 / 4 * 2 / 9)


@both_scores
def test_recalibrated_predictions_have_no_miscalibration(score):
    p = calibrated(n=25, k=2)
    fitted = isotonic_by_definition(p.positive, p.labels, p.weights)
    assert Miscalibration(score)(Predictions(fitted, p.labels)) == pytest.approx(0, abs=1e-12)
    assert Miscalibration(score)(p) > 1e-3


def test_an_impossible_label_makes_the_miscalibration_of_the_log_score_infinite():
    p = Predictions([0.0, 0.4, 0.6, 1.0], [1, 0, 1, 1])
    parts = decompose(p, "log")
    assert parts.value == parts.miscalibration == np.inf
    assert np.isfinite(parts.discrimination)
    assert Miscalibration("log")(p) == np.inf
    assert Miscalibration("log")(Predictions(p.probs, p.labels, [0, 1, 1, 1])) < np.inf
    labels = np.array([[1, 0], [0, 0], [1, 1], [1, 1]])
    assert np.isinf(Miscalibration("log").prepare_labels(p)(labels)).tolist() == [True, False]
    assert decompose(Predictions([0.0, 1.0, 0.5], [0, 1, 0]), "log").value < np.inf


def test_impossible_labels_with_bins():
    """In a bin of zeros the mean is as wrong as the rows; in a mixed bin only the spread within it is."""
    zeros = decompose(Predictions([0.0, 0.0, 0.9], [1, 0, 1]), "log", method="murphy", bins=EqualWidth(2))
    assert zeros.value == zeros.miscalibration == np.inf
    assert np.isfinite([zeros.within, zeros.discrimination, zeros.uncertainty]).all()
    mixed = decompose(Predictions([0.0, 0.2, 0.9], [1, 0, 1]), "log", method="murphy", bins=EqualWidth(2))
    assert mixed.value == mixed.within == np.inf
    assert np.isfinite([mixed.miscalibration, mixed.discrimination]).all()


@both_scores
@each("bins", [EqualWidth(4), EqualMass(5), EqualWidth(3, "guo"), EqualWidth(2, "torchmetrics")])
@examples(20, derandomize=True)
@given(st.integers(1, 40), st.sampled_from([4, 1000]), st.integers(0, 2**31))
def test_the_parts_with_bins_add_up(score, bins, n, levels, seed):
    p = simulated(n, levels, seed)
    parts = decompose(p, score, method="murphy", bins=bins)
    whole = parts.miscalibration - parts.discrimination + parts.uncertainty + parts.within
    assert whole == pytest.approx({"squared-error": SquaredError(), "log": NLL()}[score](p), abs=1e-12)
    if score == "squared-error":
        assert parts.within == pytest.approx(parts.within_variance - parts.within_covariance, abs=1e-15)


@reproducible
@given(st.integers(1, 40), st.integers(0, 2**31))
def test_the_parts_with_bins_by_their_definition(n, seed):
    p = simulated(n, 50, seed)
    parts = decompose(p, method="murphy", bins=EqualWidth(4))
    index = EqualWidth(4).cut(p.positive, p.weights).index
    total, base = p.weights.sum(), np.average(p.labels, weights=p.weights)
    expected = np.zeros(4)
    for b in range(4):
        rows = (index == b) & (p.weights > 0)
        if rows.any():
            w, q, y = p.weights[rows], p.positive[rows], p.labels[rows]
            dq, dy = q - np.average(q, weights=w), y - np.average(y, weights=w)
            gap = np.average(q, weights=w) - np.average(y, weights=w)
            away = np.average(y, weights=w) - base
            expected += [w.sum() * gap**2, w.sum() * away**2, w @ dq**2, 2 * w @ (dq * dy)]
    found = [parts.miscalibration, parts.discrimination, parts.within_variance, parts.within_covariance]
    assert found == pytest.approx(expected / total, abs=1e-12)
    assert Reliability(EqualWidth(4))(p) == pytest.approx(expected[0] / total, abs=1e-12)
    assert Resolution(EqualWidth(4))(p) == pytest.approx(expected[1] / total, abs=1e-12)


def test_bins_are_segments_like_any_other():
    p = calibrated(n=500, k=2)
    parts = decompose(p, method="murphy", bins=EqualWidth(10))
    segments = segment_decomposition(p, EqualWidth(10).cut(p.positive, p.weights).index).mean
    assert parts.miscalibration == pytest.approx(segments.calibration, rel=1e-12)
    assert parts.uncertainty - parts.discrimination == pytest.approx(segments.refinement, rel=1e-12)
    assert parts.within == pytest.approx(segments.within, abs=1e-15)
    assert Reliability(EqualWidth(10))(p) == pytest.approx(ECE(EqualWidth(10), norm=2)(p) ** 2)


def test_blocks_of_the_isotonic_regression_are_segments_too():
    """The refinement loss of the blocks is that of CORP; the calibration loss is the mean of (mean p - c)^2."""
    blocks = [0, 0, 0, 0, 1, 1]
    segments = segment_decomposition(SMALL, blocks).mean
    assert segments.refinement == pytest.approx(Refinement()(SMALL))
    assert segments.calibration + segments.within == pytest.approx(Miscalibration()(SMALL))


def test_more_classes_are_reduced_to_the_top_label_or_taken_one_by_one():
    p = calibrated(n=400, k=4)
    parts = decompose(p)
    assert parts.view == "top-label"
    assert parts.value == pytest.approx(SquaredError()(p.top_label()))
    assert Miscalibration()(p) == pytest.approx(parts.miscalibration)
    each = [decompose(p.one_vs_rest(c)).miscalibration for c in range(4)]
    assert Classwise(Miscalibration())(p) == pytest.approx(np.mean(each))


def test_the_result_can_be_written_out():
    record = as_record(decompose(SMALL, method="murphy", bins=EqualWidth(2)))
    assert record["method"] == "EqualWidth(n_bins=2, convention='calibrant')"
    assert record["view"] == "binary"


@each("make", [Miscalibration, Discrimination, Refinement, lambda s: decompose(SMALL, s)])
def test_unknown_scores_are_refused(make):
    with pytest.raises(InputError, match='score must be "squared-error" or "log", but is \'brier\''):
        make("brier")


def test_other_bad_arguments_are_refused():
    with pytest.raises(InputError, match='method must be "corp" or "murphy"'):
        decompose(SMALL, method="pav")
    with pytest.raises(TypeError, match="bins must be a Binning"):
        decompose(SMALL, bins="ten")
    with pytest.raises(TypeError, match="computed from Predictions, but got list"):
        decompose([0.2, 0.4])
    for metric in (Reliability, Resolution):
        with pytest.raises(TypeError, match="bins must be a Binning"):
            metric(bins="ten")


def test_data_in_place_of_settings_is_told_where_it_belongs():
    for data in ([0, 1], np.array([0.2, 0.9]), SMALL):
        with pytest.raises(TypeError, match=r"Settings come first, data when called: ECE\(bins=15\)\(y_true, y_prob\)"):
            ECE(data)


def test_the_refinement_loss_names_its_score():
    assert Refinement().about().label == "Refinement loss"
    about = Refinement("log").about()
    assert about.label == "Refinement loss, log"
    assert about.meaning == "The log loss that remains after isotonic recalibration."
