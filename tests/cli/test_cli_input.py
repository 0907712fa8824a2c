"""Files as people have them: text labels, percentages, holes, several files, answers; and `apply` that adds columns."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import read_predictions
from calibrant.cli import main

RNG = np.random.default_rng(0)
P = RNG.random(120)
Y = (RNG.random(120) < P).astype(int)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = np.where(Y == 1, "yes", "no")
    table = pl.DataFrame({"y": labels, "score": P, "region": ["north", "south"] * 60, "row": range(120)})
    table.write_csv("a.csv")
    table[:50].write_csv("part-1.csv")
    table[50:].write_csv("part-2.csv")
    table.with_columns(score=100 * pl.col("score")).write_csv("percent.csv")
    holes = table.with_columns(score=pl.when(pl.col("row") % 10 == 3).then(None).otherwise(pl.col("score")))
    holes.write_csv("holes.csv")
    answers = [{"confidence": p, "correct": bool(y)} for p, y in zip(P.tolist(), Y, strict=True)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return tmp_path


def run(capsys, *words):
    code = main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def record(capsys, *words):
    code, out, err = run(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out), err


QUICK = ("--metrics", "ece", "--resamples", "99")


def test_a_file_its_parts_and_its_percentages_are_the_same(folder, capsys):
    yes = ("--positive", "yes", *QUICK)
    whole, _ = record(capsys, "evaluate", "a.csv", *yes)
    parts, _ = record(capsys, "evaluate", "part-1.csv", "part-2.csv", *yes)
    pattern, _ = record(capsys, "evaluate", "part-*.csv", *yes)
    percent, _ = record(capsys, "evaluate", "percent.csv", "--percent", *yes)
    answers, _ = record(capsys, "evaluate", "answers.jsonl", *QUICK)
    assert parts["name"] == pattern["name"] == "2 files"
    for found in (parts, pattern, percent, answers):
        assert found["metrics"]["ece"]["value"] == pytest.approx(whole["metrics"]["ece"]["value"], abs=1e-12)
        assert found["n_samples"] == 120


def test_missing_values_are_counted_and_left_out_together_with_their_groups(folder, capsys):
    code, _, err = run(capsys, "evaluate", "holes.csv", "--positive", "yes")
    assert code == 2
    assert "missing in 12 of 120 rows ('score' 12), the first on line 5, column 'score'" in err
    assert "leave these rows out with --drop-missing" in err
    words = ("holes.csv", "--positive", "yes", "--drop-missing", "--by", "region", *QUICK)
    found, err = record(capsys, "evaluate", *words)
    assert "note: values are missing in 12 of 120 rows ('score' 12): these rows are left out" in err
    assert found["n_samples"] == 108
    assert {name: group["n_samples"] for name, group in found["groups"].items()} == {"north": 60, "south": 48}


@pytest.mark.parametrize("command", ["test", "recommend", "fit"])
def test_other_commands_take_several_files(folder, capsys, command):
    code, out, err = run(capsys, command, "part-*.csv", "--positive", "yes")
    assert code == 0, err
    assert "120" in out or command == "test"


def test_report_shows_several_files_side_by_side(folder, capsys):
    found, _ = record(capsys, "report", "part-1.csv", "part-2.csv", "--positive", "yes", "--resamples", "99")
    assert [*found["assessments"]] == ["part-1.csv", "part-2.csv"]
    code, _, err = run(capsys, "report", "part-1.csv", "part-2.csv", "--positive", "yes", "--calibrate", "ts")
    assert code == 2
    assert "--calibrate is for one file, but 2 are named" in err


def test_compare_takes_a_pattern(folder, capsys):
    pl.read_csv("a.csv").with_columns(score=pl.col("score").sqrt()).write_csv("b.csv")
    words = ("--positive", "yes", "--metrics", "nll", "--resamples", "99")
    found, _ = record(capsys, "compare", "[ab].csv", *words, "--cluster", "row")
    assert found["models"] == ["a", "b"]
    same, _ = record(capsys, "compare", "a.csv", "b.csv", *words, "--id", "row")
    assert same["entries"][0]["value"] == found["entries"][0]["value"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_apply_adds_columns_and_keeps_the_originals(folder, capsys, kind):
    frame = pl.read_csv("a.csv")
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](f"in.{kind}")
    assert main(["fit", "a.csv", "--positive", "yes", "--method", "beta", "--out", "c.json"]) == 0
    code, out, err = run(capsys, "apply", f"in.{kind}", "--calibrator", "c.json", "--out", f"out.{kind}")
    assert code == 0, err
    assert "The new columns are calibrated_score." in out
    reading = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[kind]
    after = reading(f"out.{kind}")
    assert after.drop("calibrated_score").equals(frame)
    calibrated = read_predictions(f"out.{kind}", probs="calibrated_score", positive="yes")
    assert main(["apply", f"in.{kind}", "--calibrator", "c.json", "--out", f"other.{kind}", "--replace"]) == 0
    np.testing.assert_array_equal(read_predictions(f"other.{kind}", positive="yes").probs, calibrated.probs)
    code, _, err = run(capsys, "apply", f"out.{kind}", "--calibrator", "c.json", "--out", f"again.{kind}")
    assert code == 2
    assert "already has a column 'calibrated_score'" in err
    assert "with --replace" in err


def test_apply_adds_arrays_to_an_archive(folder, capsys):
    np.savez("in.npz", probs=np.column_stack([1 - P, P]), labels=Y)
    assert main(["fit", "in.npz", "--out", "c.json"]) == 0
    assert main(["apply", "in.npz", "--calibrator", "c.json", "--out", "out.npz"]) == 0
    with np.load("out.npz") as found:
        assert sorted(found) == ["calibrated_probs", "labels", "probs"]
        np.testing.assert_array_equal(found["probs"][:, 1], P)
        assert found["calibrated_probs"].shape == (120, 2)


def test_apply_leaves_rows_with_missing_values_as_they_are(folder, capsys):
    assert main(["fit", "a.csv", "--positive", "yes", "--out", "c.json"]) == 0
    for end in ("csv", "parquet"):
        words = ("apply", "holes.csv", "--calibrator", "c.json", "--out", f"out.{end}")
        assert run(capsys, *words)[0] == 2
        code, _, err = run(capsys, *words, "--drop-missing")
        assert code == 0
        assert "in 12 of 120 rows ('score' 12): nothing is calibrated in these rows" in err
        after = pl.read_csv("out.csv") if end == "csv" else pl.read_parquet("out.parquet")
        assert after["calibrated_score"].is_null().to_list() == after["score"].is_null().to_list()
        assert len(after) == 120


def test_apply_writes_percentages_as_they_were(folder, capsys):
    assert main(["fit", "a.csv", "--positive", "yes", "--out", "c.json"]) == 0
    for name, more in (("a", ()), ("percent", ("--percent",))):
        assert main(["apply", f"{name}.csv", "--calibrator", "c.json", "--out", f"{name}-new.csv", *more]) == 0
    fractions, percentages = (pl.read_csv(f"{n}-new.csv")["calibrated_score"] for n in ("a", "percent"))
    np.testing.assert_allclose(100 * fractions, percentages)
    told = [line for line in capsys.readouterr().out.splitlines() if "new column" in line]
    assert ["in percent as" in line for line in told] == [False, True]
    for name, more in (("a", ()), ("percent", ("--percent",))):
        assert main(["apply", f"{name}.csv", "--calibrator", "c.json", "--out", "new.csv", "--json", *more]) == 0
        assert ('"unit": "percent"' in capsys.readouterr().out) == bool(more)


@pytest.mark.parametrize(
    "words, told",
    [
        (("evaluate",), "at least one FILE is required"),
        (("evaluate", "z*.csv"), "z*.csv matches no file"),
        (("evaluate", "a.csv", "a.csv"), "a.csv is given twice"),
        (("evaluate", "a.csv"), "Name the class whose probability the column holds with --positive"),
        (("evaluate", "a.csv", "--positive", "Yes"), "Did you mean 'yes'?"),
        (("evaluate", "percent.csv", "--positive", "yes"), "Are these percentages? Read them with --percent."),
        (("evaluate", "draws.csv"), "name the draws of the ensemble with --draws 'draw_*'"),
        (("evaluate", "normal.csv"), "name them with --mean mu --sd sigma"),
        (("evaluate", "a.csv", "--lable", "y"), "--label"),
        (("fit", "a.csv", "--method", "sigmod"), "Did you mean 'platt'?"),
        (("fit", "a.csv", "--method", "tempscale"), "Did you mean 'ts'?"),
        (("test", "a.csv", "--positive", "yes", "--test", "coxx"), "Did you mean 'cox'?"),
        (("fit", "a.csv", "--method", "foo"), "There are identity, "),
        (("evaluate", "a.csv", "--positive", "yes", "--resamples", "-3"), "--resamples must be a whole number"),
        (("evaluate", "from1.csv"), "from 1: name columns and classes with --probs p0,p1,p2 and --classes 1,2,3."),
        (("evaluate", "signs.csv"), "signs: name columns and classes with --probs p and --classes=-1,1."),
        (("groups", "a.csv", "--out", "g.html"), "Unknown option: --out. See"),
        (("evaluate", "a.csv", "--fail-if"), "calibrant: --fail-if is given without a value. Add one, or leave"),
        (("evaluate", "a.csv", "--fail-if", "--json"), "--fail-if is given without a value"),
        (("evaluate", "a.csv", "--weight", ""), "--weight is given without a value"),
        (("evaluate", "a.csv", "--weight="), "--weight is given without a value"),
        (("watch", "a.csv", "--reference"), "--reference is given without a value"),
        (("apply", "a.csv"), "calibrant: --out is required. See calibrant apply --help."),
        (("apply", "a.csv", "--out"), "--out requires an argument"),
        (
            ("evaluate", "three.csv", "--probs", "cat", "dog", "emu"),
            "dog is not a file. Separate the names of",
        ),
        (("evaluate", "--probs", "cat", "dog", "emu", "three.csv"), "without spaces: cat,dog,emu."),
        (("evaluate", "three.csv", "--probs", "cat"), "but 3 classes: 'cat', 'dog', 'emu'. Name the columns of all"),
        (("evaluate", "three.csv", "--probs", "cat", "--positive", "cat"), "with --probs, with commas between them."),
        (
            ("compare", "a.csv", "b.csv", "--positive", "yes", "--baseline", "c"),
            ": --baseline must be one of the files, 'a', 'b'",
        ),
        (
            ("compare", "a.csv", "b.csv", "--positive", "yes", "--fail-if-worse-than", "c"),
            "--fail-if-worse-than must be one of the files, 'a', 'b', but is 'c'.",
        ),
        (("evaluate", "weighted.csv", "--weight", "w", "--max-risk", "0.1"), "weighted.csv: a guaranteed error rate"),
        (("evaluate", "weighted.csv", "--weight", "w", "--max-risk", "0.1"), "Leave the weights out, or --max-risk."),
    ],
)
def test_mistakes_are_answered_with_what_was_meant(folder, capsys, words, told):
    (folder / "draws.csv").write_text("y,draw_1,draw_2\n1,2,3\n")
    (folder / "normal.csv").write_text("y,mu,sigma\n1,2,3\n")
    (folder / "from1.csv").write_text("y,p0,p1,p2\n1,0.6,0.2,0.2\n2,0.2,0.6,0.2\n3,0.2,0.2,0.6\n")
    (folder / "signs.csv").write_text("y,p\n1,0.6\n-1,0.2\n")
    (folder / "three.csv").write_text("label,cat,dog,emu\ncat,0.6,0.2,0.2\ndog,0.2,0.6,0.2\nemu,0.2,0.2,0.6\n")
    (folder / "weighted.csv").write_text("y,prob,w\n" + "1,0.7,1\n0,0.4,2\n" * 20)
    (folder / "b.csv").write_bytes((folder / "a.csv").read_bytes())
    code, _, err = run(capsys, *words)
    assert code in (2, 3)
    assert told in err
    assert len(err.splitlines()) == 1


def test_the_advice_on_numbered_classes_can_be_copied(folder, capsys):
    (folder / "from1.csv").write_text("y,p0,p1,p2\n" + "1,0.6,0.2,0.2\n2,0.2,0.6,0.2\n3,0.2,0.2,0.6\n" * 9)
    (folder / "signs.csv").write_text("y,p\n" + "1,0.6\n-1,0.2\n" * 9)
    for file in ("from1.csv", "signs.csv"):
        probs, classes = re.findall(r"--(?:probs|classes)[ =][^ ]*\w", run(capsys, "evaluate", file)[2])
        assert run(capsys, "evaluate", file, *probs.split(), *classes.split(), *QUICK)[0] == 0


LATE = [
    ("evaluate --tolerance -1", "--tolerance must be"),
    ("evaluate --resamples 0", "--resamples must be"),
    ("evaluate --engine local --cost-fp 1 --cost-fn 2", "costs, risks and base rates need rows"),
    ("report --tolerance 2", "--tolerance must be"),
    ("report --calibrate auto --folds 1", "--folds must be at least 2"),
    ("report --engine local --calibrate auto", "--calibrate needs rows"),
    ("report --engine local --max-risk 0.1", "costs, risks and base rates need rows"),
    ("report --features x --max-risk 2", "--max-risk must be"),
    ("report --features x --mean m --sd s --calibrate foo", "'foo' is not one"),
    ("fit --mean m --sd s --method conformal --level 2", "--level must be"),
    ("fit --mean m --sd s --raw-logits", "--raw-logits is for classes"),
    ("fit --features x --level 0.9", "--level is for conformal intervals"),
    ("compare bad2.csv --metrics foo", "'foo' is not"),
    ("compare bad2.csv --baseline foo", "--baseline must be one of the files"),
    ("compare bad2.csv --fail-if-worse-than foo", "--fail-if-worse-than must be one of the files"),
    ("compare bad2.csv --resamples 0", "--resamples must be"),
    ("compare bad2.csv --baseline bad --fail-if-worse-than bad2", "is about the baseline"),
    ("recommend --candidates foo", "'foo' is not one"),
    ("recommend --candidates vs --keep-argmax", "'vs' can change them"),
    ("recommend --folds 1", "--folds must be at least 2"),
    ("recommend --resamples 0", "--resamples must be"),
    ("recommend --mean m --sd s --keep-argmax", "--keep-argmax is for classes"),
    ("recommend --mean m --sd s --candidates foo", "'foo' is not one"),
    ("test --test foo", "--test must be"),
    ("test --kernel foo", "--kernel must be one of"),
    ("test --resamples 0", "--resamples must be"),
]
"""Options that can be refused before a file is read, and what is said of them."""


def test_what_options_alone_tell_is_refused_before_files_are_read(folder, capsys):
    """The files hold no predictions: what is refused later would be refused for that."""
    for name in ("bad.csv", "bad2.csv"):
        (folder / name).write_text("no,predictions\n1,2\n")
    for words, told in LATE:
        command, *more = words.split()
        code, _, err = run(capsys, command, "bad.csv", *more)
        assert (words, code, told in err, len(err.splitlines())) == (words, 2, True, 1), err


@pytest.mark.parametrize("models", [("weighted.csv",), ("a.csv", "weighted.csv")])
def test_weights_and_classes_are_refused_before_predictions_are_judged(folder, capsys, monkeypatch, models):
    def too_late(*_, **__):
        raise AssertionError("predictions were judged first")

    monkeypatch.setattr("calibrant.cli.options.judging.Judging.assess", too_late)
    text = (folder / "a.csv").read_text().splitlines()
    (folder / "a.csv").write_text("\n".join([f"{text[0]},w", *(f"{line},1" for line in text[1:])]))
    (folder / "weighted.csv").write_text(
        "\n".join([f"{text[0]},w", *(f"{line},{i}" for i, line in enumerate(text[1:]))])
    )
    words = ("report", *models, "--positive", "yes", "--weight", "w", "--max-risk", "0.1")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("calibrant: weighted.csv: a guaranteed error rate needs rows of equal weight")


def test_usual_names_of_methods_and_metrics_are_understood(folder, capsys):
    code, out, err = run(capsys, "fit", "a.csv", "--positive", "yes", "--method", "Temperature_Scaling")
    assert code == 0, err
    assert out.splitlines()[1].startswith("ts, fitted to 120 rows")
    found, _ = record(capsys, "evaluate", "a.csv", "--positive", "yes", "--metrics", "log_loss", "--resamples", "99")
    assert [*found["metrics"]] == ["nll"]


def test_files_that_cannot_be_read_have_a_code_of_their_own(folder, capsys):
    """3, as the recipe of gates says, for what is missing, damaged or something else; 2 for what is wrong in rows."""
    Path("bad.parquet").write_bytes(b"PAR1 and nothing behind it PAR1")
    Path("calibrator.json").write_text("no JSON", encoding="utf-8")
    Path("table.parquet").write_bytes(Path("a.csv").read_bytes())
    for words, message in (
        (("evaluate", "bad.parquet"), "cannot be read as Parquet"),
        (("evaluate", "table.parquet"), "its content is CSV"),
        (("apply", "a.csv", "--calibrator", "calibrator.json", "--out", "b.csv"), "cannot be used as a calibrator"),
        (("evaluate", "missing.csv"), "does not exist"),
    ):
        code, _, err = run(capsys, *words)
        assert (code, message in err) == (3, True)
    assert run(capsys, "evaluate", "holes.csv", "--positive", "yes")[0] == 2
    recipe = Path(__file__).parents[2].joinpath("docs", "recipes", "ci-gate.md").read_text(encoding="utf-8")
    assert "3 if a file cannot be read (it is missing, damaged, or not of the type that its name says)" in recipe
