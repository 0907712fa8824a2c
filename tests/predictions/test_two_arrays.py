"""Labels and probabilities in place of `Predictions`, in the order of scikit-learn."""

import numpy as np
import pytest

from calibrant import InputError, Predictions, assess, interval, measure, recommend, reliability_curve
from calibrant.binning import EqualMass
from calibrant.curves import classwise_curves, cumulative_curve, isotonic_curve, kernel_curve
from calibrant.hypotest import TESTS, OmnibusTest
from calibrant.metrics import ECE, METRICS, NLL, decompose
from naming import each

RNG = np.random.default_rng(0)
Y_PROB = RNG.dirichlet(np.ones(3), 300)
Y_TRUE = np.array([RNG.choice(3, p=p) for p in Y_PROB])
WEIGHTS = RNG.integers(1, 4, 300).astype(float)
SAME = Predictions(Y_PROB, Y_TRUE, WEIGHTS)
NAMES = np.array(["ant", "bee", "cat"])


@each("metric", METRICS)
def test_metrics(metric):
    expected = metric.estimate(SAME)
    assert metric(Y_TRUE, Y_PROB, WEIGHTS) == expected.value
    assert metric.estimate(Y_TRUE, Y_PROB, sample_weight=WEIGHTS).value == expected.value
    assert metric(NAMES[Y_TRUE], Y_PROB, WEIGHTS) == expected.value


@each("name", ["consistency", "omnibus", "cox", "cme"])
def test_tests(name):
    assert TESTS[name](Y_TRUE, Y_PROB, rng=0).pvalue == TESTS[name](Predictions(Y_PROB, Y_TRUE), rng=0).pvalue


def test_everything_else():
    plain = Predictions(Y_PROB, Y_TRUE)
    found = assess(Y_TRUE, Y_PROB, sections=("metrics",), metrics=["nll"], rng=0)
    assert found.metrics["nll"].value == NLL()(plain)
    assert recommend(Y_TRUE, Y_PROB, rng=0, candidates=["ts"]).headline
    assert interval(Y_TRUE, Y_PROB, NLL(), rng=0).low == interval(plain, NLL(), rng=0).low
    assert interval(Y_TRUE, y_prob=Y_PROB, metric=NLL(), rng=0).low == interval(plain, NLL(), rng=0).low
    assert interval(Y_TRUE, Y_PROB, "NLL", rng=0).low == interval(plain, NLL(), rng=0).low
    assert decompose(Y_TRUE, Y_PROB, "log").score == decompose(plain, "log").score
    for curve in (reliability_curve, isotonic_curve, kernel_curve):
        assert curve(Y_TRUE, Y_PROB).error.value == curve(plain).error.value
    assert (
        reliability_curve(Y_TRUE, Y_PROB, EqualMass(5)).error.value
        == reliability_curve(plain, EqualMass(5)).error.value
    )
    assert cumulative_curve(Y_TRUE, Y_PROB).ecce.value == cumulative_curve(plain).ecce.value
    assert classwise_curves(Y_TRUE, Y_PROB).names == classwise_curves(plain).names


def test_one_column_is_the_probability_of_the_second_class():
    y = np.where(Y_TRUE == 1, 7, -2)
    assert ECE()(y, Y_PROB[:, 1]) == ECE()(Predictions(Y_PROB[:, 1], Y_TRUE == 1))
    assert ECE()(list(y), list(Y_PROB[:, 1])) == ECE()(y, Y_PROB[:, [1]])


@pytest.mark.parametrize("column", [Y_PROB[:, 1], Y_PROB[:, [1]]], ids=["vector", "matrix"])
def test_which_of_two_names_one_column_is_about_is_not_guessed(column):
    """The command refuses it, too: "bad" comes before "good", and "fraud" before "genuine"."""
    y = np.array(["fraud", "genuine"])[(Y_TRUE != 1).astype(int)]
    for call in (ECE(), measure, OmnibusTest(19)):
        with pytest.raises(InputError, match="names like 'genuine', whose order does not say which"):
            call(y, column)
    assert measure(y, column, positive="fraud")["ece"] == ECE()(Predictions(column, Y_TRUE == 1))
    both = np.hstack([column.reshape(-1, 1), 1 - column.reshape(-1, 1)])  # In the order of the sorted names.
    assert NLL()(y, both) == pytest.approx(NLL()(Predictions(column, Y_TRUE == 1)))


@each(
    "arguments, kind, words",
    [
        ((Y_PROB[:, 1], Y_TRUE == 1), InputError, "look swapped"),
        ((Y_PROB, Y_TRUE), InputError, "look swapped"),
        ((Y_PROB,), TypeError, "computed from Predictions, but got ndarray. Pass Predictions, or"),
        ((SAME, Y_PROB), TypeError, "pass them alone"),
        ((NAMES[np.zeros(300, int)], Y_PROB), InputError, "hold all 3 classes.*but holds 1"),
        (([0, "a", 0.5], Y_PROB[:3]), InputError, "labels of one kind"),
        (([0, "a", None], Y_PROB[:3]), InputError, r"no missing values, but row 2 is None \(1 of 3"),
        (([0, 1.0, np.nan, np.nan], Y_PROB[:4]), InputError, r"no missing values, but row 2 is nan \(2 of 4"),
        ((Y_TRUE, Y_PROB, "ece"), TypeError, "sample_weight must be an array, but is 'ece'. Pass names by keyword"),
        ((Y_TRUE[:9], Y_PROB), InputError, "labels must have one entry per row"),
    ],
)
def test_mistakes_are_named(arguments, kind, words):
    with pytest.raises(kind, match=words):
        ECE()(*arguments)
