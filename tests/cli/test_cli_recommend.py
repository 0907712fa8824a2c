"""`calibrant recommend`."""

import json
import shlex
import typing
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from calibrant import read_predictions, recommend
from calibrant.calibrators import load
from calibrant.cli import main
from calibrant.cli.options.reading import Source
from calibrant.results import as_record
from simulate import calibrated, sharpened


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "over confident.csv"
    p = sharpened(calibrated(n=600, k=3, seed=1), 0.4)
    columns = {f"proba_{c}": p.probs[:, c] for c in range(3)}
    pl.DataFrame(columns | {"label": p.labels}).write_csv(path)
    return path


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_note_is_printed_once_however_many_fits_give_it(tmp_path, capsys):
    """Of reversed probabilities every fold and candidate warns; where one class occurs, only that is said."""
    probs = np.random.default_rng(0).random(200)
    labels = (np.random.default_rng(1).random(200) < 1 - probs).astype(int)
    for name, column in (("reversed", labels), ("one class", 0 * labels)):
        pl.DataFrame({"label": column, "prob": probs}).write_csv(tmp_path / f"{name}.csv")
    _, _, err = run(capsys, "recommend", tmp_path / "reversed.csv", "--resamples", "100")
    notes = err.splitlines()
    assert len(notes) == len(set(notes)) == 2
    assert notes[1].startswith("calibrant: note: the scores point away from the labels")
    _, _, err = run(capsys, "recommend", tmp_path / "one class.csv", "--resamples", "100")
    assert err == "calibrant: note: class 1 never occurs among the labels: little can be said about it.\n"


def test_words_come_first_then_a_table_then_what_to_do(file, capsys):
    code, out, err = run(capsys, "recommend", file, "--keep-argmax", "--resamples", "200")
    assert (code, err) == (0, "")
    assert out.startswith("Use ts: on rows it was not fitted to, the log loss falls from ")
    table = [line.split() for line in out.splitlines()]
    assert ["ts", "*"] in [words[:2] for words in table]
    assert {"identity", "iop-diag", "stack-order"} <= {words[0] for words in table if words}
    assert f"calibrant fit '{file}' --method ts" in out


def test_reasons_name_options_and_not_arguments(file, capsys):
    code, out, _ = run(capsys, "recommend", file, "--candidates", "sms", "--resamples", "50")
    assert code == 0
    assert "With --keep-argmax none would change." in " ".join(out.split())
    assert "keep_argmax" not in out


def test_the_command_to_paste_fits_the_same_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    p = sharpened(calibrated(n=400, k=2, seed=1), 0.4)
    logits = {f"it's {name}": 2 * p.log_probs[:, c] for c, name in enumerate("ab")}
    weights = {"-w": np.ones(400)}
    pl.DataFrame(logits | {"other": 0.5, "my y": np.array(["no", "yes"])[p.labels]} | weights).write_csv("-x y.csv")
    options = ["--label", "my y", "--probs", "it's *", "--classes", "no,yes", "--weight=-w", "--logits"]
    code, out, _ = run(capsys, "recommend", "./-x y.csv", *options, "--resamples", "50", "--candidates", "ts")
    assert code == 0
    words = shlex.split(out.splitlines()[-1])
    assert words == ["calibrant", "fit", "./-x y.csv", "--method", "ts", *options]
    assert run(capsys, *words[1:])[0] == 0
    assert load("calibrator.json").classes_.tolist() == ["no", "yes"]


def test_no_option_is_pasted_that_was_not_given(file, capsys):
    few = ("--candidates", "ts", "--resamples", "50")
    out = run(capsys, "recommend", file, "--keep-argmax", *few, "--quiet")[1]
    assert shlex.split(out.splitlines()[-1]) == ["calibrant", "fit", str(file), "--method", "ts"]
    out = run(capsys, "recommend", file, "--keep-argmax", *few, "--renormalise")[1]
    assert out.endswith("--method ts --renormalise\n")


def test_every_option_for_reading_is_pasted():
    names = {field.name for field in fields(Source)} - {"json", "quiet"}
    kinds = {field.name: field.type for field in fields(Source)}
    given = {name: True if typing.get_args(kinds[name])[0] is bool else "x" for name in names}
    words = Source(**given).as_arguments()
    assert {word[2:].replace("-", "_") for word in words if word.startswith("--")} == names


def test_it_says_when_nothing_helps(tmp_path, capsys):
    p = calibrated(n=400, k=2, seed=0)
    path = tmp_path / "fine.parquet"
    pl.DataFrame({"proba_0": p.probs[:, 0], "proba_1": p.probs[:, 1], "label": p.labels}).write_parquet(path)
    code, out, _ = run(capsys, "recommend", path, "--resamples", "200")
    assert code == 0
    assert out.startswith("Leave the predictions as they are")
    assert "calibrant fit" not in out


def test_json_is_the_result_of_the_function(file, capsys):
    code, out, _ = run(
        capsys, "recommend", file, "--json", "--candidates", "ts", "ts>irm", "--score", "brier", "--folds", "3",
        "--resamples", "50", "--seed", "4",
    )  # fmt: skip
    expected = recommend(
        read_predictions(file), candidates=["ts", "ts>irm"], score="brier", n_folds=3, n_resamples=50, rng=4
    )
    assert code == 0
    assert json.loads(out) == as_record(expected)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--candidates", "tss"], "'tss' is not one"),
        (["--keep-argmax", "--candidates", "vs"], "can change them"),
        (["--folds", "1"], "--folds must be"),
        (["--score", "ece"], "--help"),
    ],
)
def test_what_cannot_be_done_exits_with_2(file, capsys, arguments, words):
    code, out, err = run(capsys, "recommend", file, *arguments)
    assert (code, out) == (2, "")
    assert words in err
