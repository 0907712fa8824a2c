"""Packages that are not installed: the command says which extra brings them."""

import sys

import pytest

from calibrant.cli import EXTRAS, main


def complaint(capsys, monkeypatch, package, *arguments):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert main([*arguments]) == 2
    return capsys.readouterr().err


def test_training_names_its_extra(tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("calibrant.lab.training")]:
        monkeypatch.delitem(sys.modules, name)
    told = complaint(capsys, monkeypatch, "torch", "experiment", "run", "digits", "--out", str(tmp_path / "run"))
    assert 'pip install "calibrant[torch]"' in told
    assert "defect" not in told


def test_reading_names_its_extra(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text('p,label\n"0.5",1\n')  # Quoted: small tables without quotes are read without polars.
    told = complaint(capsys, monkeypatch, "polars", "evaluate", str(path))
    assert 'pip install "calibrant[cli]"' in told
    assert "defect" not in told


@pytest.mark.parametrize("package, extra", EXTRAS.items())
def test_a_bare_import_error_names_the_extra(capsys, monkeypatch, package, extra):
    def fail(*_):
        raise ModuleNotFoundError(f"No module named '{package}.part'", name=f"{package}.part")

    monkeypatch.setattr("calibrant.cli._run", fail)
    assert main([]) == 2
    assert f'this needs {package}, which is not installed: pip install "calibrant[{extra}]".' in capsys.readouterr().err


def test_other_import_errors_stay_defects(capsys, monkeypatch):
    def fail(*_):
        raise ModuleNotFoundError("No module named 'calibrant.nothing'", name="calibrant.nothing")

    monkeypatch.setattr("calibrant.cli._run", fail)
    assert main([]) == 2
    assert "this is a bug in calibrant" in capsys.readouterr().err
