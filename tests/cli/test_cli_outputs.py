"""What a command writes never replaces what it reads, nor goes under the name of something else."""

import os
import shutil

import polars as pl
import pytest

from calibrant.cli import main
from simulate import calibrated, sharpened


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with predictions, other data, a calibrator, and links to the predictions."""
    monkeypatch.chdir(tmp_path)
    p = sharpened(calibrated(n=60, k=2), 0.5)
    pl.DataFrame({"proba_0": p.probs[:, 0], "proba_1": p.probs[:, 1], "label": p.labels}).write_csv("raw.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "other").write_text("notes")
    assert main(["fit", "raw.csv", "--out", "cal.json", "--quiet"]) == 0
    (tmp_path / "link.html").symlink_to("raw.csv")
    (tmp_path / "link.json").symlink_to(tmp_path / "raw.csv")
    os.link("raw.csv", "hard.html")
    return tmp_path


def contents(folder):
    """Everything in the folder, hidden files too."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(folder, capsys, *arguments):
    """Return the one line with which a command is refused; nothing on the disk has changed."""
    capsys.readouterr()
    before = contents(folder)
    assert main([argument.format(here=folder) for argument in arguments]) == 2
    assert contents(folder) == before
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


APPLY = ("apply", "raw.csv", "--calibrator", "cal.json")


@pytest.mark.parametrize("out", ["raw.csv", "./raw.csv", "{here}/raw.csv", "../{here.name}/raw.csv"])
@pytest.mark.parametrize("command", [("report", "raw.csv"), ("fit", "raw.csv"), APPLY])
def test_the_data_is_never_replaced(folder, capsys, command, out):
    assert "--out is raw.csv itself" in refused(folder, capsys, *command, "--out", out)


@pytest.mark.parametrize(
    "command, out",
    [
        (("report", "raw.csv"), "link.html"),
        (("report", "raw.csv"), "hard.html"),
        (("report", "link.html"), "link.html"),
        (("fit", "raw.csv"), "link.json"),
        (APPLY, "link.html"),
    ],
)
def test_links_lead_to_the_data_too(folder, capsys, command, out):
    assert f"--out is {command[1]} itself" in refused(folder, capsys, *command, "--out", out)


def test_the_default_name_is_no_exception(folder, capsys):
    shutil.copy("raw.csv", "report.html")
    assert "--out is report.html itself" in refused(folder, capsys, "report", "report.html")
    shutil.copy("raw.csv", "calibrator.json")
    assert "--out is calibrator.json itself" in refused(folder, capsys, "fit", "calibrator.json")


def test_the_calibrator_is_never_replaced(folder, capsys):
    message = refused(folder, capsys, *APPLY, "--overwrite", "--out", "./cal.json")
    assert "--out is cal.json itself" in message


@pytest.mark.parametrize(
    "command, out, words",
    [
        ("fit", "other.csv", "--out must end in .json, but is other.csv. Name it other.json"),
        ("fit", "other", "--out must end in .json, but is other. Name it other.json"),
        ("fit", "new.html", "--out must end in .json"),
        ("report", "other.csv", "--out must end in .html or .htm, but is other.csv. Name it other.html"),
        ("report", "{here}/new.json", "new.html, for example"),
    ],
)
def test_an_ending_of_something_else_is_refused(folder, capsys, command, out, words):
    assert words in refused(folder, capsys, command, "raw.csv", "--out", out)


@pytest.mark.parametrize("out", ["page.html", "page.htm", "PAGE.HTML"])
def test_a_page_may_have_any_of_its_endings(folder, capsys, out):
    assert main(["report", "raw.csv", "--resamples", "9", "--quiet", "--out", out]) == 0
    assert (folder / out).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_config_among_the_results_must_end_in_toml(folder, capsys):
    shutil.copy("other.csv", "table.csv")
    message = refused(folder, capsys, "experiment", "run", "table.csv", "--out", ".")
    assert "table.csv lies in the folder of --out" in message
    shutil.copy("other.csv", "table.toml")
    assert "table.toml is not a TOML file" in refused(folder, capsys, "experiment", "run", "table.toml", "--out", ".")
