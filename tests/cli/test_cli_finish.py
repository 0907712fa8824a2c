"""Every command as a user meets it: help, width, pipes, other locales, JSON, progress and mistakes."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from calibrant.cli import main
from calibrant.cli.application import COMMANDS, application
from calibrant.cli.printing import show
from experiment_cases import CONFIG, write_logits
from naming import each

WORDS = ("ash", "birch", "cedar")
FEW = ("--resamples", "9")

CASES = {
    "evaluate": ["evaluate", "p.csv", "--by", "region", *FEW],
    "test": ["test", "p.csv", "--test", "consistency", "spiegelhalter", *FEW],
    "groups": ["groups", "p.csv", "--features", "region", "--least-rows", "15"],
    "compare": ["compare", "p.csv", "q.csv", "--metrics", "nll", "ece", "--resamples", "30"],
    "recommend": ["recommend", "p.csv", "--candidates", "ts", "vs", "--resamples", "30"],
    "fit": ["fit", "p.csv", "--method", "ts>irm"],
    "apply": ["apply", "q.csv", "--calibrator", "ts.json", "--out", "new.csv"],
    "report": ["report", "p.csv", "--calibrate", "ts", *FEW],
    "sketch": ["sketch", "p.csv", "--out", "p.sketch"],
    "watch": ["watch", "days"],
    "experiment run": ["experiment", "run", "two.toml", "--out", "two"],
    "experiment status": ["experiment", "status", "two"],
    "experiment show": ["experiment", "show", "two"],
    "selfcheck": ["selfcheck"],
    "completion": ["completion", "bash"],
}
"""A small run of each command."""

LONG = {"demo"}
"""Commands that take a minute; tests of their own run them."""

SCRIPTS = {"completion"}
"""Commands whose output is a program, which has no other form and no width."""

AT_ONCE = {"completion", "experiment status", "experiment show"}
"""Commands that are never at work for a second."""


def leaves():
    """Return the names of all commands, with those of their sub-commands."""
    found = []
    app = application()
    for name in COMMANDS:
        inner = [key for key in app[name] if not key.startswith("-")]
        found += [f"{name} {key}" for key in inner] or [name]
    return found


LEAVES = leaves()
QUICK = [name for name in LEAVES if name not in LONG]


def test_every_command_has_a_case():
    assert set(LEAVES) == set(CASES) | LONG


def probabilities(n, seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probs, (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def write_table(path, words=WORDS, *, n=60, power=1.0, groups=("north", "south")):
    """Write predictions of three classes, sharpened by a power."""
    probs, labels = probabilities(n, 0)
    probs = probs**power / (probs**power).sum(axis=1, keepdims=True)
    rows = [
        f"{','.join(f'{v:.9f}' for v in row)},{words[y]},{groups[i % len(groups)]}"
        for i, (row, y) in enumerate(zip(probs, labels, strict=True))
    ]
    head = ",".join([*(f"proba_{word}" for word in words), "label", "region"])
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the cases name."""
    where = tmp_path_factory.mktemp("commands")
    write_table(where / "p.csv")
    write_table(where / "q.csv", power=2.0)
    write_logits(where / "logits")
    (where / "two.toml").write_text(CONFIG.format(seeds="[0]", folder="logits"), encoding="utf-8")
    (where / "days").mkdir()
    (where / "empty.csv").touch()
    (where / "bytes.csv").write_bytes(bytes(range(256)) * 20)
    here = Path.cwd()
    os.chdir(where)
    try:
        days = [["sketch", name, "--out", f"days/{day}.sketch"] for day, name in enumerate(["p.csv", "q.csv"])]
        for arguments in (CASES["experiment run"], ["fit", "p.csv", "--out", "ts.json"], *days):
            assert main([*arguments, "--quiet", "--json"]) == 0
    finally:
        os.chdir(here)
    return where


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Return a function that runs a command in the folder and returns its code, output and errors."""
    monkeypatch.chdir(folder)

    def command(*arguments, columns=80):
        capsys.readouterr()
        monkeypatch.setenv("COLUMNS", str(columns))
        code = main([*arguments])
        return code, *capsys.readouterr()

    return command


def process(*arguments, folder, shell="PYTHON", **environment):
    """Run Python as a process of its own, in a shell whose words are put around it."""
    words = ["bash", "-c", shell.replace("PYTHON", f"{sys.executable} {shlex.join(arguments)}")]
    return subprocess.run(
        words, capture_output=True, check=False, timeout=60, cwd=folder, env={**os.environ, **environment}
    )


# Help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("name", ["", "experiment", *LEAVES])
def test_help_has_a_sentence_an_example_groups_and_options_that_are_spelt_alike(name, columns, run):
    code, out, err = run(*name.split(), "--help", columns=columns)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0].startswith(f"Usage: calibrant {name}".rstrip())
    sentence = out.split("\n\n")[1]
    assert (sentence[0].isupper(), sentence.rstrip()[-1]) == (True, ".")
    assert f"  calibrant {name}".rstrip() in out[out.index("For example:") :]
    assert "─ Parameters ─" not in out
    assert "[default: ()]" not in out
    assert "Exit codes:" in out
    if name in LEAVES and columns == 80:
        said = dict(re.findall(r"(--json|--quiet) {2,}(.*?) *│", out))
        assert said.get("--json") == (None if name in SCRIPTS else "Print JSON instead of text.")
        assert said.get("--quiet") == (None if name in AT_ONCE else "Do not show progress.")


@pytest.mark.parametrize("name", LEAVES)
def test_examples_of_the_help_name_options_that_exist(name, run):
    _, out, _ = run(*name.split(), "--help", columns=200)
    for line in out.splitlines():
        if line.startswith("  calibrant "):
            options = [word for word in line.split() if word.startswith("--")]
            assert [option for option in options if f" {option} " not in out.partition("╭")[2]] == []


def test_commands_are_listed_in_the_order_of_the_table(run):
    _, out, _ = run()
    listed = [line.split()[1] for line in out.splitlines() if line.startswith("│ ") and line[2].isalpha()]
    assert listed == list(COMMANDS)


# Output ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("name", [name for name in QUICK if name not in SCRIPTS])
def test_output_is_plain_and_fits(name, columns, run):
    code, out, err = run(*CASES[name], columns=columns)
    assert code == 0
    assert out.strip()
    assert "\x1b" not in out
    assert "…" not in out  # Nothing is cut.
    assert max(map(len, out.splitlines())) <= columns
    assert err == "" or name == "experiment run"  # Which writes a log.


@pytest.mark.parametrize("name", [name for name in QUICK if name not in SCRIPTS])
def test_json_is_all_that_is_printed(name, run):
    code, out, err = run(*CASES[name], "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)


@pytest.mark.parametrize("name", ["evaluate", "test", "compare", "recommend", "fit", "report"])
def test_wide_names_are_folded(name, run, folder):
    words = [f"{word} {'very ' * 12}{'long' * 12}" for word in WORDS]
    wide = f"{'w' * 90}.csv"
    other = f"{'v' * 90}.csv"
    write_table(folder / wide, words, groups=words[:2])
    write_table(folder / other, words, power=2.0)
    code, out, err = run(*({"p.csv": wide, "q.csv": other}.get(word, word) for word in CASES[name]))
    assert (code, err) == (0, "")
    # What is to be copied is never broken: a path, a command.
    lines = [line for line in out.splitlines() if wide not in line]
    assert "…" not in out
    assert max(map(len, lines)) <= 80


def test_one_row_is_not_rows(run, folder):
    (folder / "one.csv").write_text("proba_a,proba_b,label\n0.3,0.7,b\n", encoding="utf-8")
    code, out, _ = run("evaluate", "one.csv", *FEW)
    assert code == 0
    assert "as far as 1 row can tell" in out
    assert "1 row, 2 classes" in out
    assert "1 rows" not in out


# Terminals and pipes ---------------------------------------------------------------------------------------------

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def test_a_terminal_of_ascii_only_is_enough(folder):
    write_table(folder / "ü.csv", ("naïve", "模型", "👩‍🔬"), groups=("naïve", "模型"))
    code = (
        "import sys; from calibrant.cli import main\n"
        "for words in (['evaluate', *sys.argv[1:]], ['fit', sys.argv[1], '--json'], ['evaluate', '--help']):\n"
        "    assert main(words) == 0\n    print('//')"
    )
    environment = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1", **ASCII}
    result = process("-c", code, "ü.csv", "--by", "region", *FEW, folder=folder, **environment)
    assert (result.returncode, result.stderr) == (0, b"")
    evaluated, fitted, helped, _ = result.stdout.decode("ascii").split("//\n")
    assert "na\\xefve" in evaluated
    assert "p = " in evaluated or "p <= " in evaluated
    assert "\x1b" not in evaluated
    assert json.loads(fitted)["n_samples"] == 60
    assert "--probs" in helped
    assert max(map(len, helped.splitlines())) <= 80


def test_json_names_what_is_not_unicode(capsys, monkeypatch):
    show.print_json({"half \ud800 a pair": 1})
    assert json.loads(capsys.readouterr().out) == {"half \ud800 a pair": 1}


@pytest.mark.parametrize(
    "shell, code, words",
    [
        ("PYTHON >&-", 0, b""),
        ("PYTHON 2>&-", 0, b""),
        ("cd ..; PYTHON 2>&-", 3, b""),
        ("PYTHON >/dev/full", 3, b"No space left on device"),
    ],
    ids=["closed output", "closed errors", "an error into closed errors", "full disk"],
)
def test_output_that_nobody_takes_is_no_traceback(folder, shell, code, words):
    result = process("-m", "calibrant", "test", "p.csv", "--test", "spiegelhalter", folder=folder, shell=shell)
    assert result.returncode == code
    assert words in result.stderr
    assert result.stderr.count(b"\n") == bool(words)


@pytest.mark.parametrize("json, output", [((), ">&-"), (("--json",), "2>&1 | true")])
def test_a_gate_fails_also_where_nobody_reads(folder, json, output):
    shell = f"set -o pipefail; PYTHON {output}"
    gate = ("evaluate", "p.csv", "--fail-if", "accuracy>0", "--metrics", "accuracy", *FEW, *json)
    assert process("-m", "calibrant", *gate, folder=folder, shell=shell).returncode == 1


def test_colours_are_for_terminals_that_want_them(folder):
    pty = pytest.importorskip("pty")

    terminals = ({"TERM": "xterm-256color"}, {"TERM": "xterm-256color", "NO_COLOR": "1"}, {"TERM": "dumb"})
    code = (
        "import os; from calibrant.cli import main\n"
        f"for one in {terminals!r}:\n"
        "    os.environ.pop('NO_COLOR', None)\n    os.environ.update(one)\n"
        "    assert main(['--help']) == 0\n    print('//')"
    )
    shown = bytearray()

    def read(descriptor):
        shown.extend(data := os.read(descriptor, 1024))
        return data[:0] or b" " if data else data

    assert pty.spawn([sys.executable, "-c", code], read) == 0
    colourful, plain, dumb, _ = bytes(shown).split(b"//\r\n")
    assert b"\x1b[1m" in colourful
    assert b"\x1b[3" not in plain
    assert b"\x1b" not in dumb


# Progress --------------------------------------------------------------------------------------------------------


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, _, function):
        self.start = function

    def cancel(self):
        pass

    join = cancel


@pytest.mark.parametrize(
    "name, words",
    {
        "evaluate": ["reading", "testing", "measuring"],
        "test": ["reading", "consistency"],
        "compare": ["comparing"],
        "recommend": ["fitting candidates"],
        "groups": ["searching groups", "━"],
        "fit": ["fitting, step ", "━", "measuring"],
        "apply": ["calibrating"],
        "report": ["assessing", "fitting calibrators", "assessing p.csv > ts", "comparing before and after"],
        "selfcheck": ["computing certified values"],
    }.items(),
)
def test_progress_is_shown_to_people_only(name, words, run, monkeypatch):
    from rich.console import Console

    monkeypatch.setattr(show, "Timer", AtOnce)
    monkeypatch.setattr(show, "console", lambda *, stderr=False: Console(stderr=stderr, force_terminal=stderr))
    monkeypatch.setenv("TERM", "xterm")
    _, out, err = run(*CASES[name])
    assert [word for word in words if word not in err] == []
    assert "\x1b" not in out
    assert run(*CASES[name], "--quiet")[2] == ""
    assert run(*CASES[name], "--json")[2] == ""


@pytest.fixture
def counted(monkeypatch):
    """Return what bars count, (done, in all) by what they say."""
    found = {}

    @contextmanager
    def progress_bar(what, *, quiet, then=""):
        yield lambda *steps: found.setdefault(what, []).append(steps)

    monkeypatch.setattr(show, "progress_bar", progress_bar)
    return found


def test_reading_deciding_and_calibrating_forecasts_are_counted(run, counted, folder):
    assert run("evaluate", "p.csv", "q.csv", *FEW)[0] == 0
    assert counted["reading"] == [(done, 6) for done in range(1, 7)]
    rng = np.random.default_rng(0)
    (folder / "events.csv").write_text(
        "proba_1,label\n" + "".join(f"{p:.3f},{int(rng.random() < p)}\n" for p in rng.random(200)), encoding="utf-8"
    )
    assert run("evaluate", "events.csv", "--cost-fp", "1", "--cost-fn", "5", *FEW)[0] == 0
    assert counted["deciding"] == [(0, 3), (1, 3), (2, 3)]
    forecasts = "y,mu,sigma\n" + "".join(f"{y:.3f},0,1\n" for y in rng.normal(size=60))
    (folder / "f.csv").write_text(forecasts, encoding="utf-8")
    named = ("--label", "y", "--mean", "mu", "--sd", "sigma")
    assert run("fit", "f.csv", *named, "--method", "shift-scale", "--out", "f.json")[0] == 0
    assert run("apply", "f.csv", *named, "--calibrator", "f.json", "--out", "fixed.csv")[0] == 0
    assert counted["calibrating"] == [(1, 2), (2, 2)]


# Mistakes --------------------------------------------------------------------------------------------------------

GARBAGE = {
    "unknown option": ["--nonsense"],
    "unknown short option": ["-x"],
    "option with a value that is none": ["--json=perhaps"],
    "nothing after the dashes": ["--", "--", "--"],
    "control characters": ["--\x1b[31m\n"],
    "quotation marks": ['"', "'"],
    "a very long word": ["--" + "x" * 5000],
    "half a pair": ["\ud800"],
    "markup": ["[bold]", "[/nothing]"],
}


@each("garbage", GARBAGE)
@pytest.mark.parametrize("name", LEAVES)
def test_garbage_is_refused_in_one_line(name, garbage, run):
    code, out, err = run(*name.split(), *garbage)
    is_refused(code, out, err)


def is_refused(code, out, err):
    assert code in (2, 3)
    assert out == ""
    assert err.startswith("calibrant: ")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    assert "\x1b" not in err
    assert "defect" not in err


FILES = ["missing.csv", ".", "empty.csv", "bytes.csv", "two.toml", "logits", "a\nb\x1b.csv", "", "/dev/null"]


@each("file", FILES)
@pytest.mark.parametrize("name", [name for name in QUICK if CASES[name][-1] != name and name not in SCRIPTS])
def test_files_that_cannot_be_used_are_refused_in_one_line(name, file, run):
    position = len(name.split())
    arguments = [*CASES[name]]
    if name == "experiment run" and file == "two.toml":
        return
    if name == "watch" and file in {".", ""}:  # This folder, which holds sketches after other tests.
        return
    arguments[position] = file
    is_refused(*run(*arguments))


VALUES = {
    "evaluate": [["--resamples", "-1"], ["--seed", "-1"], ["--seed", "x"], ["--metrics", "x"], ["--fail-if", "ece"]],
    "test": [["--fail-below", "nan"], ["--fail-below", "2"], ["--test", "x"], ["--kernel", "x"], ["--mean", "x"]],
    "groups": [["--features", "x"], ["--depth", "0"], ["--alpha", "2"], ["--cluster", "x"], ["--seed", "-1"]],
    "compare": [["--metrics", "x"], ["--baseline", "x"], ["--id", "x"], ["--cluster", "x"], ["--by", "x"]],
    "recommend": [["--folds", "0"], ["--folds", "1000"], ["--score", "x"], ["--candidates", "x"], ["--seed", "-5"]],
    "fit": [["--method", ""], ["--method", ">"], ["--out", "p.csv"], ["--out", "no/where"], ["--probs", "x_*"]],
    "apply": [["--calibrator", "p.csv"], ["--out", "q.csv"], ["--out", "x.doc"], ["--classes", "a,b"]],
    "report": [
        ["--calibrate", "x"],
        ["--folds", "-1"],
        ["--out", "."],
        ["--mean", "x", "--by", "y"],
        ["--weight", "x"],
    ],
    "sketch": [["--out", "x.doc"], ["--engine", "x"], ["--weight", "x"], ["--renormalise"], ["--label", "x"]],
    "watch": [["--alpha", "2"], ["--alpha", "x"], ["--out", "x.doc"], ["--reference", "missing.sketch"]],
    "experiment run": [["--out", "p.csv"]],
    "experiment status": [["--out", "x"]],
    "experiment show": [["--seed", "1"]],
    "selfcheck": [["--seed", "1"]],
    "completion": [["zsh"]],
    "demo": [["--seed", "-1"], ["--out"]],
}


def test_every_command_has_values_that_it_refuses():
    assert set(VALUES) == set(LEAVES)


@pytest.mark.parametrize("name, values", [(name, value) for name, many in VALUES.items() for value in many])
def test_values_that_make_no_sense_are_refused_in_one_line(name, values, run):
    arguments = [*CASES.get(name, name.split())]
    if values[0] in arguments and len(values) == 2:
        arguments[arguments.index(values[0]) + 1] = values[1]
    else:
        arguments += values
    is_refused(*run(*arguments))


@pytest.mark.parametrize("extension", ["csv", "parquet", "npz", "npy", "arrow", "json"])
@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_are_refused_in_one_line(extension, seed, run, folder):
    rng = np.random.default_rng(seed)
    start = {"parquet": b"PAR1", "npz": b"PK\x03\x04", "npy": b"\x93NUMPY", "arrow": b"ARROW1\0\0"}.get(extension, b"")
    low, high = (0, 256) if seed % 2 else (32, 127)
    path = folder / f"random-{seed}.{extension}"
    path.write_bytes(start * (seed > 1) + rng.integers(low, high, 300, dtype=np.uint8).tobytes())
    is_refused(*run("evaluate", path.name, *FEW))


def test_a_defect_is_one_line_too(run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("first line\nsecond line")

    monkeypatch.setattr("calibrant.cli.options.judging.Judging.assess", broken)
    code, out, err = run("evaluate", "p.csv")
    assert (code, out) == (2, "")
    assert err.startswith("calibrant: this is a bug in calibrant: ZeroDivisionError: first line second line.")
    assert len(err.splitlines()) == 1
