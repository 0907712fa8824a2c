"""`calibrant fit`, `apply`, `recommend`, `compare` and `report --calibrate` on files of predictive distributions."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import Forecasts, InputError, Normal, Quantiles, Samples
from calibrant.calibrators import load
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, ConformalIntervals
from calibrant.cli import main
from calibrant.io import read_forecasts
from calibrant.metrics import CRPS

LEVELS = (0.1, 0.5, 0.9)
N = 120


def law(kind, mean, sd, rng):
    if kind == "normal":
        return Normal(mean, sd)
    if kind == "quantiles":
        return Quantiles(LEVELS, Normal(mean, sd).quantile(list(LEVELS)))
    return Samples(mean[:, None] + sd[:, None] * rng.normal(size=(len(mean), 8)))


def columns(kind, given):
    if kind == "normal":
        return {"mu": given.loc, "sigma": given.scale}
    if kind == "quantiles":
        return {f"q{level:g}": given.values[:, j] for j, level in enumerate(LEVELS)}
    return {f"draw_{j}": given.draws[:, j] for j in range(8)}


NAMED = {
    "normal": ["--mean", "mu", "--sd", "sigma"],
    "quantiles": ["--quantiles", "q*"],
    "draws": ["--draws", "draw_*"],
}
METHODS = {"normal": "shift-scale", "quantiles": "quantile-shift", "draws": "inflate-moments"}


@pytest.fixture(params=NAMED)
def case(request, tmp_path):
    """Return forecasts that are too low and too narrow, the file that holds them, and the options that read it."""
    rng = np.random.default_rng(6)
    mean, sd = rng.normal(size=N), rng.uniform(0.5, 1.5, N)
    given = law(request.param, mean, sd, rng)
    y = mean + 0.8 + 2 * sd * rng.normal(size=N)
    path = tmp_path / "f.csv"
    pl.DataFrame({"id": np.arange(N), "y": y, **columns(request.param, given)}).write_csv(path)
    return request.param, Forecasts(given, y), path, NAMED[request.param]


def run(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_what_is_fitted_is_saved_applied_and_the_same_as_in_python(case, tmp_path, capsys):
    kind, forecasts, path, options = case
    stored, out = tmp_path / "c.json", tmp_path / "out.csv"
    found = json.loads(run(capsys, "fit", path, "--label", "y", *options, "--out", stored, "--json"))
    assert found["method"] == METHODS[kind]
    assert found["in_sample"]["after"]["crps"]["value"] < found["in_sample"]["before"]["crps"]["value"]
    assert "dim" not in found["learnt"]
    run(capsys, "apply", path, *options, "--calibrator", stored, "--out", out)
    table = pl.read_csv(out)
    expected = columns(kind, FORECAST_CALIBRATORS[METHODS[kind]]().fit(forecasts).apply(forecasts.distribution))
    assert table.columns[-len(expected) :] == [f"calibrated_{name}" for name in expected]
    for name, values in expected.items():
        assert table[f"calibrated_{name}"].to_numpy() == pytest.approx(np.asarray(values))
    before = path.read_text().splitlines()
    assert [line.rsplit(",", len(expected))[0] for line in out.read_text().splitlines()] == before


def test_columns_may_be_replaced_and_tables_be_of_other_kinds(case, tmp_path, capsys):
    kind, _, path, options = case
    stored, out = tmp_path / "c.json", tmp_path / "out.parquet"
    run(capsys, "fit", path, "--label", "y", *options, "--out", stored)
    run(capsys, "apply", path, *options, "--calibrator", stored, "--out", out, "--replace")
    before, after = pl.read_csv(path), pl.read_parquet(out)
    assert after.columns == before.columns
    assert after["y"].to_list() == before["y"].to_list()
    assert after[after.columns[-1]].to_list() != before[before.columns[-1]].to_list()
    found = [
        json.loads(run(capsys, "evaluate", name, "--label", "y", *options, "--resamples", "99", "--json"))
        for name in (path, out)
    ]
    assert found[1]["verdict"]["pvalue"] > found[0]["verdict"]["pvalue"]
    # Of eight members that were moved away from their mean, 8 of 100 sets still show a trend.
    assert found[1]["verdict"]["code"] == "consistent" or kind == "draws"


def test_advice_is_printed_with_the_command_that_follows_it(case, capsys):
    kind, _, path, options = case
    out = run(capsys, "recommend", path, "--label", "y", *options, "--resamples", "99")
    assert out.startswith("Use ")
    assert "90% cover" in out
    assert "calibrant fit" in out
    assert all(option in out.replace("'", "") for option in options), kind


def test_the_page_shows_before_and_after_with_held_out_numbers(case, tmp_path, capsys):
    kind, forecasts, path, options = case
    page = tmp_path / "page.html"
    found = json.loads(
        run(
            capsys,
            *("report", path, "--label", "y", *options, "--calibrate", "auto", "--resamples", "99"),
            *("--out", page, "--json"),
        )
    )
    comparison = found["comparison"]
    entries = {(e["model"], e["metric"]): e["value"] for e in comparison["entries"]}
    # Of ensembles the score that decides what is advised is also the one that is compared.
    key, metric = ("crps-fair", CRPS(ensemble="fair")) if kind == "draws" else ("crps", CRPS())
    assert [key for key in comparison["metrics"] if key.startswith("crps")] == [key]
    assert entries["f.csv", key] == pytest.approx(metric(forecasts))
    advice = found["fix"]["recommendation"]["candidates"][0]
    assert advice["loss"] == pytest.approx(entries["f.csv", key])
    after = next(model for model in comparison["models"] if model != "f.csv")
    assert entries[after, key] < entries["f.csv", key]
    text = page.read_text(encoding="utf-8")
    assert "Before and after the fix" in text
    assert "had seen its value" in text
    assert ("Where the values fall" in text) is (kind != "quantiles")


def test_models_are_compared_row_by_row(case, tmp_path, capsys):
    kind, _, path, options = case
    stored, out = tmp_path / "c.json", tmp_path / "after.csv"
    run(capsys, "fit", path, "--label", "y", *options, "--out", stored)
    run(capsys, "apply", path, *options, "--calibrator", stored, "--out", out, "--replace")
    text = run(capsys, "compare", path, out, "--label", "y", *options)
    assert "crps" in text
    assert "bootstrap" not in text
    found = json.loads(run(capsys, "compare", path, out, "--label", "y", *options, "--id", "id", "--json"))
    score = "crps-fair" if kind == "draws" else "crps"
    entry = next(e for e in found["entries"] if (e["model"], e["metric"]) == ("after", score))
    assert entry["difference"]["is_significant"], kind
    assert main(["compare", str(out), str(path), "--label", "y", *options, "--fail-if-worse-than", "after"]) == 1
    assert "crps" in capsys.readouterr().err


@pytest.mark.parametrize("name", FORECAST_CALIBRATORS)
def test_every_method_is_fitted_and_applied(name, tmp_path, capsys):
    rng = np.random.default_rng(1)
    mean = rng.normal(size=60)
    if name.startswith("inflate"):
        columns, options = {f"draw_{j}": mean + rng.normal(size=60) for j in range(4)}, ["--draws", "draw_*"]
    elif name == "quantile-shift":
        columns, options = {f"q{p}": mean + p for p in (0.25, 0.5, 0.75)}, ["--quantiles", "q*"]
    else:
        columns, options = {"mu": mean, "sigma": rng.uniform(1, 2, 60)}, ["--mean", "mu", "--sd", "sigma"]
    path, stored, out = tmp_path / "f.csv", tmp_path / "c.json", tmp_path / "after.csv"
    pl.DataFrame({"y": mean + 2 * rng.normal(size=60), **columns}).write_csv(path)
    run(capsys, "fit", path, "--label", "y", *options, "--method", name, "--out", stored)
    run(capsys, "apply", path, *options, "--calibrator", stored, "--out", out)
    added = set(pl.read_csv(out).columns) - {"y", *columns}
    assert added
    assert all(column.startswith("calibrated_") for column in added)


@pytest.fixture
def normal(tmp_path):
    rng = np.random.default_rng(7)
    path = tmp_path / "f.csv"
    pl.DataFrame({"y": 3 * rng.standard_t(4, 300), "mu": np.zeros(300), "sigma": np.ones(300)}).write_csv(path)
    return path


def test_laws_that_are_no_longer_normal_are_written_as_moments_and_quantiles(normal, tmp_path, capsys):
    stored, out = tmp_path / "c.json", tmp_path / "out.csv"
    run(capsys, "fit", normal, "--label", "y", *NAMED["normal"], "--method", "student", "--out", stored)
    run(capsys, "apply", normal, *NAMED["normal"], "--calibrator", stored, "--out", out)
    table = pl.read_csv(out)
    assert table.columns[-5:] == [f"calibrated_q{level}" for level in ("0.05", "0.25", "0.5", "0.75", "0.95")]
    assert (table["calibrated_q0.05"] < table["calibrated_q0.95"]).all()
    replaced = ["apply", normal, *NAMED["normal"], "--calibrator", stored, "--out", out, "--replace", "--overwrite"]
    assert main([*map(str, replaced)]) == 2
    assert "a different kind" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("fit", ["--method", "magic"], "magic"),
        ("fit", ["--method", "inflate"], "needs ensembles"),
        ("recommend", ["--score", "brier"], "--score of forecasts must be crps or log"),
        ("recommend", ["--candidates", "quantile-shift"], "needs quantiles"),
        ("report", ["--calibrate", "magic"], "magic"),
        ("report", ["--calibrate", "scale", "--folds", "1"], "--folds"),
    ],
)
def test_mistakes_are_told(normal, tmp_path, capsys, command, options, words):
    out = [] if command == "recommend" else ["--out", str(tmp_path / ("x.json" if command == "fit" else "x.html"))]
    assert main([command, str(normal), "--label", "y", *NAMED["normal"], *options, *out]) == 2
    assert words in capsys.readouterr().err


def test_calibrators_of_classes_and_of_forecasts_are_not_mixed_up(normal, tmp_path, capsys):
    classes, stored = tmp_path / "classes.csv", tmp_path / "c.json"
    classes.write_text("label,proba\n" + "0,0.2\n1,0.7\n0,0.6\n1,0.9\n" * 10)
    run(capsys, "fit", classes, "--out", stored)
    out = ["--calibrator", str(stored), "--out", str(tmp_path / "o.csv")]
    assert main(["apply", str(normal), *NAMED["normal"], *out]) == 2
    assert "was fitted to classes" in capsys.readouterr().err
    run(capsys, "fit", normal, "--label", "y", *NAMED["normal"], "--out", stored)
    assert main(["apply", str(classes), *out]) == 2
    assert "was fitted to forecasts" in capsys.readouterr().err
    assert main(["recommend", str(classes), "--score", "crps"]) == 2
    assert "--score of classes" in capsys.readouterr().err


def test_missing_values_are_left_empty_and_existing_columns_are_not_overwritten(tmp_path, capsys, normal):
    stored, path = tmp_path / "c.json", tmp_path / "new.csv"
    run(capsys, "fit", normal, "--label", "y", *NAMED["normal"], "--out", stored)
    path.write_text("mu,sigma\n1,2\n,2\n3,1\n")
    options = [str(path), *NAMED["normal"], "--calibrator", str(stored), "--out", str(tmp_path / "o.csv")]
    assert main(["apply", *options]) == 2
    assert "values are missing" in capsys.readouterr().err
    assert main(["apply", *options, "--drop-missing"]) == 0
    rows = (tmp_path / "o.csv").read_text().splitlines()
    assert rows[2] == ",2,,"
    assert capsys.readouterr().err.count("nothing is calibrated") == 1
    path.write_text("mu,sigma,calibrated_mu\n1,2,3\n")
    assert main(["apply", *options]) == 2
    assert "already" in capsys.readouterr().err


def test_other_targets_are_not_compared(normal, tmp_path, capsys):
    other = tmp_path / "g.csv"
    pl.read_csv(normal).with_columns(pl.col("y") + 1).write_csv(other)
    assert main(["compare", str(normal), str(other), "--label", "y", *NAMED["normal"]]) == 2
    assert "same targets" in capsys.readouterr().err


def test_rows_of_several_files_are_taken_together(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=90), rng.uniform(1, 2, 90)
    frame = pl.DataFrame({"mu": mean, "sigma": sd, "y": mean + 2 * sd * rng.standard_normal(90), "by": ["a", "b"] * 45})
    frame.write_csv("all.csv")
    frame[:40].write_csv("part-1.csv")
    frame[40:].write_csv("part-2.csv")
    read = ["--label", "y", "--mean", "mu", "--sd", "sigma", "--json"]
    assert main(["evaluate", "all.csv", *read, "--by", "by"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["evaluate", "part-*.csv", *read, "--by", "by"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert parts["metrics"] == whole["metrics"]
    assert parts["groups"] == whole["groups"]
    assert main(["fit", "part-1.csv", "part-2.csv", *read]) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 90


def test_files_of_other_kinds_are_not_taken_together(tmp_path):
    for members in (3, 4):
        np.savez(tmp_path / f"{members}.npz", draws=np.arange(5.0 * members).reshape(5, members), targets=np.zeros(5))
    with pytest.raises(InputError, match="ensembles of 3 members and ensembles of 4 members"):
        read_forecasts([tmp_path / "3.npz", tmp_path / "4.npz"])


@pytest.mark.parametrize("kind", ["normal", "draws", "quantiles"])
def test_archives_are_read_and_written(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    targets = rng.normal(size=80)
    levels = np.array([0.1, 0.5, 0.9])
    arrays = {
        "normal": {"mean": np.zeros(80), "sd": np.ones(80)},
        "draws": {"draws": 2 * rng.standard_normal((80, 6))},
        "quantiles": {"quantiles": np.tile([-2.0, 0.0, 2.0], (80, 1)), "levels": levels},
    }[kind]
    options = {
        "normal": ["--mean", "mean", "--sd", "sd"],
        "draws": ["--draws", "draws"],
        "quantiles": ["--quantiles", "quantiles"],
    }[kind]
    np.savez("old.npz", targets=targets, **arrays)
    assert main(["fit", "old.npz", "--label", "targets", *options]) == 0
    assert main(["apply", "old.npz", *options, "--calibrator", "calibrator.json", "--out", "new.npz"]) == 0
    forecasts = read_forecasts("old.npz")
    after = load("calibrator.json").apply(forecasts.distribution)
    new = np.load("new.npz")
    np.testing.assert_array_equal(new["targets"], targets)
    if kind == "normal":
        np.testing.assert_array_equal(new["calibrated_sd"], after.scale)
    else:
        found = after.draws if kind == "draws" else after.values
        np.testing.assert_array_equal(new[f"calibrated_{kind}"], found)
    assert main(["apply", "old.npz", *options, "--calibrator", "calibrator.json", "--out", "new.csv"]) == 2
    assert "the output must end in .npz" in capsys.readouterr().err


def test_lists_of_draws_stay_lists(tmp_path, monkeypatch):
    """All members of a row in one cell of Parquet: so are the calibrated ones."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((60, 4))
    pl.DataFrame({"draws": draws.tolist(), "y": 2 * rng.standard_normal(60)}).write_parquet("old.parquet")
    assert main(["fit", "old.parquet", "--label", "y", "--draws", "draws"]) == 0
    assert (
        main(["apply", "old.parquet", "--draws", "draws", "--calibrator", "calibrator.json", "--out", "n.parquet"]) == 0
    )
    after = load("calibrator.json").apply(read_forecasts("old.parquet").distribution)
    np.testing.assert_allclose(np.array(pl.read_parquet("n.parquet")["calibrated_draws"].to_list()), after.draws)


def test_an_archive_of_forecasts_without_options_is_hinted_at(tmp_path, capsys):
    np.savez(tmp_path / "old.npz", targets=np.zeros(3), mean=np.zeros(3), sd=np.ones(3))
    assert main(["evaluate", str(tmp_path / "old.npz")]) == 2
    assert "If these are forecasts, name them with --mean mean --sd sd" in capsys.readouterr().err


def test_conformal_intervals_are_written_by_their_ends(normal, tmp_path, capsys):
    file, options = normal, ["--label", "y", *NAMED["normal"]]
    stored, new = tmp_path / "conformal.json", tmp_path / "new.csv"
    assert main(["fit", str(file), *options, "--method", "conformal", "--out", str(stored)]) == 0
    printed = capsys.readouterr().out
    assert "promise to contain 90% of new values" in printed
    assert "271" in printed  # The rank, of 300 rows.
    assert "crps" not in printed
    assert main(["apply", str(file), *options, "--calibrator", str(stored), "--out", str(new)]) == 0
    assert "calibrated_low, calibrated_high" in capsys.readouterr().out
    frame = pl.read_csv(new)
    law = Normal(frame["mu"].to_numpy(), frame["sigma"].to_numpy())
    np.testing.assert_allclose(frame["calibrated_low"], load(stored).interval(law).low)


@pytest.fixture
def halves(tmp_path):
    """Return two files of forecasts that are too narrow, more so in one group, with columns of groups and ratios."""
    rng = np.random.default_rng(12)
    paths = []
    for name in ("old", "new"):
        mean, site = rng.normal(size=400), rng.choice(["a", "b"], 400)
        y = mean + np.where(site == "a", 1.5, 3.0) * rng.normal(size=400)
        paths.append(tmp_path / f"{name}.csv")
        columns = {"site": site, "y": y, "mu": mean, "sigma": np.ones(400), "w": np.exp(mean)}
        pl.DataFrame(columns).write_csv(paths[-1])
    return paths


def test_intervals_of_groups_are_fitted_written_and_tested(halves, tmp_path, capsys):
    (old, new), options = halves, ["--label", "y", *NAMED["normal"]]
    stored, out = tmp_path / "c.json", tmp_path / "out.csv"
    printed = run(
        capsys, "fit", old, *options, "--method", "conformal", "--by", "site", "--level", 0.8, "--out", stored
    )
    assert "80% of new values" in printed
    assert "in each group" in " ".join(printed.split())
    run(capsys, "apply", new, *NAMED["normal"], "--calibrator", stored, "--out", out)
    frame = pl.read_csv(out)
    given = ConformalIntervals(level=0.8).fit(read_forecasts(old, target="y", mean="mu", sd="sigma"), _sites(old))
    law = Normal(frame["mu"].to_numpy(), frame["sigma"].to_numpy())
    np.testing.assert_allclose(frame["calibrated_high"], given.interval(law, frame["site"].to_list()).high)
    found = json.loads(run(capsys, "test", new, *options, "--calibrator", stored, "--json"))
    held = (frame["calibrated_low"] <= frame["y"]) & (frame["y"] <= frame["calibrated_high"])
    assert found["total"]["covered"] == pytest.approx(held.mean())
    assert [part["name"] for part in found["parts"]] == ["a", "b"]
    assert found["pvalue"] > 0.05
    printed = run(capsys, "test", new, *options, "--calibrator", stored)
    assert "The promise is kept in every group" in " ".join(printed.split())


def _sites(path):
    return pl.read_csv(path)["site"].to_list()


def test_a_broken_promise_can_fail_a_gate(halves, tmp_path, capsys):
    (old, new), options = halves, ["--label", "y", *NAMED["normal"]]
    stored, shifted = tmp_path / "c.json", tmp_path / "shifted.csv"
    run(capsys, "fit", old, *options, "--method", "conformal", "--out", stored)
    pl.read_csv(new).with_columns(y=pl.col("y") + 5).write_csv(shifted)
    assert main(["test", str(shifted), *options, "--calibrator", str(stored), "--fail-below", "0.05"]) == 1
    assert "Fewer than promised, beyond chance" in " ".join(capsys.readouterr().out.split())


def test_weighted_intervals_read_their_ratios(halves, tmp_path, capsys):
    (old, new), options = halves, ["--label", "y", *NAMED["normal"]]
    stored, out = tmp_path / "w.json", tmp_path / "out.csv"
    run(capsys, "fit", old, *options, "--method", "conformal-weighted", "--ratio", "w", "--out", stored)
    run(capsys, "apply", new, *NAMED["normal"], "--calibrator", stored, "--out", out)
    frame = pl.read_csv(out)
    law = Normal(frame["mu"].to_numpy(), frame["sigma"].to_numpy())
    np.testing.assert_allclose(frame["calibrated_low"], load(stored).interval(law, frame["w"].to_numpy()).low)
    assert "not tested" in run(capsys, "test", new, *options, "--calibrator", stored)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "student", "--by", "site"], "--by is for conformal intervals of forecasts"),
        (["--level", "0.8"], "but none is named"),
        (["--method", "conformal", "--ratio", "w"], "--ratio is for --method conformal-weighted"),
        (["--method", "conformal-weighted", "--by", "site"], "conformal-weighted takes --ratio"),
        (["--method", "conformal", "--level", "90"], "between 0 and 1"),
        (["--method", "conformal", "--by", "nosuch"], "no column 'nosuch'"),
    ],
)
def test_options_of_intervals_that_do_not_fit_are_refused(halves, capsys, options, words):
    assert main(["fit", str(halves[0]), "--label", "y", *NAMED["normal"], *options]) == 2
    assert words in capsys.readouterr().err


def test_the_same_forecast_for_all_rows_does_not_make_them_those_of_the_fit(tmp_path, capsys):
    rng, stored = np.random.default_rng(0), tmp_path / "c.json"
    for name in ("old.csv", "new.csv"):
        rows = "".join(f"10,2,{y!r}\n" for y in rng.normal(10, 2, 200).tolist())
        (tmp_path / name).write_text(f"mu,sd,y\n{rows}", encoding="utf-8")
    options = ["--label", "y", "--mean", "mu", "--sd", "sd"]
    run(capsys, "fit", tmp_path / "old.csv", *options, "--method", "conformal", "--out", stored)
    assert "by construction" not in run(capsys, "test", tmp_path / "new.csv", *options, "--calibrator", stored)


def test_the_rows_of_the_fit_cannot_test_it(halves, tmp_path, capsys):
    (old, new), options, stored = halves, ["--label", "y", *NAMED["normal"]], tmp_path / "c.json"
    run(capsys, "fit", old, *options, "--method", "conformal", "--out", stored)
    assert main(["test", str(old), *options, "--calibrator", str(stored)]) == 2
    assert "contain the promised share by construction" in capsys.readouterr().err
    run(capsys, "fit", old, *options, "--method", "scale", "--out", stored)
    assert main(["test", str(new), *options, "--calibrator", str(stored)]) == 2
    assert "must be a file of conformal intervals" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["normal", "quantiles", "draws"])
@pytest.mark.parametrize("method", ["conformal", "cqr"])
def test_the_page_judges_intervals(kind, method, tmp_path, capsys):
    """Of columns of quantiles the page was refused; of others it called intervals that kept their promise too wide."""
    rng = np.random.default_rng(6)
    mean, sd = rng.normal(size=N), rng.uniform(0.5, 1.5, N)
    path, page = tmp_path / "f.csv", tmp_path / "page.html"
    given = columns(kind, law(kind, mean, sd, rng))
    pl.DataFrame({"y": mean + 2 * sd * rng.normal(size=N), **given}).write_csv(path)
    printed = run(
        capsys, "report", path, "--label", "y", *NAMED[kind], "--calibrate", method, "--resamples", 99, "--out", page
    )
    assert "of 60 targets that they were not fitted to" in " ".join(printed.split())
    assert printed.count("intervals hold") <= 2  # One verdict, about the forecasts.
    assert "Intervals with a guarantee" in page.read_text(encoding="utf-8")


def test_advice_on_quantiles_shows_the_error_of_evaluate(tmp_path, capsys):
    """At the levels of the columns; between them nothing is known."""
    rng = np.random.default_rng(6)
    mean, sd = rng.normal(size=N), rng.uniform(0.5, 1.5, N)
    path = tmp_path / "f.csv"
    given = columns("quantiles", law("quantiles", mean, sd, rng))
    pl.DataFrame({"y": mean + 2 * sd * rng.normal(size=N), **given}).write_csv(path)
    options = [path, "--label", "y", *NAMED["quantiles"], "--json"]
    judged = json.loads(run(capsys, "evaluate", *options, "--resamples", 99))
    advised = json.loads(run(capsys, "recommend", *options))
    assert advised["candidates"][0]["mace"] == pytest.approx(judged["metrics"]["mace"]["value"])
