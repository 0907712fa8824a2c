"""Forecasts that cannot be read: one clear line that says where and what to do."""

import numpy as np
import polars as pl
import pytest

from calibrant import InputError
from calibrant.io import limits, read_forecasts
from forecast_cases import ENSEMBLE, NORMAL, TARGETS, WRITERS, archived, failure, write

TROUBLE = {
    "negative sd": ("1,2,3,1\n1,2,-.5,1\n", "sd must be positive and not below 1e-75, but line 3, column 's' is -0.5"),
    "zero sd": ("1,2,3,1\n\n1,2,0,1\n", "sd must be positive and not below 1e-75, but line 4, column 's' is 0 "),
    "nan sd": ("1,2,nan,1\n", "missing in 1 of 1 rows ('s' 1), the first on line 2, column 's'"),
    "nan mean": ("1,2,3,1\n1,NaN,3,1\n", "missing in 1 of 2 rows ('m' 1), the first on line 3, column 'm'"),
    "infinite target": ("1,2,3,1\n-inf,2,3,1\n", "targets must be finite, but line 3, column 't' is -inf"),
    "negative weight": ("1,2,3,1\n1,2,3,-1\n", "weights must be finite and not negative, but line 3, column 'w' is -1"),
    "empty cell": ("1,2,3,1\n1,,3,1\n", "the first on line 3, column 'm'. Fill them in, or"),
    "text": ("1,2,3,1\nlow,2,3,1\n", "line 3, column 't': 'low' is not a number"),
    "decimal comma": ("1,2,3,1\n'1,5',2,3,1\n".replace("'", '"'), "line 3, column 't': '1,5' is not a number. Use a"),
    "short row": ("1,2,3,1\n1,2\n", "line 3: the row has 2 fields, but the header names 4 columns"),
    "no rows": ("", "has columns but no rows"),
    "huge": ("1,1e80,3,1\n", "mean must not exceed 1e+75 in absolute value, but line 2, column 'm' is 1e+80"),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_trouble_in_text_is_told_with_its_line_and_column(tmp_path, case):
    rows, expected = TROUBLE[case]
    message = failure(tmp_path / "a.csv", "t,m,s,w\n" + rows, target="t", mean="m", sd="s", weight="w")
    assert expected in message


def test_trouble_in_draws_is_told_with_its_line_and_column(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "BLOCK_BYTES", 16)
    rows = "".join(f"{i},{i},{i},{i}\n" for i in range(50))
    header = "draw_10,y,draw_2,draw_1\n"
    bad = header + rows.replace("\n40,40,40,", "\n40,40,nan,")
    assert "the first on line 42, column 'draw_2'" in failure(tmp_path / "a.csv", bad)
    bad = header + rows.replace("\n40,40,40,", "\nx,40,40,")
    assert "line 42, column 'draw_10': 'x' is not a number" in failure(tmp_path / "a.csv", bad)
    assert read_forecasts(write(tmp_path, header + rows)).targets.tolist() == list(range(50))


COLUMNAR_TROUBLE = {
    "negative sd": ({"y": [1, 1], "mu": [1, 1], "sd": [1, -1]}, "sd must be positive", "row 1, column 'sd' is -1"),
    "missing": ({"y": [1, None], "mu": [1, 1], "sd": [1, 1]}, "the first on row 1, column 'y'", ""),
    "text": ({"y": ["1"], "mu": [1], "sd": [1]}, "column 'y' must hold numbers, but its type is String", ""),
    "a list for a number": ({"y": [1], "mu": [[1]], "sd": [1]}, "column 'mu' must hold numbers", "List(Int64)"),
    "lists of lists": ({"y": [1], "samples": [[[1.0]]]}, "no forecasts", "Columns found: 'y', 'samples'"),
    "lists of text": ({"y": [1], "draws": [["x"]]}, "column 'draws' must hold numbers", ""),
    "ragged": ({"y": [1, 1], "draws": [[1.0, 2.0], [1.0]]}, "row 1, column 'draws': every cell", "holds 1"),
    "missing draw": ({"y": [1, 1], "draws": [[1.0, 2.0], [1.0, None]]}, "the first on row 1, column 'draws'", ""),
    "nan draw": ({"y": [1, 1], "draws": [[1, 2], [1, np.nan]]}, "the first on row 1, column 'draws'", ""),
    "no rows": ({"y": [], "mu": [], "sd": []}, "no rows", ""),
}


@pytest.mark.parametrize("case", COLUMNAR_TROUBLE)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_trouble_in_columnar_files_is_told_with_its_row(tmp_path, kind, case):
    data, *expected = COLUMNAR_TROUBLE[case]
    WRITERS[f"a.{kind}"](
        tmp_path / f"a.{kind}", {name: pl.Series(values, strict=False) for name, values in data.items()}
    )
    message = failure(tmp_path / f"a.{kind}")
    assert all(part in message for part in expected), message


ARRAY_TROUBLE = {
    "negative sd": ({"y": [1, 1], "mu": [1, 1], "sd": [1, -1]}, "sd must be positive and not below 1e-75, but row 1"),
    "lengths of parameters": ({"y": [1, 1], "mu": [1, 1], "sd": [1, 2, 3]}, "mean and sd must have equal lengths"),
    "lengths": ({"y": [1, 1], "draws": [[1, 2]] * 3}, "there are 2 targets and 3 rows"),
    "shape": ({"y": [1, 1], "draws": [1, 2]}, "draws must have the shape (n, m) or (n, m, d)"),
    "coordinates": ({"y": [1], "draws": [[[1, 2]]]}, "targets must have 2 coordinates per row"),
    "nan": (
        {"y": [1], "draws": [[[1, np.nan]]]},
        "missing in 1 of 1 rows ('draws' 1)",
    ),
    "text": ({"y": ["a"], "draws": [[1, 2]]}, "targets must hold numbers, but holds 'a'"),
    "several matrices": ({"y": [1], "draw_0": [1], "draw_1": [[2]]}, "'draw_1' must have one entry per row"),
    "several quantiles": ({"y": [1], "q5": [1], "q95": [[2]]}, "must be the only one: name it alone with quantiles=."),
    "several lengths": ({"y": [1], "draw_0": [1], "draw_1": [1, 2]}, "'draw_1' must have one entry per row"),
}


@pytest.mark.parametrize("case", ARRAY_TROUBLE)
def test_trouble_in_arrays_is_told(tmp_path, case):
    data, expected = ARRAY_TROUBLE[case]
    archived(tmp_path / "a.npz", data)
    assert expected in failure(tmp_path / "a.npz")


def test_a_column_of_whole_rows_beside_others_is_named_as_the_reader_names_it(tmp_path):
    table = {"y": [1.0], "q5": [[0.5, 1.5]], "q95": [[2.0, 3.0]]}
    pl.DataFrame(table).write_parquet(tmp_path / "a.parquet")
    assert "Name it alone with quantiles=." in failure(tmp_path / "a.parquet", quantiles=["q5", "q95"])


def test_missing_columns_are_told_with_close_names(tmp_path):
    path = write(tmp_path, "truth,centre,spread,draw_0\n1,2,3,4\n")
    assert "no column named target or targets or y or" in failure(path)
    assert "Name the right one with target=" in failure(path)
    for options, expected in [
        ({"target": "trut"}, "no column 'trut'. Did you mean 'truth'? Columns found: 'truth', 'centre', 'spread'"),
        ({"target": "truth", "mean": "center"}, "no column 'center'. Did you mean 'centre'?"),
        ({"target": "truth", "mean": "centre", "sd": "sprad"}, "no column 'sprad'. Did you mean 'spread'?"),
        ({"target": "truth", "draws": "draw0"}, "no column 'draw0'. Did you mean 'draw_0'?"),
        ({"target": "truth", "draws": "member_*"}, "no column that matches 'member_*'"),
        ({"target": "truth", "weight": "w"}, "no column 'w'"),
        ({"target": "truth", "sd": "spread"}, "no column named mean or mu"),
        ({"target": "truth", "mean": "centre"}, "no column named sd or std"),
        ({"target": "truth", "mean": "centre"}, "Name the right one with sd=. If an ensemble is meant, name its draws"),
    ]:
        assert expected in failure(path, **options)


def test_a_file_without_forecasts_is_refused_with_what_to_pass(tmp_path):
    message = failure(tmp_path / "a.csv", "y,low,high,sd,sample_id,draws\n1,0,2,1,17,5\n")
    assert "neither a column of means (mean, mu, loc, prediction, y_pred), nor numbered columns of draws" in message
    assert "Columns found: 'y', 'low', 'high', 'sd', 'sample_id', 'draws'." in message
    assert "with mean= and sd=, the draws of an ensemble with draws=, or quantiles with quantiles=." in message


@pytest.mark.parametrize("name", ["var", "variance"])
def test_a_variance_is_never_taken_for_a_standard_deviation(tmp_path, name):
    text = f"y,mean,{name}\n1,2,4\n"
    assert f"has a column '{name}' but no standard deviation" in failure(tmp_path / "a.csv", text)
    assert "Write the square root of the variance in a column sd" in failure(tmp_path / "a.csv", text, mean="mean")
    assert read_forecasts(write(tmp_path, f"y,mean,{name},sd\n1,2,4,3\n")).distribution.scale.tolist() == [3]
    assert read_forecasts(write(tmp_path, text), sd=name).distribution.scale.tolist() == [4]


def test_contradictions_are_refused_before_the_file_is_opened():
    for options in ({"mean": "m"}, {"sd": "s"}, {"mean": "m", "sd": "s"}):
        with pytest.raises(InputError, match="mean= and sd= are for normal forecasts, draws= is for ensembles"):
            read_forecasts("missing.csv", draws="draw_*", **options)
    for draws in ([], [0, 1]):
        with pytest.raises(TypeError, match=r"draws must be a column name, a pattern such as 'draw_\*', or a list"):
            read_forecasts("missing.csv", draws=draws)
    with pytest.raises(TypeError, match="target must be the name of a column, not 3"):
        read_forecasts("missing.csv", target=3)
    with pytest.raises(FileNotFoundError, match=r"missing.csv does not exist"):
        read_forecasts("missing.csv")


def test_a_column_has_one_role(tmp_path):
    path = write(tmp_path, "y,mean,sd,draw_0\n1,2,3,4\n")
    for options, words in [
        ({"target": "mean", "mean": "mean"}, "'mean' is used for target= and for mean=. Name another column for one"),
        ({"mean": "sd", "sd": "sd"}, "'sd' is used for mean= and for sd="),
        ({"sd": "sd", "weight": "sd"}, "'sd' is used for weight= and for sd="),
        ({"draws": ["y", "draw_0"], "target": "y"}, "'y' is used for target= and for draws="),
        ({"draws": ["mean", "me*n"]}, "the column 'mean' is named twice with draws=. Name it once"),
    ]:
        assert words in failure(path, **options)
    table = pl.DataFrame({"y": [1], "draw_0": [[1.0, 2.0]], "draw_1": [1.0]})
    table.write_parquet(tmp_path / "a.parquet")
    assert "column 'draw_0' holds all draws of a row in each cell" in failure(tmp_path / "a.parquet")


def test_more_numbers_than_the_limit_are_refused(tmp_path, monkeypatch):
    long = {name: values * 40 for name, values in ENSEMBLE.items()}
    for name in WRITERS:
        WRITERS[name](tmp_path / name, long)
    pl.DataFrame({"y": TARGETS, "draws": [[0.0] * 200] * 3}).write_ipc_stream(tmp_path / "lists.arrow")
    monkeypatch.setattr(limits, "MAX_BYTES", 2500)  # The draws have 120 * 3 * 8 = 2880 bytes.
    monkeypatch.setattr("calibrant.io.delimited.MOST_BYTES", 0)  # Smaller tables never have as many numbers.
    for path in tmp_path.iterdir():
        assert "GiB" in failure(path)


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith("sv")])
@pytest.mark.parametrize("columns", [NORMAL, ENSEMBLE], ids=["normal", "ensemble"])
def test_damaged_files_give_one_clear_line_or_a_valid_result(tmp_path, name, columns):
    path = tmp_path / name
    WRITERS[name](path, columns)
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    refused = []
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
        path.write_bytes(content[: int(rng.integers(len(content)))] if rng.random() < 0.3 else content)
        try:
            f = read_forecasts(path)
            assert np.isfinite(f.targets).all()
            assert np.isfinite(f.distribution.mean()).all()
        except (InputError, OSError) as error:
            refused.append(str(error))
    assert len(refused) > 10
    assert all(message.isprintable() for message in refused)


def test_hostile_names_are_shown_harmlessly(tmp_path):
    path = tmp_path / "new\nline.csv"
    red = "\x1b[31m"
    assert rf"column '{red}s' is -1".replace(red, r"\x1b[31m") in failure(path, f"y,mu,{red}s\n1,2,-1\n", sd=f"{red}s")
