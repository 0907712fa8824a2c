"""The command line as a user meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest

from calibrant import __version__, cli
from calibrant.cli import main
from calibrant.metrics import METRICS
from simulate import calibrated, sharpened


@pytest.fixture
def file(tmp_path):
    """A CSV of over-confident predictions with string labels, weights and groups."""
    p = sharpened(calibrated(n=600), 0.4)
    names = np.array(["ash", "birch", "cedar"])
    columns = {f"proba_{name}": p.probs[:, c] for c, name in enumerate(names)}
    extra = {"label": names[p.labels], "w": np.arange(600) % 3 + 0.5, "region": np.where(np.arange(600) % 2, "n", "s")}
    path = tmp_path / "predictions.csv"
    pl.DataFrame(columns | extra).write_csv(path)
    return path


def test_evaluate_prints_the_verdict_and_every_metric_if_asked(file, capsys):
    assert main(["evaluate", str(file), "--resamples", "99", "--metrics", "all"]) == 0
    out = capsys.readouterr().out
    assert "Over-confident: its confidence is" in out
    for name in METRICS:
        assert name in out


def test_json_holds_the_same_numbers(file, capsys):
    assert main(["evaluate", str(file), "--resamples", "99", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"]["code"] == "over-confident"
    assert record["metrics"]["accuracy"]["value"] == pytest.approx(0.63, abs=0.1)
    assert record["test"]["null"] is None
    assert [*record["metrics"]["ece-one-vs-rest"]["details"]["classes"]] == ["ash", "birch", "cedar"]


def test_columns_weights_and_groups_can_be_chosen(file, capsys):
    arguments = ["--label", "label", "--probs", "proba_*", "--weight", "w", "--by", "region", "--resamples", "19"]
    assert main(["evaluate", str(file), *arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["settings"]["weighted"] is True
    assert list(record["groups"]) == ["n", "s"]
    assert main(["evaluate", str(file), *arguments]) == 0
    assert "over-confident" in capsys.readouterr().out


def test_classes_can_be_named(tmp_path, capsys):
    p = calibrated(n=300, k=2)
    path = tmp_path / "binary.csv"
    pl.DataFrame({"score": p.positive, "label": np.array(["ham", "spam"])[p.labels]}).write_csv(path)
    words = ["--classes", "ham,spam", "--resamples", "19", "--json", "--metrics", "ece-one-vs-rest"]
    assert main(["evaluate", str(path), *words]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]["ece-one-vs-rest"]
    assert [*found["details"]["classes"]] == ["ham", "spam"]


def test_report_writes_a_page(file, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(file), "--out", str(page), "--resamples", "19"]) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "page.html" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["evaluate", "missing.csv"], 3, "missing.csv"),
        (["evaluate"], 2, "FILE"),
        (["evaluate", "{file}", "--label", "lable"], 2, "lable"),
        (["evaluate", "{file}", "--resamples", "0"], 2, "--resamples must be a whole number of at least 1"),
        (["evaluate", "{file}", "--resamples", "many"], 2, "many"),
        (["evaluate", "{file}", "--nonsense"], 2, "nonsense"),
        (["evaluate", "{file}", "--by", "planet"], 2, "planet"),
        (["report", "{file}", "--out", "{folder}"], 3, "is a folder"),
        (["report", "{file}", "--out", "{folder}/no/where.html"], 3, "no"),
        (["fly"], 2, "fly"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_mistakes_give_one_line_and_an_exit_code(arguments, code, words, file, tmp_path, capsys):
    filled = [a.format(file=file, folder=tmp_path) for a in arguments]
    assert main(filled) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("calibrant: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    assert "Traceback" not in captured.err


def test_advice_is_given_in_options(tmp_path, capsys):
    path = tmp_path / "sums.csv"
    path.write_text("proba_0,proba_1,label\n0.2,0.8,1\n0.5,0.6,0\n", encoding="utf-8")
    assert main(["evaluate", str(path)]) == 2
    assert "Pass --renormalise if" in capsys.readouterr().err
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["evaluate", str(path)]) == 2
    assert "Name the right one with --label." in capsys.readouterr().err


def test_warnings_about_the_data_are_notes_of_one_line(file, capsys):
    assert main(["evaluate", str(file), "--logits", "--probs", "proba_*", "--resamples", "9"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert notes
    assert all(note.startswith("calibrant: note: ") for note in notes)


def children_seconds():
    """Return the processor time of all commands so far, which does not depend on what else the machine does."""
    times = os.times()
    return times.children_user + times.children_system


def test_version_and_help_answer_at_once_and_load_nothing_heavy():
    code = (
        "import sys; from calibrant.cli import main\n"
        "for words in (['--version'], ['--help'], ['evaluate', '--help']):\n"
        "    assert main(words) == 0\n"
        "    print(*sorted({m.partition('.')[0] for m in sys.modules} & "
        "{'scipy', 'sklearn', 'polars', 'pandas', 'matplotlib', 'torch', 'numpy'}), file=sys.stderr)"
    )
    start = children_seconds()
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert children_seconds() - start < 2.0  # Half a second is usual; nothing heavy is what makes it so.
    assert result.stdout.startswith(__version__)
    assert all(words in result.stdout for words in ("evaluate", "--probs"))
    assert set(result.stderr.split()) <= {"numpy"}


def test_output_is_plain_text_of_eighty_columns_in_a_pipe(file):
    line = [sys.executable, "-m", "calibrant", "evaluate", file, "--resamples", "19"]
    result = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stderr == ""


def test_a_closed_pipe_is_no_error(file):
    line = f"set -o pipefail; {sys.executable} -m calibrant evaluate {file} --resamples 9 --json | head -n 1"
    result = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == "{\n"
    assert result.stderr == ""


def wait_for_work(process):
    """Wait until the command is at work: it has loaded everything before 1.2 s of the processor, busy or not."""
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(300):
        time.sleep(0.1)
        used = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if sum(map(int, used)) > 1.2 * ticks:
            return


@pytest.mark.parametrize("sent, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_stop_the_work_within_two_seconds(file, tmp_path, sent, code):
    page, start = tmp_path / "page.html", children_seconds()
    process = subprocess.Popen(
        [sys.executable, "-m", "calibrant", "report", file, "--resamples", "100000000", "--out", page],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for_work(process)
        assert process.poll() is None
        before = psutil.Process(process.pid).cpu_times()
        process.send_signal(sent)
        _, err = process.communicate(timeout=30)
        assert children_seconds() - start - before.user - before.system < 2
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["predictions.csv"]


@pytest.mark.parametrize("sent, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_a_library_turns_into_an_error_still_stops_the_work(sent, code, monkeypatch, capsys):
    def run(argv):
        try:
            signal.raise_signal(sent)
        except BaseException as error:
            raise ImportError("numpy._core.multiarray failed to import") from error

    monkeypatch.setattr(cli, "_run", run)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main([]) == code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err == ""


def test_hostile_class_names_are_printed_harmlessly(tmp_path, capsys):
    names = ["\x1b[31mred", "new\nline", "<script>"]
    p = calibrated(n=200)
    path = tmp_path / "hostile.parquet"
    columns = {f"proba_{name}": p.probs[:, c] for c, name in enumerate(names)}
    pl.DataFrame(columns | {"label": [names[c] for c in p.labels], "g": [names[c] for c in p.labels]}).write_parquet(
        path
    )
    assert main(["evaluate", str(path), "--resamples", "19", "--by", "g"]) == 0
    assert "\x1b" not in capsys.readouterr().out
