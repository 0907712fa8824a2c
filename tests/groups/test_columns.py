"""Columns of features cut into levels, by their values alone."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import InputError
from calibrant.groups.columns import Levels, as_table, as_values, cut_into_levels
from naming import each


def values_of(column):
    return as_table({"x": column}, len(column))["x"]


@each(
    "column, expected",
    [
        ([1, 2, 3], [1.0, 2.0, 3.0]),
        ([1, None, 3], [1.0, np.nan, 3.0]),
        (["1", "NA", "2.5"], [1.0, np.nan, 2.5]),
        (["a", "", None], ["a", None, None]),
        ([True, False, True], ["True", "False", "True"]),
        (pl.Series(["b", None, "c"], dtype=pl.Categorical), ["b", None, "c"]),
        (pd.Series([1, None, 3], dtype="Int64"), [1.0, np.nan, 3.0]),
        (pd.Series(["u", "v", pd.NA], dtype="string"), ["u", "v", None]),
        (pd.Series(["u", "v", "u"], dtype="category"), ["u", "v", "u"]),
        ([dt.date(2026, 1, 1), dt.date(2026, 1, 2), None], ["2026-01-01", "2026-01-02", None]),
        (
            np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="M8[D]"),
            ["2026-01-01", "2026-01-02", "2026-01-03"],
        ),
        ([1.0, np.inf, -np.inf], [1.0, np.finfo(float).max, -np.finfo(float).max]),
    ],
)
def test_columns_become_numbers_or_texts(column, expected):
    found = values_of(column).tolist()
    assert found == pytest.approx(expected, nan_ok=True) if isinstance(expected[0], float) else found == expected


def test_numbers_are_cut_at_quantiles_and_missing_values_are_the_last_level():
    values = np.concatenate([np.arange(300.0), [np.nan] * 20])
    levels = cut_into_levels("x", values, 2)
    counts = np.bincount(levels.codes(values), minlength=len(levels))
    assert counts.tolist() == [100, 100, 100, 20]
    assert [levels.label(code) for code in range(4)] == ["x <= 99", "99 < x <= 199", "x > 199", "x is missing"]


def test_few_numbers_are_categories():
    values = np.array([3.0, 1.0, 2.5, np.nan] * 20)
    levels = cut_into_levels("x", values, 2)
    assert levels.texts == ("1", "2.5", "3")
    assert levels.codes(np.array([1.0, 3.0, np.nan, 9.0])).tolist() == [0, 2, 3, -1]


def test_a_number_that_is_mostly_the_same_is_cut_at_most_where_it_changes():
    values = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    levels = cut_into_levels("x", values, 2)
    counts = np.bincount(levels.codes(values))
    assert levels.edges == (0.0,)
    assert counts.tolist() == [900, 100]


@each(
    "column, words",
    [
        ([None] * 100, "all values are missing"),
        (["a"] * 100, "all values are the same"),
        ([f"r{i}" for i in range(100)], "100 different texts for 100 rows"),
        (list(range(100)), "it counts the rows"),
    ],
)
def test_what_makes_no_groups_is_said(column, words):
    assert words in cut_into_levels("x", values_of(column), 2)


def test_a_constant_with_missing_values_makes_two_groups():
    assert len(cut_into_levels("x", values_of(["a", None] * 50), 2)) == 2


def test_labels_are_printable_and_short():
    levels = Levels("a\x1b[31m", ("x" * 100, "ok"))
    assert "\x1b" not in levels.label(0)
    assert len(levels.label(0)) < 70


def test_names_that_occur_twice_are_refused():
    with pytest.raises(InputError, match="distinct columns, but some names occur twice"):
        as_table(pd.DataFrame(np.ones((3, 2)), columns=["x", "x"]), 3)


def test_arrays_of_objects_may_mix_texts_and_numbers():
    assert as_values(np.array(["a", 1, None], dtype=object)).tolist() == ["a", "1", None]
