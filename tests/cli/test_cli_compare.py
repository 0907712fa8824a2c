"""`calibrant compare` and the gates."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import read_predictions
from calibrant.assessment.comparison import compare
from calibrant.cli import main
from calibrant.results import as_record
from simulate import calibrated, sharpened

GOOD = calibrated(n=400)


def frame(p):
    columns = {f"proba_{c}": p.probs[:, c] for c in range(p.n_classes)}
    half = np.arange(p.n_samples) % 2
    return pl.DataFrame(columns | {"label": p.labels, "row": np.arange(p.n_samples) + 7, "half": half})


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "good.parquet", tmp_path / "bad.csv"]
    frame(GOOD).write_parquet(paths[0])
    frame(sharpened(GOOD, 0.3)).write_csv(paths[1])
    return paths


def run(capsys, *arguments):
    code = main([*map(str, arguments), "--quiet"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_table_has_values_intervals_and_differences(files, capsys):
    code, out, err = run(capsys, "compare", *files, "--metrics", "nll", "ece", "--resamples", "99")
    assert code == 0
    assert not err
    lines = out.splitlines()
    assert lines[0].split() == ["value", "95%", "interval", "difference", "95%", "interval", "p"]
    assert "difference: minus good" in out
    bad = next(line for line in lines if line.split()[:1] == ["bad"])
    assert "*" in bad
    assert "bootstrap" not in out  # Both have formulas, or no limits.


def test_a_difference_with_one_infinite_limit_has_the_other_in_words(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 400)
    label = (rng.random(400) < p).astype(int)
    never = np.where(np.arange(400) < 3, 1 - label, p)  # Three labels had probability 0.
    paths = [tmp_path / "always.csv", tmp_path / "never.csv"]
    for path, probs in zip(paths, (0.1 + 0.8 * p, never), strict=True):
        pl.DataFrame({"p": probs, "label": label}).write_csv(path)
    for order, side in ((paths, "at least"), (paths[::-1], "at most")):
        _, out, _ = run(capsys, "compare", *order, "--metrics", "nll", "--resamples", "99")
        assert side in out
        assert " to +inf" not in out
        assert "-inf to" not in out


@pytest.mark.parametrize("width", [30, 80, 120])
def test_the_table_fits_the_terminal(files, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    long = files[0].with_name("a model with a name that is far too long for a column.csv")
    frame(GOOD).write_csv(long)
    code, out, _ = run(capsys, "compare", *files, long, "--metrics", "nll", "ece-one-vs-rest", "--resamples", "99")
    assert code == 0
    assert "".join(out.split()).count("".join(long.stem.split())) >= 2  # Not cut, if broken.
    if width >= 80:
        assert max(map(len, out.splitlines())) <= width
        ends = {len(line) for line in out.splitlines() if line.endswith((" p", ".001"))}
        assert len(ends) == 1  # Numbers stand below their headings.


def test_json_is_the_result_of_the_function(files, capsys):
    code, out, _ = run(capsys, "compare", *files, "--metrics", "brier", "--resamples", "50", "--by", "half", "--json")
    models = {path.stem: read_predictions(path) for path in files}
    expected = compare(models, ["brier"], n_resamples=50, by=np.arange(400) % 2, rng=0)
    assert code == 0
    assert json.loads(out)["groups"]["1"] == as_record(expected)["groups"]["1"]
    assert json.loads(out)["entries"] == as_record(expected)["entries"]


def test_percentiles_of_1000_samples_are_given_where_asked(files, capsys):
    code, out, _ = run(capsys, "compare", *files, "--metrics", "ece", "--differences", "percentile", "--json")
    models = {path.stem: read_predictions(path) for path in files}
    expected = compare(models, ["ece"], n_resamples=1000, differences="percentile", rng=0)
    assert code == 0
    assert json.loads(out)["entries"] == as_record(expected)["entries"]
    assert expected.entry("bad", "ece").difference.is_significant
    _, out, _ = run(capsys, "compare", *files, "--metrics", "ece", "--differences", "percentile")
    assert "1,000 bootstrap samples" in " ".join(out.split())
    assert "they contained the true one in" in " ".join(out.split())


def test_rows_in_another_order_are_refused_unless_an_id_names_them(files, capsys):
    shuffled = pl.read_csv(files[1]).sample(fraction=1, shuffle=True, seed=0)
    shuffled.write_csv(files[1])
    code, _, err = run(capsys, "compare", *files, "--metrics", "nll", "--resamples", "9")
    assert code == 2
    assert "same labels in the same order" in err
    assert "the first is row" in err
    code, out, _ = run(capsys, "compare", *files, "--metrics", "nll", "--resamples", "9", "--id", "row")
    assert code == 0
    frame(sharpened(GOOD, 0.3)).write_csv(files[1])
    assert run(capsys, "compare", *files, "--metrics", "nll", "--resamples", "9")[1] == out


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda table: table.with_columns(pl.lit(1).alias("row")), "holds 1 more than once"),
        (lambda table: table.with_columns(pl.col("row") + 1), "the second lacks 7"),
        (
            lambda table: pl.concat([table, table[:1].with_columns(pl.lit(-5).alias("row").cast(pl.Int64))]),
            "the second has further rows",
        ),
    ],
)
def test_ids_that_do_not_match_are_refused(files, capsys, change, words):
    change(pl.read_csv(files[1])).write_csv(files[1])
    code, _, err = run(capsys, "compare", *files, "--metrics", "nll", "--resamples", "9", "--id", "row")
    assert code == 2
    assert words in err


def test_a_worse_model_fails_the_gate_and_a_better_one_passes(files, capsys):
    code, _, err = run(
        capsys, "compare", *files, "--metrics", "nll", "--resamples", "99", "--fail-if-worse-than", "good"
    )
    assert code == 1
    assert "bad is worse than good in nll: by" in err
    code, *_ = run(capsys, "compare", *files, "--metrics", "nll", "--resamples", "99", "--fail-if-worse-than", "bad")
    assert code == 0


def test_conditions_on_metrics_fail_by_exit_code(files, capsys):
    arguments = ["compare", *files, "--metrics", "ece", "nll", "--resamples", "9"]
    code, _, err = run(capsys, *arguments, "--fail-if", "ece>0.15")
    assert code == 1
    assert "bad: ece>0.15, its ece is" in err
    assert "good:" not in err
    assert run(capsys, *arguments, "--fail-if", "ece>0.9", "nll>=99")[0] == 0
    assert run(capsys, "evaluate", files[1], "--resamples", "9", "--fail-if", "accuracy<2")[0] == 1
    assert run(capsys, "evaluate", files[1], "--resamples", "9", "--fail-if", "accuracy<0.01")[0] == 0


@pytest.mark.parametrize("gate", ["ece", "ece>", "eec>0.1", "ece=0.1", "ece>much"])
def test_a_gate_that_cannot_be_read_is_refused_at_once(files, capsys, gate):
    code, out, err = run(capsys, "compare", *files, "--metrics", "ece", "--fail-if", gate)
    assert (code, out) == (2, "")
    assert "--fail-if must" in err


def test_one_file_is_not_enough_and_one_file_twice_neither(files, capsys):
    assert "at least two files" in run(capsys, "compare", files[0])[2]
    assert "given twice" in run(capsys, "compare", files[0], files[0])[2]


def test_all_metrics_are_refused_with_the_reason(capsys):
    assert main(["compare", "a.csv", "b.csv", "--metrics", "all"]) == 2
    assert "all metrics would hide the one that matters" in capsys.readouterr().err
