"""Columns of quantiles: which they are, which levels they mean, and what is refused."""

import numpy as np
import polars as pl
import pytest

from calibrant import InputError, Quantiles
from calibrant.exceptions import DataWarning
from calibrant.io import read_forecasts
from calibrant.io.forecast_columns import level_of
from forecast_cases import WRITERS
from naming import each

VALUES = {"a": [0.0, 1.0], "b": [1.0, 2.5], "c": [3.0, 4.0]}


def table(*names, **others):
    return {"y": [0.5, 2.0], **others, **dict(zip(names, VALUES.values(), strict=False))}


@each(
    "text, level",
    [
        ("0.05", 0.05),
        (".5", 0.5),
        ("_0.1", 0.1),
        ("05", 0.05),
        ("5", 0.05),
        ("50", 0.5),
        ("97.5", 0.975),
        ("97,5", 0.975),
        ("025", 0.025),
        ("0_25", 0.25),
        ("95%", 0.95),
        ("1.0", 0.01),
        ("low", None),
        ("", None),
        ("5a", None),
    ],
)
def test_a_level_is_a_share_or_a_percentage(text, level):
    assert level_of(text) == level


@pytest.mark.parametrize("writer", WRITERS)
def test_quantiles_are_found_in_every_format(tmp_path, writer):
    path = tmp_path / writer
    WRITERS[writer](path, table("q0.9", "q0.5", "q0.1") | {"q0.1": [0.0, 1.0], "q0.9": [3.0, 4.0]})
    found = read_forecasts(path)
    assert isinstance(found.distribution, Quantiles)
    assert found.distribution.levels.tolist() == [0.1, 0.5, 0.9]
    assert found.distribution.values.tolist() == [[0.0, 1.0, 3.0], [1.0, 2.5, 4.0]]
    assert found.targets.tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("names", "asked", "levels"),
    [
        (("q5", "q50", "q95"), None, [0.05, 0.5, 0.95]),
        (("q05", "q50", "q95"), "q*", [0.05, 0.5, 0.95]),
        (("quantile_0.1", "quantile_0.5", "quantile_0.9"), None, [0.1, 0.5, 0.9]),
        (("lower_10", "mid_50", "upper_90"), ["lower_10", "mid_50", "upper_90"], [0.1, 0.5, 0.9]),
        (("p10_kwh", "p50_kwh", "p90_kwh"), "p*_kwh", [0.1, 0.5, 0.9]),
        (("q2.5", "q50", "q97.5"), None, [0.025, 0.5, 0.975]),
    ],
)
def test_levels_stand_in_the_names(tmp_path, names, asked, levels):
    path = tmp_path / "a.parquet"
    pl.DataFrame(table(*names)).write_parquet(path)
    assert read_forecasts(path, quantiles=asked).distribution.levels.tolist() == levels


def test_means_and_draws_come_first_and_other_columns_are_no_quantiles(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame(table("q5", "q50", "q95", mean=[0.0, 1.0], sd=[1.0, 1.0], quality=["a", "b"])).write_parquet(path)
    assert type(read_forecasts(path).distribution).__name__ == "Normal"
    assert read_forecasts(path, quantiles=["q5", "q95"]).distribution.levels.tolist() == [0.05, 0.95]


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("q5", "q0.05", "q95"), {}, "are both quantiles of level 0.05"),
        (("q1", "q2", "q3"), {}, "it is not clear which levels"),
        (("q0", "q50", "q100"), {"quantiles": "q*"}, "must lie between 0 and 1"),
        (("low", "mid", "high"), {"quantiles": ["low", "high"]}, "must end with its level"),
        (("low", "mid", "high"), {}, "nor quantiles (q0.05, q05, q5, quantile_0.05)"),
        (("q50", "x", "z"), {"quantiles": "q*"}, "at least two columns of quantiles are needed"),
        (("q5", "q50", "q95"), {"quantiles": "r*"}, "no column that matches 'r*'"),
        (("q5", "q50", "q95"), {"quantiles": "q*", "mean": "y"}, "a file is read as one of them"),
        (("q5", "q50", "q95"), {"quantiles": "q*", "draws": "q*"}, "a file is read as one of them"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, names, options, words):
    path = tmp_path / "a.parquet"
    pl.DataFrame(table(*names)).write_parquet(path)
    with pytest.raises(InputError) as caught:
        read_forecasts(path, **options)
    assert words in str(caught.value)


def test_rows_that_cross_are_counted_and_sorted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,q10,q90\n1,3,0\n2,0,3\n")
    with pytest.warns(DataWarning, match="do in 1 of 2 rows"):
        found = read_forecasts(path)
    assert found.distribution.values.tolist() == [[0.0, 3.0], [0.0, 3.0]]


def test_a_quantile_that_is_no_number_is_located(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,q10,q90\n1,0,3\n2,0,inf\n")
    with pytest.raises(InputError, match="line 3, column 'q90'"):
        read_forecasts(path)
    path.write_text("y,q10,q90\n1,0,3\n2,,3\n")
    with pytest.raises(InputError, match="values are missing in 1 of 2 rows"):
        read_forecasts(path)
    with pytest.warns(DataWarning, match="left out"):
        assert read_forecasts(path, drop_missing=True).n_samples == 1


def test_levels_that_are_no_list_are_refused_with_the_file_named_once(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, quantiles=[[0.0, 1.0], [1.0, 3.0]], levels=[[0.1, 0.9]], y=[1, 2])
    with pytest.raises(InputError, match=r"^\S+a\.npz: 'levels' must have one entry per row, but has shape \(1, 2\)"):
        read_forecasts(path)
