"""ICI and its relatives, slope, intercept, calibration in the large, O/E, and cumulative errors as measures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binary_cases import PUBLISHED_INTERCEPT, PUBLISHED_SLOPE, binary, published
from calibrant import DataWarning, InputError, Predictions, measure
from calibrant.hypotest import ConsistencyTest, CoxTest, ECCETest
from calibrant.metrics import (
    ECCE,
    ICI,
    METRICS,
    CoxIntercept,
    CoxSlope,
    GapQuantile,
    InTheLarge,
    IsotonicCurve,
    Loess,
    ObservedExpectedRatio,
)
from calibrant.smoothing import smoothers
from naming import each
from simulate import calibrated

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
reproducible = settings(derandomize=True)
SEPARATED = Predictions([0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1])


def loess_by_definition(probs, labels, span, degree):
    """One weighted least-squares fit at every row, of its nearest rows."""
    n_near = math.ceil(span * len(probs) - 1e-9)
    fitted = []
    for x in probs:
        distance = np.abs(probs - x)
        reach = np.sort(distance)[n_near - 1]
        weight = (1 - np.minimum(distance / reach, 1) ** 3) ** 3 if reach > 0 else (distance == 0).astype(float)
        design = np.vander((probs - x) / (reach or 1), degree + 1, increasing=True)
        root = np.sqrt(weight)
        fitted.append(np.linalg.lstsq(design * root[:, None], labels * root, rcond=1e-9)[0][0])
    return np.array(fitted)


@each("span, degree", [(0.75, 2), (2 / 3, 1), (0.5, 1), (0.3, 2), (1, 1)])
@each("seed", [0, 1])
def test_local_regression_by_its_definition(span, degree, seed):
    p = binary(90, seed)
    gaps = np.abs(p.positive - loess_by_definition(p.positive, p.labels, span, degree))
    curve = Loess(span, degree)
    assert ICI(curve)(p) == pytest.approx(gaps.mean(), rel=1e-8)
    assert GapQuantile(1, curve)(p) == pytest.approx(gaps.max(), rel=1e-8)
    assert GapQuantile(0.9, curve)(p) == pytest.approx(np.sort(gaps)[80], rel=1e-8)
    assert GapQuantile(0.5, curve)(p) == pytest.approx(np.sort(gaps)[44], rel=1e-8)


def test_local_regression_of_ties():
    rng = np.random.default_rng(3)
    probs = rng.choice([0.1, 0.2, 0.35, 0.4, 0.6, 0.65, 0.8, 0.95], 80)
    p = Predictions(probs, rng.random(80) < probs)
    gaps = np.abs(probs - loess_by_definition(probs, p.labels, 0.75, 2))
    assert ICI()(p) == pytest.approx(gaps.mean(), rel=1e-8)


@pytest.mark.parametrize("curve", [Loess(), Loess(2 / 3, 1)])
def test_joined_cells_and_interpolation_change_little(curve, monkeypatch):
    p = published(2.0).take(slice(0, 1200))
    metrics = [ICI(curve), GapQuantile(0.9, curve), GapQuantile(1, curve)]
    fast = [metric(p) for metric in metrics]
    monkeypatch.setattr(smoothers, "CELLS", 1200)
    monkeypatch.setattr(smoothers, "ANCHORS", 600)
    exact = [metric(p.take(slice(None))) for metric in metrics]  # What is kept with p was joined.
    assert fast != exact
    assert fast[:2] == pytest.approx(exact[:2], rel=2e-3)
    assert fast[2] == pytest.approx(exact[2], rel=0.03)


def test_published_values_with_the_settings_of_the_calzone_project():
    """Its documentation prints 0.00558857, and 0.074 for the sharpened data, by lowess with fraction 0.5."""
    assert ICI(Loess(0.5, 1))(published()) == pytest.approx(0.00558857, rel=1e-3)
    assert ICI(Loess(0.5, 1))(published(2.0)) == pytest.approx(0.074, abs=5e-4)


def test_the_isotonic_curve_gives_its_own_gaps():
    p = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], [0, 0, 0, 1, 1, 1])  # Fitted 1/4 below 0.5, then 1.
    gaps = [0.15, 0.05, 0.05, 0.15, 0.5, 0.1]
    assert ICI(IsotonicCurve())(p) == pytest.approx(np.mean(gaps))
    assert GapQuantile(0.5, IsotonicCurve())(p) == pytest.approx(0.1)
    assert GapQuantile(1, IsotonicCurve())(p) == pytest.approx(0.5)


def test_quantiles_are_those_of_the_weights():
    p = Predictions([0.1, 0.5, 0.9], [0, 0, 1], weights=[8, 1, 1])  # Gaps 0.1, 0.5, 0.1.
    assert GapQuantile(0.9, IsotonicCurve())(p) == pytest.approx(0.1)
    assert GapQuantile(0.91, IsotonicCurve())(p) == pytest.approx(0.5)
    assert GapQuantile(0, IsotonicCurve())(p) == pytest.approx(0.1)


def test_published_slope_and_intercept():
    p = published()
    assert CoxSlope()(p) == pytest.approx(PUBLISHED_SLOPE, rel=1e-11)
    assert CoxIntercept()(p) == pytest.approx(PUBLISHED_INTERCEPT, rel=1e-9)
    assert InTheLarge()(p) == pytest.approx(-0.0451562, abs=5e-8)


@each("weighted", [False, True])
@each("sharpness, shift", [(0.5, 0.0), (1.7, 0.4), (3.0, -2.0)])
def test_coefficients_are_those_of_the_test(weighted, sharpness, shift):
    p = binary(600, 4, sharpness, shift, weighted=weighted)
    details = CoxTest()(p).details
    assert CoxSlope()(p) == pytest.approx(details["slope"], rel=1e-8)
    assert CoxIntercept()(p) == pytest.approx(details["intercept"], rel=1e-8, abs=1e-9)
    assert InTheLarge()(p) == pytest.approx(details["calibration_in_the_large"], rel=1e-8)


@each(
    "probs, labels",
    [
        ([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 0, 1, 1, 1]),
        ([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [1, 1, 1, 0, 0, 0]),
        ([0.1, 0.2, 0.5, 0.5, 0.8, 0.9], [0, 0, 0, 1, 1, 1]),  # Both outcomes, at the threshold only.
        (np.linspace(0.01, 0.99, 1000), np.arange(1000) >= 500),
        ([0.0, 0.0, 1.0, 1.0, 0.5], [0, 0, 1, 1, 1]),
    ],
)
def test_separated_outcomes_have_no_slope_and_no_intercept(probs, labels):
    """A penalty had made numbers of them, such as 27 and 1.2, that no reader could tell from estimates."""
    p = Predictions(probs, np.asarray(labels, dtype=int))
    for metric in (CoxSlope(), CoxIntercept()):
        estimate = metric.estimate(p)
        assert math.isnan(estimate.value)
        assert estimate.details["separated"] is True
    assert math.isfinite(InTheLarge()(p))
    with pytest.raises(InputError, match="a threshold separates them"):
        CoxTest()(p)


def test_weights_of_zero_do_not_hide_separation():
    p = Predictions([0.1, 0.2, 0.7, 0.9, 0.95], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0])
    with pytest.warns(DataWarning, match="no value: a threshold on the predictions separates the outcomes"):
        assert math.isnan(CoxSlope()(p))
    assert math.isfinite(CoxSlope()(Predictions(p.positive, p.labels)))
    with pytest.raises(InputError, match="no value to compare with redraws: a threshold"):
        ConsistencyTest(CoxSlope(), n_resamples=9)(p, rng=0)


def test_outcomes_that_barely_overlap_have_none_either():
    """Where the test refuses, too: the penalty, not the data, would say how steep."""
    for gap, is_known in ((1e-3, True), (1e-12, False)):
        p = Predictions([0.1, 0.2, 0.3, 0.5 + gap, 0.5, 0.7, 0.8, 0.9], [0, 0, 0, 0, 1, 1, 1, 1])
        estimate = CoxSlope().estimate(p)
        assert math.isfinite(estimate.value) is is_known
        assert estimate.details == ({} if is_known else {"flat": True})


def test_resampled_rows_that_are_separated_keep_a_number():
    found = CoxSlope().prepare(SEPARATED)(np.ones((4, 3)))
    assert np.isfinite(found).all()


def test_measures_say_why_there_is_no_value():
    found = measure(SEPARATED, metrics=["nll", "cox-slope", "cox-intercept"])
    assert math.isnan(found["cox-slope"])
    text = repr(found)
    assert "cox-slope      no value" in text
    assert "(no value for cox-slope, cox-intercept: a threshold on the predictions separates the outcomes" in text


def test_separated_outcomes_have_no_slope_and_say_so():
    for p in (
        SEPARATED,
        Predictions([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]),
        Predictions([0.2, 0.5, 0.5, 0.9], [0, 0, 1, 1]),
    ):
        for metric in (CoxSlope(), CoxIntercept()):
            assert metric.estimate(p).details["separated"]
        assert "separated" not in InTheLarge().estimate(p).details
    overlapping = Predictions([0.2, 0.6, 0.5, 0.9], [0, 0, 1, 1])
    unseen = Predictions(overlapping.positive, overlapping.labels, weights=[1, 0, 1, 1])
    equal = Predictions([0.3] * 4, [0, 0, 1, 1])
    assert [CoxSlope().estimate(p).details for p in (overlapping, unseen, equal)] == [{}, {"separated": True}, {}]
    shown = repr(measure([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], metrics=["cox-slope", "in-the-large"]))
    assert shown.splitlines()[1].split() == ["cox-slope", "no", "value"]
    assert "no value for cox-slope: a threshold on the predictions separates the outcomes" in shown


def test_equal_predictions_say_nothing_about_the_slope():
    p = Predictions(np.full(40, 0.3), np.arange(40) % 4 == 0)
    assert CoxSlope()(p) == pytest.approx(1, abs=1e-6)
    expected = math.log(0.25 / 0.75) - math.log(0.3 / 0.7)
    assert CoxIntercept()(p) == pytest.approx(expected, rel=1e-6)
    assert InTheLarge()(p) == pytest.approx(expected, rel=1e-9)


def test_one_outcome_alone_has_no_level_and_no_slope():
    p = Predictions([0.2, 0.4, 0.6], [1, 1, 1])
    for metric in (CoxSlope(), CoxIntercept(), InTheLarge()):
        assert math.isnan(metric.estimate(p).value)
        assert metric.estimate(p).details == {"one_outcome": True}
        weighted = Predictions([0.2, 0.4, 0.6], [1, 1, 0], weights=[1, 1, 0])
        assert metric.estimate(weighted).details == {"one_outcome": True}


def test_certain_predictions_that_are_all_right_have_no_shift():
    """Any shift leaves them as they are; a penalty had made 0.0383 of the share of events."""
    for probs in ([0.0, 0.0, 1.0, 1.0, 1.0], [1e-13, 0.0, 1.0, 1.0, 1.0]):
        estimate = InTheLarge().estimate(Predictions(probs, [0, 0, 1, 1, 1]))
        assert math.isnan(estimate.value)
        assert estimate.details["flat"] is True
    one_wrong = InTheLarge().estimate(Predictions([0.0, 0.0, 1.0, 1.0, 0.0], [0, 0, 1, 1, 1]))
    assert one_wrong.value > 20
    assert one_wrong.details == {"clipped": 5, "refuted": 1}


def test_certain_predictions_are_moved_and_counted():
    p = Predictions([0.0, 0.3, 0.6, 0.7, 1.0, 1.0], [0, 1, 0, 1, 1, 0])
    for metric in (CoxSlope(), CoxIntercept(), InTheLarge()):
        assert metric.estimate(p).details == {"clipped": 3, "refuted": 1}
        assert metric.estimate(p.take([0, 1, 2, 3, 4])).details == {"clipped": 2}
    assert CoxSlope().estimate(binary()).details == {}


def test_a_slope_of_one_half_undoes_doubled_log_odds():
    p = binary(20_000, sharpness=2.0)
    assert CoxSlope()(p) == pytest.approx(0.5, abs=0.02)


def test_swapping_classes_keeps_the_slope_and_turns_the_signs():
    p = binary(400, sharpness=1.5, shift=0.7)
    swapped = Predictions(p.probs[:, ::-1], 1 - p.labels)
    assert CoxSlope()(swapped) == pytest.approx(CoxSlope()(p), rel=1e-9)
    assert CoxIntercept()(swapped) == pytest.approx(-CoxIntercept()(p), rel=1e-8)
    assert InTheLarge()(swapped) == pytest.approx(-InTheLarge()(p), rel=1e-8)


@reproducible
@given(st.integers(1, 50), st.integers(0, 2**31))
def test_observed_over_expected_by_its_definition(n, seed):
    rng = np.random.default_rng(seed)
    p = Predictions(rng.uniform(0.01, 1, n), rng.integers(0, 2, n), rng.uniform(0.1, 2, n))
    expected = sum(p.weights * p.labels) / sum(p.weights * p.positive)
    assert ObservedExpectedRatio()(p) == pytest.approx(expected, rel=1e-12)


def test_no_expected_events():
    assert ObservedExpectedRatio()(Predictions([0.0, 0.0], [0, 0])) == 1
    assert ObservedExpectedRatio()(Predictions([0.0, 0.0], [0, 1])) == math.inf


def test_more_classes_compare_accuracy_with_confidence():
    p = calibrated(n=300, k=4)
    expected = METRICS["accuracy"](p) / p.probs.max(axis=1).mean()
    assert ObservedExpectedRatio()(p) == pytest.approx(expected, rel=1e-12)


def ecce_by_definition(p, statistic):
    path, reached = [0.0], 0.0
    for value in sorted(set(p.positive.tolist())):
        rows = p.positive == value
        reached += (p.weights * (p.labels - p.positive))[rows].sum() / p.weights.sum()
        path.append(reached)
    return max(map(abs, path)) if statistic == "mad" else max(path) - min(path)


@pytest.mark.parametrize("statistic", ["mad", "range"])
@reproducible
@given(st.integers(1, 60), st.sampled_from([5, 1000]), st.integers(0, 2**31))
def test_cumulative_errors_by_their_definition_and_by_the_test(statistic, n, levels, seed):
    rng = np.random.default_rng(seed)
    p = Predictions(rng.integers(1, levels, n) / levels, rng.integers(0, 2, n), rng.integers(1, 4, n))
    assert ECCE(statistic)(p) == pytest.approx(ecce_by_definition(p, statistic), abs=1e-12)
    assert ECCE(statistic)(p) == pytest.approx(ECCETest(statistic)(p).estimate, abs=1e-12)


@pytest.mark.parametrize("sharpness, mad, span", [(1, 0.0062821, 0.0078000), (2, 0.0382645, 0.0437192)])
def test_cumulative_errors_of_the_calzone_data(sharpness, mad, span):
    p = published(sharpness)
    assert (ECCE()(p), ECCE("range")(p)) == pytest.approx((mad, span), abs=5e-8)


@each(
    "build, kind, message",
    [
        (lambda: Loess(0), InputError, "span must be a number above 0 and at most 1, but is 0"),
        (lambda: Loess(1.5), InputError, "span must be"),
        (lambda: Loess(True), InputError, "span must be"),
        (lambda: Loess(0.5, 3), InputError, "degree must be 1 or 2, but is 3"),
        (lambda: ICI("loess"), TypeError, "curve must be a Smoother such as Loess"),
        (lambda: GapQuantile(0.5, "loess"), TypeError, "curve must be a Smoother"),
        (lambda: GapQuantile(1.1), InputError, "q must be a number from 0 to 1, but is 1.1"),
        (lambda: ECCE("max"), InputError, 'statistic must be "mad" or "range"'),
    ],
)
def test_bad_settings_are_refused(build, kind, message):
    with pytest.raises(kind, match=message):
        build()
