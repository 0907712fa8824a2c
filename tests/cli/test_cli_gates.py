"""Gates: a condition that cannot be judged never passes in silence."""

import json

import numpy as np
import polars as pl
import pytest

from calibrant import InputError, Predictions
from calibrant.cli import gates, main
from calibrant.results import Compared, Comparison, Difference, Verdict
from naming import each
from simulate import calibrated, sharpened

GOOD = calibrated(n=400, k=2)


def write(path, p, **more):
    columns = {f"proba_{c}": p.probs[:, c] for c in range(p.n_classes)}
    pl.DataFrame(columns | {"label": p.labels} | more).write_csv(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a good model and a bad one, whose rows belong to forty patients in two wards: all wrong in one."""
    monkeypatch.chdir(tmp_path)
    groups = {"patient": np.arange(400) % 40, "ward": np.where(GOOD.predicted == GOOD.labels, "right", "wrong")}
    write("good.csv", GOOD, **groups)
    write("bad.csv", sharpened(GOOD, 0.2), **groups)
    return tmp_path


def run(capsys, *arguments):
    code = main([*arguments, "--resamples", "99", "--quiet"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def judged(capsys, baseline, *options):
    code, _, err = run(capsys, "compare", "good.csv", "bad.csv", "--fail-if-worse-than", baseline, *options)
    return code, err.splitlines()


def test_a_gate_that_nothing_can_judge_is_refused(folder, capsys):
    code, lines = judged(capsys, "good", "--metrics", "rms-debiased", "--cluster", "patient")
    assert code == 2
    assert lines[0].startswith(
        "calibrant: note: whether bad is worse than good in rms-debiased cannot be judged: no limits with "
        "known coverage; they are for independent rows"
    )
    assert "--fail-if-worse-than good cannot be judged by any of these metrics" in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize("baseline, other, expected", [("good", "bad", 1), ("bad", "good", 0)])
def test_what_can_be_judged_decides_and_the_rest_is_noted(folder, capsys, baseline, other, expected):
    code, lines = judged(capsys, baseline, "--metrics", "nll", "ece", "ece-sweep", "--cluster", "patient")
    assert code == expected
    assert f"note: whether {other} is worse than {baseline} in ece, ece-sweep cannot be judged" in lines[0]
    failures = [line for line in lines if "failed" in line]
    assert [line.partition(": by ")[0] for line in failures] == [
        "calibrant: failed: bad is worse than good in nll"
    ] * expected


def test_a_condition_that_failed_is_told_though_the_other_gate_cannot_be_judged(folder, capsys):
    code, lines = judged(capsys, "good", "--metrics", "ece", "--cluster", "patient", "--fail-if", "ece>0.1")
    assert code == 1
    assert "note: whether bad" in lines[0]
    assert "failed: bad: ece>0.1" in lines[1]


def test_metrics_without_a_better_direction_judge_nothing(folder, capsys):
    code, lines = judged(capsys, "good", "--metrics", "cox-slope")
    assert code == 2
    assert "in cox-slope cannot be judged: neither lower nor higher values are better" in lines[0]


def test_without_a_gate_nothing_is_noted(folder, capsys):
    code, _, err = run(capsys, "compare", "good.csv", "bad.csv", "--metrics", "ece", "--cluster", "patient")
    assert (code, err) == (0, "")


def impossible(p):
    """The same predictions, but the first row's label is held impossible."""
    probs = p.probs.copy()
    probs[0] = np.eye(p.n_classes)[1 - p.labels[0]]
    return Predictions(probs, p.labels)


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
class TestInfiniteLogLoss:
    """One row in 400 has a label of probability 0: samples without it, one in three, say nothing of it."""

    @pytest.fixture(autouse=True)
    def files(self, folder):
        write("bad.csv", impossible(GOOD), few=np.arange(400) % 4)
        write("good.csv", GOOD, few=np.arange(400) % 4)

    @pytest.mark.parametrize("options", [(), ("--cluster", "few")])
    def test_is_worse_with_or_without_limits(self, capsys, options):
        code, lines = judged(capsys, "good", "--metrics", "nll", *options)
        assert code == 1
        assert "calibrant: failed: bad is worse than good in nll: by inf" in lines
        assert not any("cannot be judged" in line for line in lines)

    @pytest.mark.parametrize("options", [(), ("--cluster", "few")])
    def test_of_the_baseline_is_passed(self, capsys, options):
        code, lines = judged(capsys, "bad", "--metrics", "nll", *options)
        assert code == 0
        assert not any("cannot be judged" in line for line in lines)

    def test_of_both_cannot_be_judged(self, capsys):
        write("good.csv", impossible(sharpened(GOOD, 0.5)))
        code, lines = judged(capsys, "good", "--metrics", "nll")
        assert code == 2
        assert any("in nll cannot be judged: both values are infinite" in line for line in lines)


@each(
    "better, value, low, worse, can_be_judged",
    [
        ("lower", np.inf, None, True, True),
        ("lower", -np.inf, None, False, True),
        ("higher", -np.inf, None, True, True),
        ("higher", np.inf, None, False, True),
        ("lower", 0.1, None, False, False),
        ("lower", np.nan, np.nan, False, False),
        ("lower", 0.1, 0.05, True, True),
        ("lower", 0.1, -0.05, False, True),
        ("none", np.inf, 0.1, False, False),
    ],
)
def test_a_difference_is_worse_or_not_or_cannot_be_judged(better, value, low, worse, can_be_judged):
    difference = Difference(
        value=value, low=low, high=None if low is None else 0.2, pvalue=1.0, adjusted=1.0,
        is_significant=low is not None and low > 0,
    )  # fmt: skip
    entries = (
        Compared(model="a", metric="m", better=better, value=1.0),
        Compared(model="b", metric="m", better=better, value=1.0, difference=difference),
    )
    comparison = Comparison(
        models=("a", "b"), metrics=("m",), baseline="a", n_samples=1, n_resamples=1, level=0.95, entries=entries
    )
    assert bool(gates.worse_than_baseline(comparison)) == worse
    assert bool(gates.not_judged(comparison)) == gates.is_powerless(comparison) == (not can_be_judged)


@pytest.mark.parametrize(
    "command, gate, words",
    [
        (["evaluate", "good.csv"], "ecee>0.05", "Did you mean 'ece'"),
        (["evaluate", "good.csv"], "EEC>0.05", "Did you mean 'ece'"),
        (["compare", "good.csv", "bad.csv"], "briar>0.05", "Did you mean 'brier'"),
        (["compare", "good.csv", "bad.csv", "--metrics", "nll"], "ece>0.05", "'ece'. Add it to --metrics."),
        (["compare", "good.csv", "bad.csv", "--metrics", "nll", "brier"], "x>0.05", "Metrics: nll, brier."),
        (["evaluate", "good.csv"], "ece>nan", "must end in a number"),
    ],
)
def test_a_gate_with_a_mistake_is_refused_with_the_remedy(folder, capsys, command, gate, words):
    code, out, err = run(capsys, *command, "--fail-if", gate)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err) < 200


def test_a_value_that_is_not_there_fails_no_gate_in_silence():
    for values in ({"skce": np.nan}, {}):
        with pytest.raises(InputError, match=r"--fail-if 'skce>0\.1' cannot be judged"):
            gates.failed(["skce>0.1"], values, "model")
    assert gates.failed(["skce>0.1", "ece>0.1"], {"ece": 0.2}, "model") == ["model: ece>0.1, its ece is 0.2"]


def test_gates_are_about_all_rows_and_help_says_so(folder, capsys):
    gate = ("--by", "ward", "--fail-if", "accuracy<0.1")
    code, out, _ = run(capsys, "evaluate", "good.csv", *gate, "--json")
    assert code == 0
    assert json.loads(out)["groups"]["wrong"]["metrics"]["accuracy"]["value"] == 0
    assert run(capsys, "compare", "good.csv", "bad.csv", "--metrics", "accuracy", *gate)[0] == 0
    for command, count in (("evaluate", 1), ("compare", 2)):
        assert main([command, "--help"]) == 0
        text = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert text.count("regardless of --by") == count


def test_the_table_says_what_was_resampled(folder, capsys):
    def said(*more):
        return " ".join(run(capsys, "compare", "good.csv", "bad.csv", "--metrics", *more)[1].split())

    assert "; intervals by formulas for paired rows;" in said("nll")
    assert "; intervals by formulas for paired rows, of resolution by 99 bootstrap samples of rows;" in said(
        "nll", "resolution"
    )
    assert "; intervals by 99 bootstrap samples of rows;" in said("nll", "--differences", "percentile")
    out = said("nll", "--cluster", "patient", "--by", "ward")
    assert out.count("; intervals by formulas for paired clusters;") == 3
    assert "paired rows" not in out


def test_the_gate_of_the_tolerance_needs_proof(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write("many.csv", calibrated(n=6000, k=2))
    write("few.csv", GOOD)
    write("sharp.csv", sharpened(GOOD, 0.2))
    gate = ("--tolerance", "0.04", "--fail-unless-within", "--metrics", "nll")
    assert run(capsys, "evaluate", "many.csv", *gate)[0] == 0
    code, out, err = run(capsys, "evaluate", "few.csv", *gate)
    assert code == 1  # Consistent with calibration, but 400 rows prove nothing.
    assert "Consistent with calibration" in out
    assert err.startswith("calibrant: failed: few.csv: not shown to be calibrated to within 0.04, its error is ")
    code, _, err = run(capsys, "evaluate", "sharp.csv", *gate)
    assert code == 1
    assert "revealed by the slope (too extreme)" in err
    assert run(capsys, "evaluate", "few.csv", "--tolerance", "2", "--metrics", "nll")[0] == 2


def test_the_tolerance_is_in_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write("few.csv", GOOD)
    verdict = json.loads(run(capsys, "evaluate", "few.csv", "--tolerance", "0.04", "--json")[1])["verdict"]
    assert verdict["tolerance"] == 0.04
    assert verdict["low"] <= verdict["error"] <= verdict["high"]
    assert verdict["size"] == "not known"


def test_an_error_without_limits_fails_the_gate_and_says_why():
    numbers = {"error": 0.0, "expected": 0.0, "detectable": 0.0, "gap": 0.0, "pvalue": 0.5, "level": 0.05}
    few = Verdict(code="consistent", headline="", explanation="", reason="there are too few rows", **numbers)
    assert gates.not_within(few, "m") == [
        "m: not shown to be calibrated to within 0.02, its error is 0; it has no limits, as there are too few rows"
    ]
