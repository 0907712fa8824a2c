"""`calibrant evaluate` on files of predictive distributions."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import Forecasts, Normal, Samples
from calibrant.cli import main
from calibrant.hypotest import TESTS
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
    own = {name: metric for name, metric in FORECAST_METRICS.items() if name != "crps-fair"}  # That is for ensembles.
    assert values == pytest.approx({name: metric(f) for name, metric in own.items()})
    assert main(["evaluate", path, "--label", "y", "--mean", "mu", "--sd", "s"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in own)
    assert "95% interval" in out
    assert "if calibrated" in out


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
    found = set(measured(capsys, str(path), "--draws", "draws"))
    assert found == {"crps", "crps-fair", "sharpness", "skce", "kce", "ucme"}


def grouped(tmp_path):
    rng = np.random.default_rng(4)
    mean, region = rng.normal(size=300), np.repeat(["north", "south", "west"], 100)
    y = mean + np.where(region == "west", 3.0, 1.0) * rng.normal(size=300)
    return write(tmp_path / "a.parquet", {"y": y, "mu": mean, "s": np.ones(300), "region": region})


OPTIONS = ("--label", "y", "--mean", "mu", "--sd", "s", "--by", "region", "--resamples", "99")


def test_every_group_of_forecasts_has_a_verdict(tmp_path, capsys):
    path = grouped(tmp_path)
    assert main(["evaluate", path, *OPTIONS]) == 0
    out = capsys.readouterr().out
    table = out[out.index("group ") :].splitlines()
    assert [line.split()[:2] for line in table[1:2]] == [["west", "100"]]  # The largest error first.
    assert "over-confident" in table[1]
    assert {line.split()[0] for line in table[1:4]} == {"north", "south", "west"}
    assert " ≤0.03 " in table[1]  # Three groups, 99 redraws: 3 / 100.
    assert "p is adjusted for the number of groups (Holm)" in " ".join(out.split())
    assert main(["evaluate", path, *OPTIONS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: group["n_samples"] for name, group in found["groups"].items()} == {
        "north": 100,
        "south": 100,
        "west": 100,
    }
    assert found["adjusted"]["west"] == pytest.approx(3 * found["groups"]["west"]["test"]["pvalue"])
    assert found["groups"]["west"]["test"]["null"] is None


def test_groups_of_forecasts_are_on_the_page(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", grouped(tmp_path), *OPTIONS, "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "1 of 3 with an adjusted p-value" in text
    assert ">west<" in text
    assert "Coverage gap" in text


def test_a_column_of_groups_that_is_not_there_is_told(tmp_path, capsys):
    assert main(["evaluate", grouped(tmp_path), *OPTIONS[:-4], "--by", "regoin"]) == 2
    assert "regoin" in capsys.readouterr().err


def test_rows_left_out_are_left_out_of_the_groups_too(tmp_path, capsys):
    columns = {"y": [0.1, None, 0.3, -0.2], "mu": [0.0] * 4, "s": [1.0] * 4, "region": ["a", "a", "b", "b"]}
    path = write(tmp_path / "a.parquet", columns)
    assert main(["evaluate", path, *OPTIONS, "--drop-missing", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: group["n_samples"] for name, group in found["groups"].items()} == {"a": 1, "b": 2}


def quantile_file(tmp_path, **columns):
    rng = np.random.default_rng(5)
    y = rng.normal(size=120)
    values = {f"q{level}": np.full(120, z) for level, z in (("05", -1.645), ("50", 0.0), ("95", 1.645))}
    return write(tmp_path / "q.parquet", {"y": y, **values, **columns})


def test_columns_of_quantiles_are_evaluated_and_tested(tmp_path, capsys):
    path = quantile_file(tmp_path)
    values = measured(capsys, path, "--quantiles", "q*", "--resamples", "99")
    assert set(values) >= {"pinball", "interval-coverage", "mace"}
    assert main(["test", path, "--quantiles", "q*", "--test", "all", "--resamples", "99", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [name for name, entry in found.items() if "result" in entry] == ["omnibus", "consistency"]
    assert main(["test", path, "--quantiles", "q*", "--test", "skce"]) == 2
    assert "--test skce: it needs whole distributions" in capsys.readouterr().err


def test_quantiles_that_were_not_named_are_hinted_at(tmp_path, capsys):
    assert main(["evaluate", quantile_file(tmp_path), "--label", "y"]) == 2
    assert "--quantiles 'q*'" in capsys.readouterr().err


def test_quantiles_are_on_the_page(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", quantile_file(tmp_path), "--quantiles", "q*", "--resamples", "99", "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Where the values fall" not in text
    assert "Coverage" in text
    assert "Its limits (at least 95%)" in text
    assert "Its 95% limits" not in text


def test_ensembles_are_tested_as_evaluate_judges_them(tmp_path, capsys):
    """The kernel error of 1500 rows of 20 members took minutes; the test of ranks has the p-value of the verdict."""
    rng = np.random.default_rng(0)
    draws = {f"draw_{j}": rng.normal(size=60) for j in range(5)}
    path = tmp_path / "e.csv"
    pl.DataFrame({"y": rng.normal(0, 1.4, 60), **draws}).write_csv(path)
    options = [str(path), "--label", "y", "--draws", "draw_*", "--json", "--seed", "3"]
    assert main(["test", *options]) == 0
    tested = json.loads(capsys.readouterr().out)["omnibus"]["result"]
    assert main(["evaluate", *options]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert tested["pvalue"] == judged["test"]["pvalue"]
    assert tested["statistic"] == judged["test"]["statistic"]


def few_forecasts(tmp_path):
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(40, 6))
    columns = {
        "y": draws[:, 0],
        "mu": np.zeros(40),
        "s": np.ones(40),
        "q25": np.full(40, -0.7),
        "q75": np.full(40, 0.7),
    }
    return write(tmp_path / "a.parquet", columns | {f"m{j}": draws[:, j] for j in range(1, 6)})


OF_CLASSES = {"spiegelhalter", "hosmer-lemeshow", "cox", "ecce", "ecce-range"}


@pytest.mark.parametrize(
    ("kind", "run"),
    [
        (("--mean", "mu", "--sd", "s"), set(TESTS) - OF_CLASSES),
        (("--draws", "m*"), set(TESTS) - OF_CLASSES),
        (("--quantiles", "q*"), {"omnibus", "consistency"}),
    ],
)
def test_all_tests_of_forecasts_say_why_some_cannot_be_applied(tmp_path, capsys, kind, run):
    arguments = ["test", few_forecasts(tmp_path), "--label", "y", *kind, "--resamples", "19"]
    assert main([*arguments, "--test", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == set(TESTS)
    assert {name for name, entry in found.items() if "Tests for them" in entry.get("refused", "")} == set(TESTS) - run
    assert ("result" in found["consistency"]) == ("--draws" not in kind)
    assert main([*arguments, "--json"]) == 0  # The default is one of them.
    assert json.loads(capsys.readouterr().out)["omnibus"]["result"] == found["omnibus"]["result"]


def test_a_test_of_classes_is_refused_for_forecasts_with_the_names_of_the_others(tmp_path, capsys):
    arguments = ["test", few_forecasts(tmp_path), "--label", "y", "--mean", "mu", "--sd", "s", "--test"]
    assert main([*arguments, "cox"]) == 2
    err = capsys.readouterr().err
    assert "--test cox: it tests predictions of classes, but these rows are forecasts." in err
    assert "bug" not in err
    assert main([*arguments, "zzz"]) == 2
    listed = capsys.readouterr().err.split("They are: ")[1].strip().rstrip(".").split(", ")
    assert set(listed) == set(TESTS) - OF_CLASSES
