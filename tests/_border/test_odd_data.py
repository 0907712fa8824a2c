"""What metrics, curves and tests make of data that is valid but odd, by its number in the list of bad input."""

import math

import numpy as np
import pytest

from calibrant import DataWarning, InputError, Predictions, assess, reliability_curve
from calibrant.binning import EqualMass, EqualWidth
from calibrant.hypotest import ConsistencyTest
from calibrant.metrics import ECE, METRICS, NLL, Brier, TopLabel
from calibrant.report import render_html
from naming import each
from simulate import calibrated
from traced import peak_memory

every_metric = each("metric", METRICS)


def is_defined(metric, predictions):
    """Whether there is a number, an error that says how many rows it takes, or a warning why there is no value."""
    try:
        return np.isfinite(metric(predictions))
    except InputError as error:
        return "rows" in str(error)
    except DataWarning as warning:
        return "has no value: " in str(warning)


def test_14_an_impossible_label_has_an_infinite_log_loss_and_is_counted():
    p = Predictions([0.0, 1.0, 0.5], [1, 1, 0])
    assert NLL()(p) == math.inf
    assert NLL().details(p) == {"infinite_rows": 1, "first_rows": (0,)}


def test_14_a_logit_keeps_the_log_loss_finite_where_the_probability_underflows():
    p = Predictions.from_logits([[0.0, -800.0]], [1])
    assert p.probs[0, 1] == 0
    assert NLL()(p) == 800


@pytest.mark.parametrize("bins", [EqualWidth(10), EqualMass(2)])
def test_15_exact_0_and_1_count_once_in_the_first_and_last_bin(bins):
    p = Predictions([0.0, 1.0, 0.45, 0.55], [0, 1, 0, 1])
    index = bins.cut(p.positive, p.weights).index
    assert index[0] == index.min()
    assert index[1] == index.max()
    assert reliability_curve(p, bins).count.sum() == 4


def test_16_a_value_on_an_edge_belongs_to_the_bin_below():
    values = np.array([0.1, 0.3, 0.1 + 0.2, 0.7])
    assert EqualWidth(10).cut(values, np.ones(4)).index.tolist() == [0, 2, 2, 6]
    assert EqualWidth(100).cut(np.array([0.29]), np.ones(1)).index.tolist() == [28]


@every_metric
@pytest.mark.filterwarnings("ignore:the median distance:calibrant.DataWarning")
def test_19_identical_predictions_have_defined_metrics(metric):
    assert is_defined(metric, Predictions(np.full(40, 0.3), np.arange(40) % 3 == 0))


def test_19_the_error_of_identical_predictions_is_their_distance_from_the_frequency():
    p = Predictions(np.full(40, 0.3), np.arange(40) % 4 == 0)
    assert ECE()(p) == pytest.approx(0.05)
    assert ECE(bins=EqualMass(15))(p) == pytest.approx(0.05)


def test_20_tied_quantiles_merge_and_the_number_of_bins_is_reported():
    p = Predictions(np.repeat([0.2, 0.8], 20), np.arange(40) % 2)
    assert ECE(bins=EqualMass(15)).details(p)["bins_used"] == 2
    assert ECE(bins=EqualMass(15))(p) == pytest.approx(0.3)


@pytest.mark.parametrize("bins", [EqualWidth(10), EqualMass(4)])
def test_21_values_one_ulp_apart_are_ties(bins):
    values = np.array([0.3, np.nextafter(0.3, 1), np.nextafter(0.3, 0), 0.9, 0.9])
    assert len(set(bins.cut(values, np.ones(5)).index[:3])) == 1


def test_22_the_lowest_class_wins_a_tie_before_and_after_renormalising():
    thirds = np.full((3, 3), 1 / 3)
    assert Predictions(thirds, [0, 1, 2]).predicted.tolist() == [0, 0, 0]
    assert Predictions(thirds * 0.7, [0, 1, 2], renormalise=True).predicted.tolist() == [0, 0, 0]
    assert Predictions([0.5], [1]).predicted.tolist() == [0]


@every_metric
@each("n", [1, 2, 3, 5])
def test_45_46_47_few_rows_have_defined_metrics(metric, n):
    assert is_defined(metric, Predictions(np.linspace(0.2, 0.9, n), np.arange(n) % 2))


@each("n", [1, 2, 3])
def test_46_the_p_value_of_few_rows_is_a_positive_multiple_of_its_step(n):
    p = Predictions(np.linspace(0.3, 0.9, n), np.zeros(n))
    pvalue = ConsistencyTest(n_resamples=19)(p, rng=0).pvalue
    assert pvalue * 20 == pytest.approx(round(pvalue * 20))
    assert 0.05 <= pvalue <= 1


def test_49_memory_is_a_few_copies_of_the_data():
    probs, labels = calibrated(n=100_000, k=10).probs.copy(), np.arange(100_000) % 10
    assert peak_memory(lambda: Predictions(probs, labels)) < 2.5 * probs.nbytes
    assert peak_memory(lambda: Predictions.from_logits(np.log(probs), labels)) < 4 * probs.nbytes


def test_50_no_array_grows_with_the_square_of_the_number_of_classes():
    probs = np.full((3, 21_000), 1 / 21_000)
    with pytest.warns(DataWarning, match="fewer rows"):
        peak = peak_memory(lambda: Predictions(probs, [0, 1, 20_999]))
    assert peak < 20 * probs.nbytes


def test_51_the_last_of_an_odd_number_of_rows_counts():
    assert Brier()(Predictions([0.5, 0.5, 0.0], [0, 1, 1])) == pytest.approx((0.5 + 0.5 + 2) / 3)


def test_52_the_smallest_p_value_is_said_and_memory_does_not_grow_with_resamples():
    assert ConsistencyTest(n_resamples=1)(Predictions([0.5], [1]), rng=0).details["smallest_pvalue"] == 0.5
    p = calibrated(n=40_000, k=2)
    few, many = (peak_memory(lambda b=b: ConsistencyTest(n_resamples=b)(p, rng=0)) for b in (100, 400))
    assert many < 1.1 * few


@every_metric
@each("k", [2, 4])
def test_70_rows_of_weight_zero_count_as_absent(metric, k):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.full(k, 0.5), 150)
    labels = rng.integers(0, k, 150)
    weights = rng.integers(0, 3, 150) * 0.5
    probs[weights == 0] = np.eye(k)[(labels[weights == 0] + 1) % k]  # Rows that an infinite log loss would betray.
    kept = weights > 0
    whole = metric(Predictions(probs, labels, weights))
    assert whole == pytest.approx(metric(Predictions(probs[kept], labels[kept], weights[kept])), rel=1e-12, abs=1e-12)


def test_70_rows_of_weight_zero_do_not_show_in_curves_or_warnings():
    p = Predictions([0.2, 0.4, 1.0, 0.0], [0, 1, 0, 1], [1, 2, 0, 0])
    curve = reliability_curve(p)
    assert curve.count.tolist() == [1, 1]
    with pytest.warns(DataWarning, match="exactly 0 or 1"):
        Predictions([0.2, 0.4, 1.0, 0.0], [0, 1, 0, 1], [0, 0, 1, 1])


@every_metric
def test_74_a_huge_ratio_of_weights_stays_finite(metric):
    assert is_defined(metric, Predictions([0.2, 0.4, 0.9, 0.7], [0, 1, 1, 0], [1e150, 1, 1e-150, 1e150]))


@pytest.mark.parametrize(
    "metric",
    # Kernel metrics tune their lengthscale on rows; test_metric_contract.py covers them with a fixed one.
    [pytest.param(m, id=k) for k, m in METRICS.items() if m.weights == "frequency" and m.family != "kernel"],
)
def test_75_an_integer_weight_equals_copies_where_the_metric_says_so(metric):
    p = calibrated(n=80, k=3, seed=2)
    times = np.random.default_rng(2).integers(1, 4, 80)
    copies = p.take(np.repeat(np.arange(80), times))
    assert metric(Predictions(p.probs, p.labels, times)) == pytest.approx(metric(copies), rel=1e-12, abs=1e-12)


@every_metric
def test_77_a_group_of_one_row_has_defined_metrics(metric):
    assert is_defined(metric, calibrated(n=20, k=3).take([7]))


def test_78_repeated_rows_pass_without_a_warning():
    p = Predictions([0.2] * 20 + [0.8] * 20, [0] * 15 + [1] * 25)
    assert TopLabel(ECE())(p) == pytest.approx(abs(0.8 - 35 / 40))


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@pytest.mark.parametrize("n", [1, 60])
def test_equal_rows_of_three_classes_have_a_page(n):
    found = assess(Predictions([[0.2, 0.4, 0.4]] * n, ([0, 1, 1] * 20)[:n]), n_resamples=19, rng=0)
    assert "</html>" in render_html(found)


def test_a_smooth_error_near_its_bounds_stays_within_them():
    p = Predictions([1e-16, 1.0, 1 - 2.2126e-4], [0, 1, 1], [8, 3, 1])
    bias, gap = 2.2126e-4 / 12, 2.2126e-4 / 12
    assert METRICS["smooth-ece"](p) == pytest.approx(bias, rel=1e-6)
    assert METRICS["smooth-ece"](p) <= gap * (1 + 1e-9)
