"""`calibrant groups`: what is printed, gates, and wrong columns."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant.cli import main
from calibrant.groups import GroupBoosting
from calibrant.groups import load as load_groups
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
        (["--features", "y,x_g"], "'y' is read as labels, predictions or weights"),
        (["--cluster", "patent"], "has no column 'patent'. Did you mean 'patient'"),
        (["--alpha", "2"], "alpha must be a number between 0 and 1"),
        (["--features", "x_empty"], "'x_empty': all values are missing"),
    ],
)
def test_mistakes_are_named(file, capsys, options, words):
    assert main(["groups", file, *options]) == 2
    assert words in capsys.readouterr().err


def test_the_fix_of_groups_is_fitted_and_applied(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = ["--label", "y", "--probs", "score"]
    assert main(["fit", file, *read, "--features", "x_g,x_h", "--out", "groups.json"]) == 0
    printed = capsys.readouterr().out
    assert "groups, fitted to 6,000 rows of 2 classes" in printed
    assert "step 1   x_g = 2 and x_h = 1: log-odds" in " ".join(printed.split("\n  "))
    assert main(["apply", file, *read, "--calibrator", "groups.json", "--out", "new.csv"]) == 0
    fixed = GroupBoosting().fit(PROBS, LABELS, features={name: FEATURES[name] for name in ("g", "h")})
    after = fixed.predict_proba(PROBS, features=FEATURES)[:, 1]
    np.testing.assert_allclose(pl.read_csv("new.csv")["calibrated_score"], after, rtol=1e-12)
    assert "fitted on these rows" in capsys.readouterr().err


def test_the_fix_of_groups_keeps_rows_with_missing_probabilities(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = ["--label", "y", "--probs", "score"]
    assert main(["fit", file, *read, "--features", "x_g,x_h"]) == 0
    frame = pl.read_csv(file).with_columns(
        pl.when(pl.int_range(6000) == 3).then(None).otherwise("score").alias("score")
    )
    frame.write_csv("some.csv")
    rest = ["--calibrator", "calibrator.json", "--out", "new.csv"]
    assert main(["apply", "some.csv", *read, *rest, "--drop-missing"]) == 0
    whole = load_groups("calibrator.json").predict_proba(PROBS, features={f"x_{k}": v for k, v in FEATURES.items()})
    after = pl.read_csv("new.csv")["calibrated_score"].to_list()
    assert after[3] is None
    np.testing.assert_allclose(after[4:], whole[4:, 1], rtol=1e-12)
    frame.drop("x_h").fill_null(0.5).write_csv("without.csv")
    assert main(["apply", "without.csv", *read, *rest]) == 2
    assert "x_h" in capsys.readouterr().err


def test_the_fix_of_groups_is_recommended_and_shown(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["recommend", file, "--features", "x_g,x_h", "--candidates", "ts", "--resamples", "99"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Use groups:" in printed
    assert f"calibrant fit {file} --method groups --features x_g,x_h" in printed


@pytest.mark.parametrize(
    "command, words",
    [
        (["fit", "--features", "x_g", "--method", "platt"], "--features is for --method groups"),
        (["fit", "--features", "x_g", "--raw-logits"], "the options are for raw logits"),
        (["fit", "--features", "x_g", "--mean", "score", "--sd", "score"], "the options are for forecasts"),
        (["recommend", "--features", "x_g", "--mean", "score", "--sd", "score"], "for forecasts. Remove it"),
        (["report", "--calibrate", "groups"], "--calibrate groups needs the columns"),
        (["groups", "--features", "x_g", "x_h"], "x_h is not a file but a column"),
    ],
)
def test_what_groups_cannot_be_fixed_for_is_refused(file, capsys, command, words):
    assert main([command[0], file, *command[1:]]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def stations(tmp_path_factory):
    rng, n = np.random.default_rng(0), 1200
    station, lead = rng.choice(["Oslo", "Rome"], n), rng.integers(1, 4, n)
    mean, sd = rng.normal(0, 2, n), rng.uniform(1, 3, n)
    y = mean + sd * (rng.standard_normal(n) + (station == "Oslo") * (lead == 3))
    path = tmp_path_factory.mktemp("stations") / "forecasts.csv"
    pl.DataFrame({"y": y, "mu": mean, "sigma": sd, "station": station, "lead": lead}).write_csv(path)
    return str(path)


def test_groups_of_forecasts_are_named(stations, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    read = ["--label", "y", "--mean", "mu", "--sd", "sigma"]
    assert main(["groups", stations, *read, "--fail-if-found"]) == 1
    printed = capsys.readouterr().out
    assert "Forecasts are too low where station = Oslo and lead = 3" in " ".join(printed.split())
    assert "90% cover" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert main(["groups", stations, *read, "--features", "station,lead", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"] == ["station", "lead"]
    assert found["found"][0]["what"] == "bias"
    assert main(["groups", stations, *read, "--features", "mu"]) == 2
    assert "'mu' is read as labels, predictions or weights" in capsys.readouterr().err


def test_groups_of_forecasts_are_on_the_page(stations, tmp_path, capsys):
    page = tmp_path / "page.html"
    read = ["--label", "y", "--mean", "mu", "--sd", "sigma", "--features", "station,lead"]
    assert main(["report", stations, *read, "--resamples", "99", "--out", str(page)]) == 0
    assert "Forecasts are too low where station = Oslo" in " ".join(capsys.readouterr().out.split())
    assert "Mean place" in page.read_text()
