"""The pages of the documentation, and the code on them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = ("auto_gallery", "reference")
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if path.name != "CHANGELOG.md" and not set(GENERATED).intersection(path.relative_to(ROOT).parts)
)
GALLERY = sorted((DOCS / "gallery").glob("[0-9]*.py"))


def blocks(page):
    """Yield language and code of every block between fences."""
    yield from re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(code):
    """Yield the commands of a console block, with the exit code that the line promises."""
    for line in code.splitlines():
        if line.startswith("$ calibrant "):
            command, _, remark = line.removeprefix("$ calibrant ").partition("  # exit code ")
            yield command, int(remark or 0)


def examples():
    """Return all code that a reader of pages and gallery sees."""
    shown = [code for page in PAGES for language, code in blocks(page) if language == "python"]
    return "\n".join(shown + [path.read_text(encoding="utf-8") for path in GALLERY])
