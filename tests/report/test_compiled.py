"""Compiled templates are kept beside them, and used only for what they were compiled from."""

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from calibrant.report.compiled import CompiledTemplates


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return tmp_path


def filled(folder, template="{{ x }} and {{ x }}", settings="1"):
    """Fill a template, and return the text and how often one was compiled for it."""
    compiled = []

    class Counting(Environment):
        def _compile(self, source, filename):
            compiled.append(filename)
            return super()._compile(source, filename)

    cache = CompiledTemplates(folder, settings)
    engine = Counting(loader=DictLoader({"a.html": template}), bytecode_cache=cache)
    return engine.get_template("a.html").render(x=7), len(compiled)


def kept(folder):
    return list(folder.rglob("*.jinja"))


def test_a_template_is_compiled_once(folder):
    assert filled(folder) == ("7 and 7", 1)
    assert [file.parent.name for file in kept(folder)] == ["__pycache__"]
    assert sys.implementation.cache_tag in kept(folder)[0].name
    assert filled(folder) == ("7 and 7", 0)


def test_another_text_or_other_settings_are_compiled_anew(folder):
    filled(folder)
    assert filled(folder, "{{ x }} or {{ x }}") == ("7 or 7", 1)
    assert filled(folder, "{{ x }} or {{ x }}", settings="2") == ("7 or 7", 1)
    assert len(kept(folder)) == 1


def test_another_release_of_the_engine_compiles_anew(folder, monkeypatch):
    filled(folder)
    monkeypatch.setattr("calibrant.report.compiled.__version__", "0.0")
    assert filled(folder) == ("7 and 7", 1)


def test_what_is_damaged_is_compiled_anew(folder):
    filled(folder)
    file = kept(folder)[0]
    whole = file.read_bytes()
    for content in (b"", b"x", whole[:40], whole[: len(whole) // 2], whole[:-1]):
        file.write_bytes(content)
        assert filled(folder) == ("7 and 7", 1)
    assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert filled(folder) == ("7 and 7", 1)
    assert not kept(folder)


def test_a_folder_that_cannot_be_written_to_does_no_harm(folder, monkeypatch):
    for place in (folder / "file.txt" / "templates", Path("/proc/none")):
        (folder / "file.txt").touch()
        assert filled(place) == ("7 and 7", 1)
    monkeypatch.setattr(sys, "pycache_prefix", str(folder / "elsewhere"))
    assert filled(folder / "file.txt") == ("7 and 7", 1)
    assert filled(folder / "file.txt") == ("7 and 7", 0)
