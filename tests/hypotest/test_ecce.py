"""Cumulative differences and the laws of Brownian motion."""

import mpmath
import numpy as np
import pytest

from binary_cases import binary, published
from calibrant import InputError, Predictions
from calibrant.hypotest.cumulative import ECCETest, maximum_tail, range_tail
from naming import each

MAPIE = Predictions([0.1, 0.9, 0.21, 0.9, 0.5], [0, 1, 0, 1, 0])


def maximum_by_series(x):
    """One minus the distribution function of the largest absolute value, with digits to spare."""
    with mpmath.workdps(int(40 + x**2)):
        odd = [mpmath.mpf(2 * k + 1) for k in range(int(20 + 20 * x))]
        terms = [(-1) ** k / m * mpmath.exp(-((m * mpmath.pi / x) ** 2) / 8) for k, m in enumerate(odd)]
        return float(1 - 4 / mpmath.pi * mpmath.fsum(terms))


def range_by_series(x):
    """One minus the distribution function of the range, with digits to spare."""
    with mpmath.workdps(int(40 + x**2)):
        x = mpmath.mpf(x)
        rates = [((k + mpmath.mpf(1) / 2) * mpmath.pi) ** 2 for k in range(int(20 + 20 * x))]
        return float(1 - mpmath.fsum((8 / x**2 + 2 / rate) * mpmath.exp(-2 * rate / x**2) for rate in rates))


@each("x", [0.11, 0.5, 1.0, 1.499999, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0])
def test_tails_agree_with_the_series_of_the_distribution(x):
    assert maximum_tail(x) == pytest.approx(maximum_by_series(x), rel=1e-12)
    assert range_tail(x) == pytest.approx(range_by_series(x), rel=1e-12)


def test_published_values_of_the_distributions():
    """MAPIE's tests and documentation."""
    published_tails = [1 - 0.370777, 1 - 0.908999, 1 - 0.9946]
    assert [maximum_tail(x) for x in (1.0, 2.0, 3.0)] == pytest.approx(published_tails, abs=1e-6)
    assert 1 - range_tail(1.0) == pytest.approx(0.0634, abs=5e-5)


def test_tails_fall_from_one_to_zero():
    grid = np.linspace(0, 45, 4000)
    for tail in (maximum_tail, range_tail):
        values = np.array([tail(x) for x in grid])
        assert values[0] == 1
        assert np.all(np.diff(values) <= 1e-15)
        assert values[-1] == 0


def test_tails_agree_with_simulated_walks():
    """Steps hide peaks between them: a walk of n normal steps has its barrier 0.5826 / sqrt(n) further away."""
    n_steps, n_walks = 1000, 4000
    walks = np.random.default_rng(0).normal(scale=n_steps**-0.5, size=(n_walks, n_steps)).cumsum(axis=1)
    high, low = walks.max(axis=1).clip(min=0), walks.min(axis=1).clip(max=0)
    hidden = 0.5826 / np.sqrt(n_steps)
    for x in (1.0, 1.5, 2.0, 2.5):
        for values, expected in [
            (np.maximum(high, -low), maximum_tail(x + hidden)),
            (high - low, range_tail(x + 2 * hidden)),
        ]:
            error = np.sqrt(expected * (1 - expected) / n_walks)
            assert np.mean(values > x) == pytest.approx(expected, abs=4 * error)


def test_published_examples():
    """MAPIE's documentation; its range leaves out that the sum starts at 0, and so gives 0.857 in place of 0.978."""
    assert ECCETest("mad")(MAPIE).statistic == pytest.approx(0.978, abs=5e-4)
    assert ECCETest("range")(MAPIE).statistic == pytest.approx(0.978, abs=5e-4)


def test_published_values_of_random_data():
    """MAPIE's tests, with NumPy's legacy generator, whose stream is frozen."""
    rng = np.random.RandomState(1)
    labels = rng.choice([0, 1], size=100)
    assert ECCETest("mad")(Predictions(rng.uniform(size=100), labels)).statistic == pytest.approx(5.607741, abs=1e-6)
    rng = np.random.RandomState(1)
    probs = rng.uniform(size=100)
    labels = (rng.uniform(size=100) <= probs).astype(int)
    assert ECCETest("mad")(Predictions(probs, labels)).pvalue == pytest.approx(0.2148, abs=1e-6)


@each(
    "labels, weights, expected",
    [
        ([0, 1, 0, 1], None, 0.67082),
        ([1, 1, 1, 1], None, 2.23607),
        ([0, 1, 0, 0], None, 1.34164),
        ([0, 1, 0, 0], [0.4, 0.3, 0.2, 0.1], 1.289317),
    ],
)
def test_published_ranges(labels, weights, expected):
    """The tests of MCGrad."""
    p = Predictions([0.6, 0.8, 0.2, 0.4], labels, weights)
    assert ECCETest("range")(p).statistic == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("sharpness, mad, spread", [(1.0, 0.0062821, 0.0078000), (2.0, 0.0382645, 0.0437192)])
def test_values_of_5000_rows(sharpness, mad, spread):
    p = published(sharpness)
    assert ECCETest("mad")(p).estimate == pytest.approx(mad, abs=5e-8)
    assert ECCETest("range")(p).estimate == pytest.approx(spread, abs=5e-8)


def test_pvalue_of_5000_rows():
    assert ECCETest("range")(published()).pvalue == pytest.approx(0.4566, abs=5e-5)


def worst_interval(p):
    """The largest net error over all intervals of predictions, by trying each."""
    values = np.unique(p.positive)
    errors = {}
    for i, low in enumerate(values):
        for high in values[i:]:
            inside = (p.positive >= low) & (p.positive <= high)
            errors[low, high] = abs(p.weights[inside] @ (p.labels - p.positive)[inside]) / p.weights.sum()
    return max(errors.items(), key=lambda item: item[1])


@each("seed", range(6))
def test_the_range_is_the_largest_net_error_of_any_interval(seed):
    raw = binary(40, seed, sharpness=2.0, weighted=True)
    p = Predictions(raw.positive.round(1).clip(0.05, 0.95), raw.labels, raw.weights)
    (low, high), error = worst_interval(p)
    result = ECCETest("range")(p)
    assert result.estimate == pytest.approx(error)
    assert result.details["interval"] == pytest.approx([low, high])
    inside = (p.positive >= low) & (p.positive <= high)
    assert result.details["interval_rows"] == inside.sum()
    for name, values in [("predicted", p.positive), ("observed", p.labels)]:
        mean = np.average(values[inside], weights=p.weights[inside])
        assert result.details["interval_" + name] == pytest.approx(mean)
    gap = result.details["interval_observed"] - result.details["interval_predicted"]
    assert result.details["direction"] == ("too low" if gap > 0 else "too high")


def test_place_and_direction_of_the_largest_sum():
    p = Predictions([0.1, 0.2, 0.3, 0.8], [1, 1, 0, 1])  # 4 C = 0, 0.9, 1.7, 1.4, 1.6
    result = ECCETest("mad")(p)
    assert result.estimate == pytest.approx(1.7 / 4)
    assert result.details["place"] == 0.2
    assert result.details["direction"] == "too low"
    assert result.details["sigma"] == pytest.approx(np.sqrt(0.09 + 0.16 + 0.21 + 0.16) / 4)


def test_equal_predictions_are_pooled():
    """MAPIE's documentation prints 0.7857, which hangs on the order of the two rows at 0.5."""
    labels = [1, 0, 1, 0, 1, 0]
    pooled = ECCETest("mad")(Predictions([0.8, 0.3, 0.5, 0.5, 0.7, 0.1], labels))
    apart = ECCETest("mad")(Predictions([0.8, 0.3, 0.5 + 1e-9, 0.5, 0.7, 0.1], labels))
    assert apart.details["closed_form"] == pytest.approx(0.7857, abs=5e-5)
    assert apart.estimate == pytest.approx(0.9 / 6)
    assert pooled.estimate == pytest.approx(0.4 / 6)


def test_predictions_that_differ_by_rounding_are_equal():
    assert ECCETest("mad")(Predictions([0.3, 0.1 + 0.2], [1, 0])).estimate == pytest.approx((0.7 - 0.3) / 2)


def test_a_sum_that_never_leaves_zero_has_no_place():
    p = Predictions([0.5] * 4, [1, 0, 1, 0])
    for test, name in [(ECCETest("mad"), "place"), (ECCETest("range"), "interval")]:
        result = test(p)
        assert (result.statistic, result.pvalue, result.details["direction"]) == (0.0, 1.0, "none")
        assert result.details[name] is None


def test_the_range_does_not_change_when_classes_are_exchanged():
    p = binary(200, sharpness=1.5)
    mirrored = Predictions(1 - p.positive, 1 - p.labels)
    assert ECCETest("range")(mirrored).estimate == pytest.approx(ECCETest("range")(p).estimate)


def test_constant_predictions_and_single_rows_are_tested():
    result = ECCETest()(Predictions([0.3] * 10, [0, 1] * 5))
    assert result.estimate == pytest.approx(0.2)
    assert result.statistic == pytest.approx(2 / np.sqrt(10 * 0.21))
    assert ECCETest()(Predictions([0.7], [1])).estimate == pytest.approx(0.3)


def test_an_unknown_statistic_is_refused():
    with pytest.raises(InputError, match='statistic must be "mad" or "range", but is \'kuiper\''):
        ECCETest("kuiper")
