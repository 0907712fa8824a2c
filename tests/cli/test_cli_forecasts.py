"""`calibrant evaluate` on files of predictive distributions."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import Forecasts, Normal, Samples
from calibrant.cli import main
from calibrant.metrics import FORECAST_METRICS


def write(path, columns):
    pl.DataFrame(columns).write_parquet(path)
    return str(path)


def measured(capsys, *arguments):
    assert main(["evaluate", *arguments, "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    return {name: estimate["value"] for name, estimate in metrics.items()}


def test_every_measure_of_normal_forecasts_is_printed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=40), rng.uniform(1, 2, 40)
    columns = {"y": mean + sd * rng.normal(size=40), "mu": mean, "s": sd}
    path = write(tmp_path / "a.parquet", columns)
    f = Forecasts(Normal(mean, sd), columns["y"])
    values = measured(capsys, path, "--label", "y", "--mean", "mu", "--sd", "s")
    assert values == pytest.approx({name: metric(f) for name, metric in FORECAST_METRICS.items()})
    assert main(["evaluate", path, "--label", "y", "--mean", "mu", "--sd", "s"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in FORECAST_METRICS)


def test_ensembles_are_measured_by_all_but_the_log_score(tmp_path, capsys):
    draws = np.random.default_rng(1).normal(size=(30, 6))
    columns = {"y": draws[:, 0]} | {f"draw_{j}": draws[:, j] for j in range(1, 6)}
    values = measured(capsys, write(tmp_path / "a.parquet", columns), "--draws", "draw_*")
    assert set(FORECAST_METRICS) - set(values) == {"log-score"}
    assert values["crps"] == pytest.approx(FORECAST_METRICS["crps"](Forecasts(Samples(draws[:, 1:]), draws[:, 0])))


def test_vectors_are_measured_by_what_suits_them(tmp_path, capsys):
    rng = np.random.default_rng(2)
    path = tmp_path / "a.npz"
    np.savez(path, y=rng.normal(size=(20, 2)), draws=rng.normal(size=(20, 5, 2)))
    assert set(measured(capsys, str(path), "--draws", "draws")) == {"crps", "sharpness", "skce", "kce", "ucme"}


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_groups_of_forecasts_are_refused_and_not_ignored(tmp_path, capsys, command):
    columns = {"y": [0.0, 1.0], "mu": [0.0, 1.0], "s": [1.0, 1.0], "region": ["a", "b"]}
    path = write(tmp_path / "a.parquet", columns)
    assert main([command, path, "--label", "y", "--mean", "mu", "--sd", "s", "--by", "region"]) == 2
    found = capsys.readouterr()
    assert "--by" in found.err
    assert "are for class predictions" in found.err.replace("--by is for", "--by are for")
    assert found.out == ""
