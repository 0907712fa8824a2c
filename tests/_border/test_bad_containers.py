"""Containers and types that cannot be read, cases 57 to 68: the error says why and what to do."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch

from calibrant import InputError, Predictions
from naming import each

P = Predictions
TWO = [0.3, 0.6]
FRAME = pd.DataFrame({"a": [0.2, 0.5, 0.9], "b": [0.8, 0.5, 0.1]}, index=[7, 8, 9])
SERIES = pd.Series([0, 1, 1], index=[9, 8, 7])
MASKED = np.ma.array([[0.3, 0.7], [0.6, 0.4]], mask=[[0, 0], [1, 0]])
ERRORS = {
    "57-complex": (lambda: P([0.1 + 0j, 0.5], [0, 1]), TypeError, "probs must hold numbers, complex128, Convert"),
    "57-datetime": (lambda: P(TWO, np.array(["2020", "2021"], "M8[Y]")), TypeError, "labels must hold, datetime64"),
    "58-strings": (lambda: P(["0.1", "0.9"], [0, 1]), TypeError, "must hold numbers, row 0 holds '0.1', Convert"),
    "58-one-string": (lambda: P([0.1, "high"], [0, 1]), TypeError, "must hold numbers, row 1 holds 'high'"),
    "58-huge": (lambda: P([0.1, 10**400], [0, 1]), TypeError, "must hold numbers, row 1 holds 10000"),
    "61-masked": (lambda: P(MASKED, [0, 1]), InputError, "missing values, row 1 is masked, 1 entries, probs.data"),
    "61-masked-rows": (lambda: P(list(MASKED), [0, 1]), InputError, "missing values, row 1 is masked"),
    "62-sparse": (lambda: P(scipy.sparse.eye_array(1000), [0] * 1000), InputError, "dense, probs.toarray() (8.0 MB)"),
    "62-sparse-tensor": (lambda: P(torch.eye(2).to_sparse(), [0, 1]), InputError, "dense, sparse_coo, to_dense()"),
    "63-labels": (
        lambda: P(FRAME, SERIES),
        InputError,
        "probs and labels, another order, loc[probs.index], reset_index",
    ),
    "63-weights": (lambda: P(FRAME, [0, 1, 1], SERIES), InputError, "probs and weights, another order"),
    "63-labels-weights": (lambda: P([0.1, 0.2, 0.3], SERIES[::-1], SERIES), InputError, "labels and weights, another"),
    "64-duplicate-index": (
        lambda: P(FRAME, SERIES.set_axis([7, 7, 9])),
        InputError,
        "differ and have duplicates, reset",
    ),
    "64-multi-index": (
        lambda: P(
            FRAME.set_index([[0, 0, 1], [0, 1, 0]]),
            SERIES.set_axis(pd.MultiIndex.from_tuples([(0, 1), (0, 0), (1, 0)])),
        ),
        InputError,
        "same entries in another order",
    ),
    "64-columns": (
        lambda: P(FRAME.set_axis(["a", "a"], axis=1), SERIES),
        InputError,
        "distinct column names, 'a' 2 times",
    ),
    "65-nullable": (
        lambda: P(FRAME.astype("Float64").replace(0.1, pd.NA), [0, 1, 1]),
        InputError,
        "row 2, column 'b' is nan",
    ),
    "65-pyarrow": (
        lambda: P(pd.Series([0.1, None], dtype="double[pyarrow]"), [0, 1]),
        InputError,
        "finite, row 1 is nan",
    ),
    "65-polars": (lambda: P(pl.Series([0.1, None]), [0, 1]), InputError, "finite, row 1 is nan"),
    "65-integer-label": (
        lambda: P(TWO, pd.Series([1, None], dtype="Int64")),
        InputError,
        "missing, row 1 is nan, Drop",
    ),
    "65-boolean-label": (lambda: P(TWO, pd.Series([None, True], dtype="boolean")), InputError, "missing, row 0 is nan"),
    "65-string-label": (
        lambda: P(TWO, pd.array(["a", None]), classes=["a", "b"]),
        InputError,
        "missing, row 1 is, Drop",
    ),
    "65-category": (
        lambda: P(TWO, pd.Categorical(["a", None]), classes=["a", "b"]),
        InputError,
        "missing, row 1 is nan",
    ),
    "65-polars-label": (
        lambda: P(TWO, pl.Series(["a", None]), classes=["a", "b"]),
        InputError,
        "missing, row 1 is None",
    ),
    "66-ragged": (
        lambda: P([[0.1, 0.9], [0.1, 0.2, 0.7]], [0, 1]),
        InputError,
        "equal length, row 1 has 3 and row 0 has 2",
    ),
    "66-ragged-polars": (lambda: P(pl.Series([[0.1, 0.9], [1.0]]), [0, 1]), InputError, "equal length, row 1 has 1"),
    "66-missing-list": (lambda: P(pl.Series([[0.1, 0.9], None]), [0, 1]), InputError, "equal length, row 1"),
    "68-generator": (lambda: P((v for v in TWO), [0, 1]), TypeError, "probs must be an array, iterator, list(probs)"),
    "68-iterator": (lambda: P(TWO, iter([0, 1])), TypeError, "labels must be an array, iterator, list(labels)"),
    "68-dict": (lambda: P({"a": TWO}, [0, 1]), TypeError, "probs must be an array, dict, Pass a list"),
    "68-anything": (lambda: P(P(TWO, [0, 1]), [0, 1]), TypeError, "probs must be an array, Predictions, Pass a list"),
    "68-none": (lambda: P(TWO, None), TypeError, "labels must be an array, NoneType, Pass a list"),
    "68-set-of-classes": (
        lambda: P(TWO, [0, 1], classes={"a", "b"}),
        TypeError,
        "classes must be a list, set, in order",
    ),
}


@each("build, kind, words", ERRORS)
def test_what_cannot_be_read_says_why_and_what_to_do(build, kind, words):
    with pytest.raises(kind, match="(?s)" + ".*".join(re.escape(word) for word in words.split(", "))):
        build()


@pytest.mark.parametrize("index", [[0, 1, 2], [8, 1, 2]])
def test_63_positions_count_where_indices_hold_other_entries(index):
    assert P(FRAME, SERIES.set_axis(index)).labels.tolist() == [0, 1, 1]


def test_64_a_repeated_index_is_fine_if_all_have_the_same():
    again = [1, 1, 2]
    p = P(FRAME.set_axis(again), SERIES.set_axis(again), SERIES.set_axis(again) + 1)
    assert p.labels.tolist() == [0, 1, 1]
    assert p.weights.tolist() == [1, 2, 2]
