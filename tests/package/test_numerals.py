"""One place where a number becomes text for a person, so that the same kind of number looks the same everywhere."""

import ast
import re
from pathlib import Path
from string import Formatter

import calibrant
from naming import each

SOURCE = Path(calibrant.__file__).parent
HOME = "_border/numerals.py"
MACHINES = {
    "binning/median_variance.py _widest": "a number rounded to nine digits, so that ties do not hang on the machine",
    "io/rewrite.py _columns_of": "names of columns in a file",
    "report/page.py rounded": "numbers rounded for the JSON of the page",
    "results/drawing/svg.py coordinate": "coordinates of SVG",
    "report/tables.py _machine": "numbers that JavaScript sorts by",
}
"""Who else may format numbers: module and function, with what reads the result, as it is not a person."""

NUMBER = re.compile(r"[ +-]?#?\d*[,_]?(\.\d+)?[eEfFgGn%]?")


def is_of_numbers(spec):
    """Return whether a format says how a float or a large count is written: not a width, an alignment or a base."""
    plain = re.sub(r"^(.?[<>=^])", "", spec)
    return bool(NUMBER.fullmatch(plain)) and re.search(r"[,_.eEfFgGn%+#]", plain) is not None


def spec_of(node):
    """Return the format of a field of an f-string, with 1 for what is filled in; nothing for texts."""
    if node.format_spec is None or node.conversion != -1:
        return ""
    parts = node.format_spec.values
    if not any(isinstance(part, ast.Constant) for part in parts):
        return "g"  # Given from outside: it may be anything.
    return "".join(part.value if isinstance(part, ast.Constant) else "1" for part in parts)


def fields_of(text):
    """Return the formats of the fields of a text for `str.format`."""
    try:
        return [spec for _, _, spec, conversion in Formatter().parse(text) if spec and not conversion]
    except ValueError:  # Braces of something else.
        return []


def is_call_of(name, node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def formats(node):
    """Return the formats in one node."""
    if isinstance(node, ast.FormattedValue):
        return [".1f" if is_call_of("round", node.value) and node.value.args[1:] else spec_of(node)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return fields_of(node.value) if "{" in node.value else []
    return ["g"] if is_call_of("format", node) else []


def is_docstring(node):
    """Return whether a statement is a text alone, which writes nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def writers(tree, module):
    """Yield the module, the function and the line of all that formats numbers."""
    left = [(tree, "")]
    while left:
        node, function = left.pop()
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if any(is_of_numbers(spec) for spec in formats(node)):
            yield f"{module} {function}", node.lineno
        left += [(child, function) for child in ast.iter_child_nodes(node) if not is_docstring(child)]


def all_writers():
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        if module != HOME:
            yield from writers(ast.parse(path.read_text(encoding="utf-8")), module)


def test_numbers_for_a_person_are_written_in_one_module():
    found = list(all_writers())
    others = [f"{place}, line {line}" for place, line in found if place not in MACHINES]
    assert others == [], f"use a function of {HOME}, or say in MACHINES what reads it"
    assert {place for place, _ in found} == set(MACHINES)  # None of the exceptions is out of date.


def found_in(code):
    return [line for _, line in writers(ast.parse(code), "module")]


OF_NUMBERS = (
    *('f"{x:.3g}"', 'f"{x:,}"', 'f"{x:>12,}"', 'f"{x:.1%}"', 'f"{x:+.{n}f}"', 'f"{x:g}"', 'f"{x:.3}"', 'f"{x:{form}}"'),
    *('f"{round(x, 3)}"', '"{:.3g}".format(x)', 'TEXT = "at {level:.0%}"', 'format(x, ".3g")', 'f"{x:<{width}.2e}"'),
)


@each("code", OF_NUMBERS)
def test_formats_of_numbers_are_found(code):
    assert found_in(code) == [1]


@each(
    "code",
    ('f"{x}"', 'f"{x!r:.60}"', 'f"{x:<{width}}"', 'f"{x:02d}"', 'f"{x:>6}"', 'f"{x:x}"', '"{a} {b!r}"', '"{a: b"'),
)
def test_widths_and_texts_are_not(code):
    assert found_in(code) == []
