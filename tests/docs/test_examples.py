"""Every public name has an example: a doctest, or code on a page or in the gallery."""

import importlib
import inspect
import re
import sys
from functools import cache
from pathlib import Path

import calibrant
from doc_pages import DOCS, ROOT, examples

sys.path.append(str(DOCS / "_ext"))  # What the reference lists is what has to have an example.
reference = importlib.import_module("reference_pages")


def public_names():
    """Return the names of the reference, with their homes."""
    top = [name for name in dir(calibrant) if name[0] != "_" and not inspect.ismodule(getattr(calibrant, name))]
    for module in reference.MODULES:
        source = importlib.import_module(f"calibrant.{module}")
        yield from ((name, source.__name__) for name in reference.public_names(source))
    yield from ((name, "calibrant") for name in top)


@cache
def doctests():
    """Return the lines of all doctests."""
    sources = (path.read_text(encoding="utf-8") for path in Path(ROOT, "src").rglob("*.py"))
    return "\n".join(line for text in sources for line in re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", text, re.MULTILINE))


def test_every_module_of_the_reference_is_in_its_contents():
    contents = Path(DOCS, "reference", "index.md").read_text(encoding="utf-8").split()
    assert [module for module in reference.MODULES if module not in contents] == []


def test_every_public_name_has_an_example():
    shown = examples() + doctests()
    words = set(re.findall(r"\w+", shown))
    missing = [f"{home}.{name}" for name, home in public_names() if name not in words]
    assert missing == []
