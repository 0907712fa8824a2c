"""The table of `calibrant evaluate`: groups of metrics with their intervals."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant.cli import main
from calibrant.intervals import interval
from calibrant.metrics import METRICS, Accuracy
from calibrant.metrics.measuring import principal_metrics
from simulate import calibrated, sharpened

PREDICTIONS = sharpened(calibrated(n=250, k=3), 0.4)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate") / "p.csv"
    columns = {f"proba_{c}": PREDICTIONS.probs[:, c] for c in range(3)}
    pl.DataFrame(columns | {"label": PREDICTIONS.labels}).write_csv(path)
    return path


def run(capsys, *arguments):
    code = main([*map(str, arguments), "--resamples", "99"])
    return code, *capsys.readouterr()


def rows_of(out):
    """The rows of the table, by metric."""
    return {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}


def test_a_selection_is_shown_in_groups_and_fits_a_narrow_terminal(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, "evaluate", file)
    assert code == 0
    assert set(rows_of(out)) == set(principal_metrics(3))
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines.index("Scores") < lines.index("Calibration error")
    assert lines.index("Calibration error") < lines.index(next(x for x in lines if x.startswith("  kde-ece ")))
    assert f"14 of {len(METRICS)} metrics are shown; --metrics all shows the others" in out
    _, everything, _ = run(capsys, "evaluate", file, "--metrics", "all")
    assert set(rows_of(everything)) == set(METRICS)
    assert all(len(line) <= 80 for line in everything.splitlines())
    assert "…" not in everything


def test_intervals_are_those_of_the_library(file, capsys):
    _, out, _ = run(capsys, "evaluate", file, "--metrics", "accuracy", "rms-debiased", "ece", "mmce")
    rows = rows_of(out)
    assert set(rows) == {"accuracy", "rms-debiased", "ece", "mmce"}
    wilson = interval(PREDICTIONS, Accuracy())
    assert f"{wilson.low:.3g} to {wilson.high:.3g}" in rows["accuracy"]
    debiased = interval(PREDICTIONS, METRICS["rms-debiased"])
    assert f" {debiased.low:.3g} to {debiased.high:.3g} " in rows["rms-debiased"]
    assert rows["ece"].split()[2:4] == ["up", "to"]  # The range if calibrated.
    assert "no interval for ece, mmce, as none has known coverage: chance alone" in " ".join(out.split())
    assert len(rows["mmce"].split()) == 2  # No valid method is known.


def test_the_verdict_and_the_table_say_one_thing_about_chance(file, capsys):
    _, out, _ = run(capsys, "evaluate", file, "--metrics", "rms-debiased", "--json")
    found = json.loads(out)
    verdict, known = found["verdict"], found["intervals"]["rms-debiased"]
    assert known["null"] == [0.0, verdict["detectable"]]
    assert known["expected"] == verdict["expected"]
    _, out, _ = run(capsys, "evaluate", file, "--metrics", "rms-debiased")
    limit = f"up to {verdict['detectable']:.3g}"
    assert f"{limit} in 95 of 100 data sets of this size" in " ".join(out.split())
    assert rows_of(out)["rms-debiased"].endswith(limit)
    assert "if calibrated: 95 of 100 data sets of a calibrated model of this size" in out


def test_too_few_wrong_rows_leave_the_range_by_chance_and_say_so(tmp_path, capsys):
    path = tmp_path / "sure.csv"
    pl.DataFrame({"proba_1": [0.99] * 60 + [0.02] * 60, "label": [1] * 60 + [0] * 60}).write_csv(path)
    _, out, _ = run(capsys, "evaluate", path, "--metrics", "accuracy", "rms-debiased")
    rows = rows_of(out)
    assert rows["accuracy"].split()[1:] == ["1"]
    assert rows["rms-debiased"].split()[2:4] == ["up", "to"]  # The range if calibrated.
    assert "no interval for accuracy, rms-debiased, as none has known coverage: at least 10 wrong rows" in " ".join(
        out.split()
    )
    other = tmp_path / "other.csv"
    pl.DataFrame({"proba_1": [0.98] * 60 + [0.01] * 60, "label": [1] * 60 + [0] * 60}).write_csv(other)
    _, out, _ = run(capsys, "compare", path, other, "--metrics", "nll")
    assert "no interval for the difference in nll: at least 15 wrong rows" in " ".join(out.split())


def test_json_holds_what_is_asked_for_with_intervals_and_what_gates_need(file, capsys):
    code, out, _ = run(capsys, "evaluate", file, "--json", "--metrics", "ece", "accuracy", "--fail-if", "nll>1e-9")
    record = json.loads(out)
    assert code == 1
    assert set(record["metrics"]) == {"accuracy", "nll", "ece"}
    assert record["intervals"]["accuracy"]["method"] == "wilson"
    assert record["intervals"]["ece"]["null"][1] < record["metrics"]["ece"]["value"]
    assert record["settings"]["sections"] == ["metrics", "limits"]
    _, out, _ = run(capsys, "evaluate", file, "--json", "--metrics", "all")
    assert set(json.loads(out)["metrics"]) == set(METRICS)


def test_the_page_as_json_holds_all_sections(file, tmp_path, capsys):
    _, out, _ = run(capsys, "report", file, "--json", "--out", tmp_path / "page.html")
    (record,) = json.loads(out)["assessments"].values()
    assert set(record["metrics"]) == set(METRICS)
    assert record["tests"]["spiegelhalter"]["pvalue"] < 0.05
    assert len(record["classes"]) == record["n_classes"]


@pytest.mark.parametrize("columns, said", [("p", True), ("a,b,c", False)])
def test_the_sum_in_the_brier_score_of_two_classes_is_said(tmp_path, capsys, columns, said):
    row = {"p": "0.7", "a,b,c": "0.2,0.5,0.3"}[columns]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([f"{columns},label", *(f"{row},{label}" for label in [0, 1, 1] * 10)]))
    options = ["--probs", columns, "--metrics", "brier", "--resamples", "39"]
    assert main(["evaluate", str(path), *options]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert ("brier is summed over the classes: for two classes it is twice the score of scikit-learn" in shown) == said


def test_an_unknown_metric_is_refused_before_anything_is_computed(capsys):
    code, _, err = run(capsys, "evaluate", "no-such-file.csv", "--metrics", "eec")
    assert code == 2
    assert "'eec' is not" in err


def test_every_metric_has_a_group():
    groups = {name: metric.about().group for name, metric in METRICS.items()}
    assert groups["brier"] == "Scores"
    assert groups["skce"] == groups["mmce"] == "Kernel calibration error"
    assert groups["kde-ece"] == groups["ece-one-vs-rest"] == "Calibration error"
    assert groups["cox-slope"] == groups["oe-ratio"] == "Clinical measures"


def written(path, probs, labels):
    path.write_text("\n".join(["prob,label", *(f"{p},{y}" for p, y in zip(probs, labels, strict=True))]))
    return path


def folded(out):
    return " ".join(out.split())


def test_of_one_outcome_no_level_and_slope_are_shown(tmp_path, capsys):
    _, out, _ = run(capsys, "evaluate", written(tmp_path / "one.csv", np.linspace(0.2, 0.8, 30), np.ones(30, int)))
    for name in ("cox-slope", "cox-intercept", "in-the-large"):
        assert rows_of(out)[name].split() == [name]
    assert "no value for cox-slope, cox-intercept, in-the-large: all outcomes are alike" in folded(out)


def test_of_separated_outcomes_no_slope_is_shown(tmp_path, capsys):
    _, out, _ = run(capsys, "evaluate", written(tmp_path / "two.csv", np.linspace(0.2, 0.8, 30), np.arange(30) // 15))
    assert [rows_of(out)[name].split() for name in ("cox-slope", "cox-intercept")] == [["cox-slope"], ["cox-intercept"]]
    assert "no value for cox-slope, cox-intercept: a threshold on the predictions separates the outcomes" in folded(out)


def test_two_rows_tell_one_story_of_the_error(tmp_path, capsys):
    _, out, _ = run(capsys, "evaluate", written(tmp_path / "two.csv", np.array([0.7, 0.3]), np.array([1, 0])))
    why = "is 0 whatever is observed, as no two rows share a bin"
    assert f"2 rows are too few to measure the calibration error (root mean square, debiased), which {why}." in folded(
        out
    )
    assert rows_of(out)["rms-debiased"].split()[:2] == ["rms-debiased", "0"]
    assert f"rms-debiased {why}" in folded(out)
    many = written(tmp_path / "many.csv", np.linspace(0.2, 0.8, 40), np.arange(40) % 2)
    assert why not in folded(run(capsys, "evaluate", many)[1])


def test_rows_that_make_the_log_loss_infinite_are_named(tmp_path, capsys):
    probs, labels = np.tile([0.25, 0.75, 0.5, 0.5], 10), np.tile([0, 1, 0, 1], 10)
    probs[[5, 8]] = 0.0, 1.0  # Labels 1 and 0.
    _, out, _ = run(capsys, "evaluate", written(tmp_path / "two.csv", probs, labels))
    assert rows_of(out)["nll"].split() == ["nll", "inf"]
    assert "what was observed in 2 rows was given probability 0 (rows 6, 9, counted from 1)" in folded(out)
    assert "depend on how 2 wrong predictions of 0 or 1 (to within 1e-12) are treated" in folded(out)
    probs[[5, 8]] = 1.0, 0.0  # Certain and right: nothing hangs on them.
    _, out, _ = run(capsys, "evaluate", written(tmp_path / "two.csv", probs, labels))
    assert "treated" not in out
    assert "is infinite" not in out


def test_every_command_says_why_there_is_no_slope(tmp_path, capsys):
    path, other, page = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "page.html"
    rows = np.linspace(0.02, 0.98, 60)
    labels = (rows > 0.5).astype(int)
    path.write_text("\n".join(["proba_1,label,g", *(f"{p},{y},x" for p, y in zip(rows, labels, strict=True))]))
    mixed = np.where(np.arange(60) % 5, rows, 1 - rows)
    other.write_text("\n".join(["proba_1,label,g", *(f"{p},{y},x" for p, y in zip(mixed, labels, strict=True))]))
    words = "no value for cox-slope, cox-intercept: a threshold on the predictions separates the outcomes"
    few = ["--resamples", "19", "--metrics", "cox-slope", "cox-intercept", "in-the-large"]
    for options in ([], ["--by", "g"], ["--engine", "local"]):
        assert main(["evaluate", str(path), *few, *options]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert main(["evaluate", str(path), *few, "--json"]) == 0
    slope = json.loads(capsys.readouterr().out)["metrics"]["cox-slope"]
    assert (slope["value"], slope["details"]) == ("nan", {"separated": True})
    assert main(["evaluate", str(path), *few, "--fail-if", "cox-slope>2"]) == 2
    assert "cannot be judged" in capsys.readouterr().err
    assert main(["report", str(path), str(other), "--resamples", "19", "--quiet", "--out", str(page)]) == 0
    said = (
        "no value for Calibration slope, Calibration intercept: a threshold on the predictions separates the outcomes"
    )
    assert said in page.read_text(encoding="utf-8")
    for rule in ("valid", "percentile"):
        assert main(["compare", str(path), str(other), *few, "--differences", rule]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "no interval for the difference in cox-slope, cox-intercept: one of the two has no value" in shown
        assert "nan" not in shown


def test_of_many_groups_the_first_are_printed(tmp_path, capsys):
    pl.DataFrame({"p": [0.2, 0.7] * 60, "y": [0, 1] * 60, "g": range(120)}).write_csv(tmp_path / "a.csv")
    _, out, _ = run(capsys, "evaluate", tmp_path / "a.csv", "--by", "g", "--metrics", "ece")
    assert "50 of 120 groups are shown; --json has all" in out
    assert len(out.splitlines()) < 80
