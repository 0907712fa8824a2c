"""`calibrant groups`: what is printed, gates, and wrong columns."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant.cli import main
from group_cases import seeded_example

PROBS, LABELS, FEATURES = seeded_example()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "predictions.csv"
    frame = {"id": [f"r{i}" for i in range(6000)], "y": LABELS, "score": PROBS}
    frame |= {f"x_{name}": values for name, values in FEATURES.items()}
    pl.DataFrame({**frame, "x_empty": [None] * 6000, "patient": np.arange(6000) // 3}).write_csv(path)
    return str(path)


def test_the_groups_are_named_with_their_numbers(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["groups", file, "--features", "x_*"]) == 0
    printed = capsys.readouterr().out
    assert "too low where x_g = 2 and x_h = 1" in " ".join(printed.split())
    assert "+0.190" in printed
    assert "x_empty: all values are missing" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert "\\n" not in printed


def test_json_holds_the_findings(file, capsys):
    assert main(["groups", file, "--features", "x_g,x_h", "--json", "--depth", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"][0]["label"] == "x_g = 2 and x_h = 1"
    assert found["found"][0]["z"] == pytest.approx(13.682642, abs=1e-6)
    assert found["columns"] == ["x_g", "x_h"]


def test_the_gate_fails_if_a_group_is_found(file, capsys):
    assert main(["groups", file, "--features", "x_g,x_h", "--fail-if-found"]) == 1
    assert "groups found" in capsys.readouterr().err
    assert main(["groups", file, "--features", "x_x", "--fail-if-found"]) == 0
    assert "No group was found" in capsys.readouterr().out


def test_all_other_columns_are_features_by_default(file, capsys):
    assert main(["groups", file, "--json", "--cluster", "patient"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"] == ["x_g", "x_h", "x_x"]
    assert set(found["left_out"]) == {"id", "x_empty"}


@pytest.mark.parametrize(
    "options, words",
    [
        (["--features", "x_q"], "has no column 'x_q'. Did you mean"),
        (["--features", "z_*"], "has no column that matches 'z_*'"),
        (["--features", "y,x_g"], "'y' is read as labels, probabilities or weights"),
        (["--cluster", "patent"], "has no column 'patent'. Did you mean 'patient'"),
        (["--alpha", "2"], "alpha must be a number between 0 and 1"),
        (["--features", "x_empty"], "'x_empty': all values are missing"),
    ],
)
def test_mistakes_are_named(file, capsys, options, words):
    assert main(["groups", file, *options]) == 2
    assert words in capsys.readouterr().err
