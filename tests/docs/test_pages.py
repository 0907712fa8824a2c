"""What the pages show works: every block of Python runs, every command too, and every link leads somewhere."""

import ast
import importlib
import re
import shlex
import warnings
from pathlib import Path

import pytest

from calibrant.cli import main
from doc_pages import DOCS, GALLERY, PAGES, ROOT, blocks, commands

TESTED_ELSEWHERE = {
    "README.md",
    "README.ja.md",
    "README.zh.md",
    "compare.md",
    "curves.md",
    "training.md",
    "calibrators.md",
}
"""Pages whose examples have tests of their own, which look at the results as well."""
TOO_LONG = {"experiment.md": "trains networks for a minute; tests/lab runs smaller ones"}

RUN = [
    page
    for page in PAGES
    if {language for language, _ in blocks(page)} & {"python", "console"}
    and str(page.relative_to(DOCS if DOCS in page.parents else ROOT)) not in TESTED_ELSEWHERE | set(TOO_LONG)
]


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, str(page), "exec", dont_inherit=True), names)  # noqa: S102 (our own page)
        elif language == "console":
            for command, expected in commands(code):
                assert main(shlex.split(command)) == expected, command
    assert "Traceback" not in capsys.readouterr().err


def test_the_pages_are_many():
    assert len(RUN) >= 15
    assert len(GALLERY) >= 14


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and MyST write them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        place, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or "auto_gallery" in place or place.endswith("reference/commands"):
            continue
        found = page.parent / place if place else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_every_page_of_the_documentation_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in DOCS.rglob("*.md"):
        for entries in re.findall(
            r"^```\{toctree\}(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            listed |= {page.parent / f"{entry}.md" for entry in re.findall(r"[\w/-]+$", entries, re.MULTILINE)}
    assert set(DOCS.rglob("*.md")) - listed == set()


def test_links_to_the_gallery_name_a_script():
    stems = {path.stem for path in GALLERY}
    for page in PAGES:
        for name in re.findall(r"auto_gallery/(\w+)", page.read_text(encoding="utf-8")):
            assert name == "index" or name in stems, (page, name)


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_uses_what_exists(script):
    """They run when the documentation is built; here only what they import is looked at, and that they draw."""
    source = script.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "calibrant":
            module = importlib.import_module(node.module)
            assert [a.name for a in node.names if not hasattr(module, a.name)] == []
    assert "plt.subplots" in source
    assert ast.get_docstring(ast.parse(source)).splitlines()[1].startswith("===")


def test_a_page_that_is_wrong_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n```console\n$ calibrant nonsense  # exit code 2\n$ ls\n```\n[b](c.md)\n", encoding="utf-8")
    (block,) = blocks(page)
    assert list(commands(block[1])) == [("nonsense", 2)]
    with pytest.raises(AssertionError):
        test_every_link_to_a_file_leads_somewhere(page)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Path(page).exists()
