"""Warnings name the user's line, from wherever in the library they come."""

import re
from pathlib import Path

import numpy as np
import pytest

import calibrant
from calibrant import DataWarning, Predictions
from calibrant.io import read_predictions
from calibrant.kernels import TotalVariation, median_distance


def read_missing(folder):
    file = folder / "missing.csv"
    file.write_text("p,y\n0.5,1\n,0\n0.4,0\n")
    return read_predictions(file, drop_missing=True)


def read_two_columns(folder):
    file = folder / "calibrated.csv"
    file.write_text("p_0,p_1,calibrated_p_0,calibrated_p_1,y\n0.5,0.5,0.4,0.6,1\n0.3,0.7,0.2,0.8,0\n")
    return read_predictions(file)


CASES = {
    "a container": lambda _: Predictions.from_logits([[0.2, 0.8], [0.7, 0.3]], [1, 0]),
    "rows left out": read_missing,
    "two sets of columns": read_two_columns,
    "equal predictions": lambda _: median_distance(TotalVariation(), np.full((6, 2), 0.5)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_warning_names_the_line_of_the_caller(name, tmp_path):
    with pytest.warns(DataWarning) as caught:
        CASES[name](tmp_path)
    assert [one.filename for one in caught] == [__file__] * len(caught)


def test_no_module_counts_the_calls_in_between_itself():
    source = Path(calibrant.__file__).parent
    guessed = [file for file in source.rglob("*.py") if re.search(r"stacklevel=\d", file.read_text())]
    assert guessed == []
