"""The README says what is true: its Python runs, and its commands exist and work."""

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant.calibrators import TemperatureScaling, save
from calibrant.cli import main
from calibrant.lab.datasets import dataset
from calibrant.lab.experiment import archives
from calibrant.scale import Sketch
from simulate import calibrated

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [
    line.split("#")[0].strip() for _, code in BLOCKS for line in code.splitlines() if line.startswith("calibrant ")
]


def test_the_python_runs_and_says_what_it_promises(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for code in PYTHON:
        exec(code, {})  # noqa: S102 (our own README)
    out = capsys.readouterr().out
    assert out.index("Too extreme") < out.index("\nConsistent with calibration") < out.index("\ntemperature 1.9")


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_other_languages_show_the_same_code(language):
    text = (ROOT / f"README.{language}.md").read_text(encoding="utf-8")
    assert re.findall(r"```(\w*)\n(.*?)```", text, flags=re.DOTALL) == BLOCKS
    assert re.findall(r"\]\((docs.*?)\)", README) == [
        link for link in re.findall(r"\]\((docs.*?)\)", text) if link != "docs/glossary.md"
    ]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the commands of the README read."""
    monkeypatch.chdir(tmp_path)
    p, binary = calibrated(n=300), calibrated(n=300, k=2)
    columns = {f"proba_{c}": p.probs[:, c] for c in range(3)}
    frame = pl.DataFrame(columns | {"label": p.labels, "y": p.labels, "w": np.ones(300), "region": ["n", "s"] * 150})
    frame.drop("y").write_csv("predictions.csv")
    frame.write_parquet("scores.parquet")
    region, age = np.tile(["n", "s"], 150), np.repeat(["old", "young", "middle"], 100)
    loans = {"p1": binary.positive, "label": binary.labels, "x_region": region, "x_age": age}
    pl.DataFrame(loans).write_csv("loans.csv")
    mu, noise = np.random.default_rng(0).normal(size=(2, 300))
    pl.DataFrame({"mu": mu, "sigma": np.full(300, 0.5), "y": mu + noise}).write_csv("forecasts.csv")
    for name in ("before.csv", "after.csv", "new.csv"):
        frame.drop("y").write_csv(name)
    Path("days").mkdir()
    for day, rows in (("2026-03-01", slice(0, 150)), ("2026-03-02", slice(150, 300))):
        Path(f"days/{day}.sketch").write_bytes(Sketch(3).update(p.probs[rows], p.labels[rows]).to_bytes())
    save(TemperatureScaling().fit(p.probs, p.labels), "cal.json")
    np.savez("logits.npz", logits=p.log_probs, y=p.labels)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "calibrant demo"])
def test_every_command_works(command, files, capsys):
    _, *arguments = shlex.split(command)
    assert main(arguments) == 0
    assert capsys.readouterr().out


@pytest.fixture
def fewer_logits(tmp_path, monkeypatch):
    """Every thirtieth row of the logits that the demo reads; `make demo` shows them all."""
    for path in dataset.logits_folder().glob("*.npz"):
        with np.load(path) as arrays:
            fewer = {key: values if key == "classes" else values[::30] for key, values in arrays.items()}
        np.savez(tmp_path / path.name, **fewer)
    for module in (dataset, archives):
        monkeypatch.setattr(module, "logits_folder", lambda: tmp_path)


@pytest.mark.usefixtures("fewer_logits")
def test_the_demo_prints_verdicts_and_significance_and_writes_both_pages(tmp_path, monkeypatch, capsys):
    assert "calibrant demo" in COMMANDS
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--resamples", "99"]) == 0
    out = capsys.readouterr().out
    assert "Over-confident" in out
    assert re.search(r"CE, uncalibrated .*\*", out)  # Temperature scaling makes a difference to this network.
    assert Path("demo/index.html").stat().st_size > 10_000
    assert Path("demo/report.html").stat().st_size > 10_000


def test_a_block_has_at_most_a_dozen_commands():
    lengths = [code.count("\ncalibrant ") + 1 for _, code in BLOCKS if code.startswith("calibrant ")]
    assert len(lengths) == 2
    assert 9 <= lengths[0] <= 12
    assert lengths[1] <= 5
