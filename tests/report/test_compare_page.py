"""The page about comparing: its examples run, and say what it says."""

import re
from contextlib import chdir
from pathlib import Path

import pytest

from calibrant.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
LONG, SHORT = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder with the files that the page writes."""
    where = tmp_path_factory.mktemp("compare")
    with chdir(where):
        exec(LONG, {})  # noqa: S102 (the page's own code)
    return where


@pytest.fixture
def folder(written, monkeypatch):
    monkeypatch.chdir(written)
    return written


def test_the_example_of_the_page_runs(folder, capsys):
    assert (
        main(["compare", "before.csv", "after.csv", "--metrics", "nll", "rms-debiased", "--resamples", "99", "--quiet"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    after = [line.split() for line in lines if line.split()[:1] == ["after"]]
    assert [row[-1] for row in after] != []
    assert all(float(row[1]) < 0.3 for row in after)
    assert all("*" in " ".join(row) for row in after)
    assert main(["compare", "before.csv", "after.csv", "--metrics", "nll", "--fail-if-worse-than", "after"]) == 1


def test_the_python_example_runs(folder):
    names = {}
    exec(SHORT, names)  # noqa: S102 (the page's own code)
    assert names["result"].entry("after", "nll").difference.is_significant
