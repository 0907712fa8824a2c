"""Bad and odd input, by its number in the project's list of 78: an error that helps, a warning, or the right answer.

Containers and types (54 to 69) are in test_containers and test_bad_containers, what metrics make of odd but valid data
in test_odd_data; the last test here sees to it that no number is missing.
"""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import DataWarning, InputError, Predictions, reliability_curve
from calibrant.binning import EqualWidth
from calibrant.hypotest import ConsistencyTest
from calibrant.metrics import Brier
from naming import each

P, L = Predictions, Predictions.from_logits
NAN, INF = math.nan, math.inf
THREE = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]
HALF = [0.5, 0.5, 0.5]
PETS = pd.DataFrame({"cat": [0.2, 0.6], "dog": [0.8, 0.4]})

ERRORS = {
    "1-nan": (lambda: P([0.2, NAN, 0.4], [0, 1, 0]), "probs must be finite, row 1 is nan, 1 of 3 rows, Drop"),
    "1-nan-logit": (lambda: L([[0, 1], [NAN, 0]], [0, 1]), "logits must be finite, row 1, column 0 is nan, Drop"),
    "2-nan-row": (lambda: P([[0.5, 0.5], [NAN, NAN]], [0, 1]), "row 1, column 0 is nan, 1 of 2 rows"),
    "2-nan-column": (lambda: P(PETS.assign(dog=NAN), [0, 1]), "row 0, column 'dog' is nan, 2 of 2 rows"),
    "3-inf": (lambda: P([0.2, INF], [0, 1]), "must be finite, row 1 is inf, Drop"),
    "3-minus-inf": (lambda: P([[-INF, 1.0]], [1]), "must be finite, row 0, column 0 is -inf, Drop"),
    "5-inf-logit": (lambda: L([[0, 1], [0, INF]], [0, 1]), "-inf for an impossible class, row 1, column 1 is inf"),
    "5-nothing-possible": (lambda: L([[0, 1], [-INF, -INF]], [0, 1]), "one class possible, row 1 is -inf, Drop"),
    "6-sum-0.98": (
        lambda: P([[0.5, 0.5], [0.5, 0.48]], [0, 1]),
        "sum to 1, row 1 sums to 0.98, 1 of 2, renormalise=True",
    ),
    "6-sum-1.2": (lambda: P([[0.6, 0.6]], [0]), "sum to 1, row 0 sums to 1.2, renormalise=True"),
    "7-beyond-1e-3": (lambda: P([[0.5, 0.5011]], [0]), "row 0 sums to 1.0011"),
    "7-beyond-2e-2": (lambda: P(np.array([[0.5, 0.522]], np.float16), [0]), "row 0 sums to 1.02"),
    "8-zeros": (lambda: P([[0.5, 0.5], [0, 0]], [0, 1]), "row 1 is 0 everywhere, 1 of 2 rows, Drop"),
    "8-zeros-anyway": (lambda: P([[0.5, 0.5], [0, 0]], [0, 1], renormalise=True), "row 1 is 0 everywhere, Drop"),
    "10-negative": (lambda: P([0.2, -0.1], [0, 1]), "lie in [0, 1], row 1 is -0.1, Are these logits?, from_logits"),
    "10-above-1": (lambda: P([0.2, 1.3], [0, 1]), "lie in [0, 1], row 1 is 1.3, Are these logits?, from_logits"),
    "10-renormalised": (
        lambda: P([[-0.1, 1.1]], [0], renormalise=True),
        "must not be negative, row 0, column 0 is -0.1",
    ),
    "11-logits": (lambda: P([[3.0, -1.0], [0.5, 2.0]], [0, 1]), "row 0, column 0 is 3, Are these logits?, from_logits"),
    "12-percent": (lambda: P([20, 90], [0, 1]), "row 0 is 20, percentages?, by 100"),
    "12-percent-rows": (lambda: P([[20, 80], [90, 10]], [0, 1]), "row 0, column 0 is 20, percentages?, by 100"),
    "13-log-probs": (lambda: P(np.log(THREE), [0, 1, 2]), "row 0, log-probabilities?, from_logits"),
    "25-one-class": (
        lambda: P(np.ones((4, 1)), [0, 0, 0, 0]),
        "at least two classes, 1 everywhere, probability of class 1",
    ),
    "27-transposed": (lambda: P(np.array(THREE[:2]).T, [0, 1]), "row 0 sums to 0.8, columns do, transposed, probs.T"),
    "27-transposed-logits": (lambda: L(np.zeros((3, 9)), [0] * 9), "shape (3, 9) for 9 labels, transposed, logits.T"),
    "28-3d": (
        lambda: P(np.full((2, 2, 3), 1 / 3), [0, 1]),
        "one or two dimensions, shape (2, 2, 3), probs.reshape(-1, K)",
    ),
    "29-too-large": (lambda: P(THREE, [0, 7, 1]), "labels must be 0 to 2, row 1 is 7, 1 of 3 rows, classes="),
    "29-minus-1": (lambda: P(THREE, [0, 1, -1]), "0 to 2, row 2 is -1, 'ignore', drop"),
    "29-255": (lambda: P(THREE, np.array([0, 255, 1], np.uint8)), "0 to 2, row 1 is 255, 'ignore', drop"),
    "29-beyond-int64": (lambda: P(THREE, np.array([0, 2**64 - 1, 1], np.uint64)), "row 1 is 18446744073709551615"),
    "29-beyond-float": (lambda: P(THREE, [0, 1e300, 1]), "row 1 is 1e+300"),
    "29-signs": (lambda: P(HALF, [-1, 1, 1]), "0 to 1, row 0 is -1, classes=[-1, 1]"),
    "30-from-1": (lambda: P(THREE, [1, 2, 3]), "0 to 2, row 2 is 3, numbered from 1, labels - 1, classes="),
    "31-unknown": (lambda: P(PETS, ["cat", "dgo"]), "found in classes, row 1 is 'dgo', Nearest classes: dog, classes="),
    "31-no-classes": (lambda: P(HALF, ["a", "b", "a"]), "names like 'a', order is needed, Pass classes="),
    "31-unknown-number": (
        lambda: P(HALF, [3, 5, 4], classes=[3, 5]),
        "found in classes, row 2 is 4, 1 of 3 rows, 3, 5",
    ),
    "32-bool-of-many": (lambda: P(THREE, [True, False, True]), "booleans for 3 classes, which class was observed"),
    "33-half": (lambda: P(HALF, [0.0, 0.5, 1.0]), "whole numbers or names, row 1 is 0.5, draw or round"),
    "34-nan": (lambda: P(HALF, [0, NAN, 1]), "labels must not be missing, row 1 is nan, Drop"),
    "34-none": (lambda: P(HALF, [0, None, 1]), "labels must not be missing, row 1 is nan, Drop"),
    "34-none-name": (
        lambda: P(HALF, ["a", None, "b"], classes=["a", "None"]),
        "must not be missing, row 1 is None, Drop",
    ),
    "34-nan-name": (lambda: P(HALF, ["a", NAN, "b"], classes=["a", "nan"]), "must not be missing, row 1 is nan, Drop"),
    "35-soft": (lambda: P(PETS, [[0, 1], [0.4, 0.6]]), "exactly one 1, row 1, [0.4, 0.6], draw or round"),
    "35-two-ones": (lambda: P(PETS, [[0, 1], [1, 1]]), "exactly one 1, row 1, sum 2"),
    "35-columns": (lambda: P(PETS, np.eye(3)[:2]), "2 columns if they are one-hot, shape (2, 3), shape (n,)"),
    "36-row-vector": (lambda: P(HALF, [[0, 1, 1]]), "one entry per row, shape (1, 3), shape (n,)"),
    "36-scalar": (lambda: P(HALF, 1), "one entry per row, shape (), shape (n,)"),
    "38-number-of-classes": (lambda: P(THREE, [0, 1, 2], classes=["a", "b"]), "name 3 classes, has 2, Name every"),
    "38-twice": (lambda: P(THREE, [0, 1, 2], classes=["a", "b", "a"]), "distinct, 'a' occurs 2 times, Rename"),
    "38-twice-as-number": (lambda: P(HALF, [0, 1, 1], classes=[1, 1.0]), "distinct, '1' occurs 2 times"),
    "44-no-rows": (lambda: P([], []), "at least one row, shape (0,)"),
    "44-no-columns": (lambda: P(np.empty((3, 0)), [0, 1, 0]), "one column, shape (3, 0)"),
    "48-labels": (lambda: P(HALF, [0, 1]), "labels must have one entry per row, 2 labels and 3 rows, same samples"),
    "48-weights": (lambda: P(HALF, [0, 1, 1], [1, 1]), "weights must have one entry per row, 2 weights and 3 rows"),
    "52-none": (lambda: ConsistencyTest(n_resamples=0), "n_resamples must be a whole number, at least 1, is 0"),
    "52-fraction": (lambda: ConsistencyTest(n_resamples=9.5), "n_resamples must be a whole number, is 9.5"),
    "53-bins": (lambda: EqualWidth(0), "n_bins must be a whole number of at least 1, is 0"),
    "53-level-0": (
        lambda: reliability_curve(P(HALF, [0, 1, 1]), level=0),
        "level must be a number between 0 and 1, is 0",
    ),
    "53-level-1": (
        lambda: reliability_curve(P(HALF, [0, 1, 1]), level=1),
        "level must be a number between 0 and 1, is 1",
    ),
    "71-all-zero": (lambda: P(HALF, [0, 1, 1], [0, 0, 0]), "positive, finite sum, is 0, Give some row a weight"),
    "72-negative": (lambda: P(HALF, [0, 1, 1], [1, -2, 1]), "finite and not negative, row 1 is -2, 1 of 3 rows"),
    "73-nan": (lambda: P(HALF, [0, 1, 1], [1, 1, NAN]), "finite and not negative, row 2 is nan, Drop"),
    "73-inf": (lambda: P(HALF, [0, 1, 1], [INF, 1, 1]), "finite and not negative, row 0 is inf, Drop"),
    "74-underflows": (
        lambda: P(HALF, [0, 1, 1], [5e-324, 1, 1]),
        "0 or at least 1e-307, largest, row 0 is 4.94066",
    ),
    "76-too-long": (lambda: P(HALF, [0, 1, 1], [1] * 4), "weights must have one entry per row, 4 weights and 3 rows"),
    "76-matrix": (lambda: P(HALF, [0, 1, 1], np.ones((3, 2))), "one number per row, shape (3, 2), shape (n,)"),
}

UNIFORM = np.full((2000, 1000), 1e-3)
PROBS = {
    "4-masked-class": (lambda: L([[2.0, -INF, 2.0]] * 3, [0, 2, 2]), [[0.5, 0.0, 0.5]] * 3),
    "6-renormalised": (lambda: P([[0.4, 0.4], [2, 6]], [0, 1], renormalise=True), [[0.5, 0.5], [0.25, 0.75]]),
    "6-renormalised-huge": (lambda: P([[1e308, 1e308]], [0], renormalise=True), [[0.5, 0.5]]),
    "6-renormalised-tiny": (lambda: P([[1e-320, 1e-320]], [0], renormalise=True), [[0.5, 0.5]]),
    "7-within-1e-3": (lambda: P([[0.5, 0.5009]], [0]), [[0.5 / 1.0009, 0.5009 / 1.0009]]),
    "7-three-decimals": (lambda: P([[0.5, 0.499]], [0]), [[500 / 999, 499 / 999]]),
    "7-float16": (lambda: P(np.array([[1.0, 1 / 64]], np.float16), [0]), [[64 / 65, 1 / 65]]),
    "9-rounding": (lambda: P([[-1e-17, 1 + 1e-16], [0.5, 0.5]], [0, 1]), [[0, 1], [0.5, 0.5]]),
    "9-rounding-binary": (lambda: P([-1e-17, 1 + 1e-15, 0.5], [0, 1, 1]), [[1, 0], [0, 1], [0.5, 0.5]]),
    "17-logits-1e4": (
        lambda: L([[1e4, -1e4], [1e4, 1e4 + 1]], [0, 1]),
        [[1, 0], [1 / (1 + math.e), 1 / (1 + 1 / math.e)]],
    ),
    "17-logits-1e38": (lambda: L(np.array([[1e38, -1e38], [0, 0]], np.float32), [0, 1]), [[1, 0], [0.5, 0.5]]),
    "17-logits-1e308": (lambda: L([[1e308, -1e308], [0, 0]], [0, 1]), [[1, 0], [0.5, 0.5]]),
    "18-subnormal": (lambda: P([1e-320, 0.5], [0, 1]), [[1, 1e-320], [0.5, 0.5]]),
    "23-uniform": (lambda: P(UNIFORM, np.arange(2000) % 1000), UNIFORM),
    "26-one-dimension": (lambda: P([0.2, 0.7], [0, 1]), [[0.8, 0.2], [0.3, 0.7]]),
    "26-one-column": (lambda: P([[0.2], [0.7]], [0, 1]), [[0.8, 0.2], [0.3, 0.7]]),
    "26-one-dimension-of-ones": (lambda: P([1.0], [1]), [[0, 1]]),
    "38-matched-by-name": (lambda: P(PETS, ["cat", "dog"], classes=["dog", "cat"]), [[0.8, 0.2], [0.4, 0.6]]),
    "38-renamed": (lambda: P(PETS, [0, 1], classes=["no", "yes"]), [[0.2, 0.8], [0.6, 0.4]]),
    "38-numbered-columns": (lambda: P(pd.DataFrame([[0.2, 0.8]]), [1], classes=[1, 0]), [[0.2, 0.8]]),
}

LABELS = {
    "30-mapped": (lambda: P(THREE, [1, 2, 3], classes=range(1, 4)), [0, 1, 2]),
    "30-mapped-floats": (lambda: P(HALF, [2, 1, 2], classes=np.array([2.0, 1.0])), [0, 1, 0]),
    "31-names": (lambda: P(HALF, ["yes", "no", "no"], classes=["no", "yes"]), [1, 0, 0]),
    "31-bytes": (lambda: P(HALF, np.array([b"yes", b"no", b"no"]), classes=["no", "yes"]), [1, 0, 0]),
    "31-numbers-as-names": (lambda: P(HALF, ["1", "2", "2"], classes=[2, 1]), [1, 0, 0]),
    "32-bool": (lambda: P(HALF, [True, False, True]), [1, 0, 1]),
    "32-bool-classes": (lambda: P(HALF, [True, False, True], classes=[True, False]), [0, 1, 0]),
    "33-whole-floats": (lambda: P(HALF, [1.0, 0.0, 1.0]), [1, 0, 1]),
    "35-one-hot": (lambda: P(THREE, np.eye(3)[[2, 0, 1]]), [2, 0, 1]),
    "35-one-hot-with-classes": (lambda: P(THREE, np.eye(3, dtype=bool)[[2, 0, 1]], classes=[7, 8, 9]), [2, 0, 1]),
    "35-one-hot-by-name": (lambda: P(PETS, pd.DataFrame({"dog": [1, 0], "cat": [0, 1]})), [1, 0]),
    "36-column": (lambda: P(HALF, [[1], [0], [1]]), [1, 0, 1]),
    "37-categorical": (lambda: P(PETS, pd.Series(["dog", "cat"], dtype=pd.CategoricalDtype(["dog", "cat"]))), [1, 0]),
    "38-numbers-as-columns": (lambda: P(pd.DataFrame([[0.2, 0.8]], columns=["1", "0"]), [1]), [0]),
    "42-uint8": (lambda: P(np.full((512, 256), 1 / 256), np.arange(512).astype(np.uint8)), np.arange(512) % 256),
}

MANY = np.full(60, 0.7)
SIXTY = np.arange(60) % 2
TENS = np.random.default_rng(0).integers(0, 10, 1000)
DISTINCT = [np.linspace(0.1, 0.9, 40), np.arange(40) % 21 > 10]
COPIED_AND_SHUFFLED = np.random.default_rng(0).permutation(np.tile(DISTINCT, 2).T).T
WARNINGS = {
    "11-probabilities-as-logits": (lambda: L(THREE, [2, 0, 1]), "look like probabilities"),
    "11-probabilities-as-log-odds": (lambda: L(MANY, SIXTY), "look like probabilities"),
    "24-one-hot": (lambda: P([[0, 1], [1, 0]], [1, 1]), "exactly 0 or 1, without information"),
    "56-integers": (lambda: P(np.array([0, 1, 1]), [1, 1, 0]), "exactly 0 or 1, without information"),
    "38-below-chance": (lambda: P(MANY, [0] * 54 + [1] * 6), "accuracy 0.1 is below chance (0.5), order"),
    "39-class-never-seen": (lambda: P(np.full((60, 3), 1 / 3), SIXTY, classes=[*"abc"]), "class 'c' never occurs"),
    "40-one-class-only": (lambda: P(np.linspace(0.4, 0.9, 60), [1] * 60), "class 0 never occurs"),
    "41-class-seen-once": (lambda: P(MANY, [0] + [1] * 59), "class 0 occurs once"),
    "41-two-rare-classes": (lambda: P(np.full((60, 4), 0.25), [2, *SIXTY[1:]]), "class 2 occurs once, 2 of 4 classes"),
    "43-leak": (lambda: P(np.where(SIXTY, 0.9, 0.2), SIXTY), "every row is predicted correctly, leak"),
    "42-uint8-of-300-classes": (lambda: P(np.full((300, 300), 1 / 300), np.uint8([255] * 300)), "class 0 never occurs"),
    "78-rows-copied": (
        lambda: P(np.tile(np.linspace(0.1, 0.9, 40), 3), np.tile(SIXTY[:40], 3)),
        "every row occurs 3 times",
    ),
    "78-rows-copied-and-shuffled": (lambda: P(*COPIED_AND_SHUFFLED), "every row occurs 2 times"),
    "108-labels-in-other-order": (lambda: P(np.eye(10)[TENS] * 0.9 + 0.01, TENS[::-1]), "shuffled labels, same order"),
    "47-fewer-rows-than-classes": (lambda: P(np.full((2, 5), 0.2), [0, 1]), "fewer rows (2) than classes (5)"),
}


def matching(words):
    """A pattern of words, separated by commas, that must occur in this order."""
    return "(?s)" + ".*".join(re.escape(word) for word in words.split(", "))


@each("build, words", ERRORS)
def test_the_error_says_what_is_required_what_was_found_where_and_what_to_do(build, words):
    with pytest.raises(InputError, match=matching(words)):
        build()


@each("build, expected", PROBS)
def test_probabilities_are_what_they_should_be(build, expected):
    np.testing.assert_allclose(build().probs, expected, rtol=1e-13, atol=0)


@each("build, expected", LABELS)
def test_labels_are_what_they_should_be(build, expected):
    assert build().labels.tolist() == list(expected)


@each("build, words", WARNINGS)
def test_suspicious_data_warns_where_it_is_built_and_its_views_are_silent(build, words):
    with pytest.warns(DataWarning, match=matching(words)) as caught:
        p = build()
    assert {record.filename for record in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for view in (p.top_label(), p.one_vs_rest(0), p.take([0, 1]), p.with_labels(p.labels)):
            assert np.isfinite(Brier()(view))


def test_no_case_of_the_list_is_missing():
    files = [
        Path(__file__).with_name(f"test_{name}.py")
        for name in ("bad_input", "bad_containers", "containers", "odd_data")
    ]
    found = re.findall(r'\n    "(\d+)-|def test_(\d+)_', "".join(file.read_text() for file in files))
    assert {int(row or function) for row, function in found} == {*range(1, 79), 108}


def test_a_few_values_outside_are_errors_and_not_logits():
    with pytest.raises(InputError, match=r"but row 3 is 1\.00001 \(1 of 20 rows is bad\)\. Drop or repair them\.$"):
        P([0.5] * 3 + [1.00001] + [0.5] * 16, [0, 1] * 10)
    with pytest.raises(InputError, match="Are these percentages"):  # Of rare events, most are below 1.
        P([0.5] * 3 + [55] + [0.5] * 16, [0, 1] * 10)


def test_one_column_and_three_numbered_classes_need_more_columns():
    with pytest.raises(InputError, match=r"is 2 \(1 of 3 rows is bad\)\. One column .* two classes\. Pass one column"):
        P([0.2, 0.3, 0.4], [0, 1, 2])
