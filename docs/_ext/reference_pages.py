"""The reference, written from the tables and docstrings before every build: one page per module, and the commands."""

import contextlib
import importlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import calibrant

MODULES = (
    "metrics",
    "hypotest",
    "calibrators",
    "calibrators.forecasts",
    "groups",
    "kernels",
    "forecasts",
    "curves",
    "plots",
    "binning",
    "counts",
    "roc",
    "trees",
    "intervals",
    "decisions",
    "report",
    "export",
    "io",
    "scale",
    "results",
    "exceptions",
    "lab.datasets",
    "lab.experiment",
    "lab.training",
)
_SHARED = """
as_smoothing check_writable default_lengthscale favours known_limits missing_differences missing_limits column_names
printable read_column rule_in_words state target_deviation target_discrepancy target_kernel write_atomically
write_text join Affordable BinaryTest Bins Binning Cells CheckedValue ClassSummary Counters CurveLine Distance
Distribution JointKernel Kernel Pipeline PipelineCurves Profile RadialKernel SeedSummary SimplexBinning StepStatus
"""
PLUMBING = frozenset(_SHARED.split())
"""What modules of the package share with each other: importable, not promised, and not in the reference."""


def public_names(module: Any) -> list[str]:
    """Return the names that a module promises, or, without a list, those that it defines."""
    if hasattr(module, "__all__"):
        return sorted(set(module.__all__) - PLUMBING, key=str.lower)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return sorted((name for name in own if not name.startswith("_") and name not in PLUMBING), key=str.lower)


def title(text: str, line: str = "=") -> str:
    """Return a heading."""
    return f"{text}\n{line * len(text)}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], widths: str) -> str:
    """Return a list-table of reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [head, *rows]:
        first, *rest = (cell.replace("|", "\\|").replace("*", "\\*") for cell in row)
        lines += [f"   * - {first}", *(f"     - {cell}" for cell in rest)]
    return "\n".join(lines) + "\n"


def link(thing: Any, module: str) -> str:
    """Return a cross-reference to the class of a choice, shown as the call that makes it."""
    kind = type(thing)
    shown = repr(thing).replace("`", "")
    home = f"calibrant.{module}.{kind.__name__}"
    return f":py:class:`{kind.__name__} <{home}>`" if shown == f"{kind.__name__}()" else f"``{shown}``"


def described(name: str, rows: dict[str, Any], module: str) -> str:
    """Return the table of metrics or tests with what each says about itself."""
    cells = []
    for key, choice in rows.items():
        about = choice.about()
        cells.append((f"``{key}``", link(choice, module), f"{about.label}. {about.meaning} {about.caution}".rstrip()))
    return f"{title(name, '-')}\n" + table(("name", "made by", "meaning"), cells, "18 30 52")


def calibrators(rows: dict[str, Any]) -> str:
    """Return the table of calibrators."""
    cells = []
    for key, build in rows.items():
        c = build()
        kept = "yes" if c.preserves_argmax else "no"
        kind = type(c).__name__
        made = f":py:class:`{kind} <calibrant.calibrators.{kind}>`"
        cells.append((f"``{key}``", made, c.kind, kept, c.n_parameters, c.use_when))
    head = ("name", "class", "type", "keeps the predicted class", "parameters", "use it when")
    return f"{title('CALIBRATORS', '-')}\n" + table(head, cells, "14 20 12 12 14 28")


def tables(module: str) -> str:
    """Return the tables of a module."""
    source = importlib.import_module(f"calibrant.{module}")
    if module == "metrics":
        return (
            described("METRICS", source.METRICS, module)
            + "\n"
            + described("FORECAST_METRICS", source.FORECAST_METRICS, module)
        )
    if module == "hypotest":
        return described("TESTS", source.TESTS, module)
    if module == "calibrators":
        return calibrators(source.CALIBRATORS)
    if module == "kernels":
        rows = [(f"``{key}``", f"``{kernel!r}``") for key, kernel in source.KERNELS.items()]
        return f"{title('KERNELS', '-')}\n" + table(("name", "kernel"), rows, "25 75")
    return ""


def is_guest(name: str, module: str) -> bool:
    """Whether a name is also that of the module that defines it, on whose page it is described."""
    home = getattr(importlib.import_module(f"calibrant.{module}"), name).__module__
    others = (other for other in MODULES if home.startswith(f"calibrant.{other}.") and not module.startswith(other))
    return any(name in public_names(importlib.import_module(f"calibrant.{other}")) for other in others)


def module_page(module: str) -> str:
    """Return the page of one module: its purpose, its table, its names."""
    name = f"calibrant.{module}"
    source = importlib.import_module(name)
    purpose = (source.__doc__ or "").strip().splitlines()[0]
    shown = [n for n in public_names(source) if callable(getattr(source, n)) and not is_guest(n, module)]
    names = "\n".join(f"   ~{name}.{n}" for n in shown)
    return (
        f"{title(name)}\n{purpose}\n\n{tables(module)}\n"
        f"{title('Names', '-')}\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{names}\n"
    )


def top_page() -> str:
    """Return the page of the top level: names that live nowhere else, and links to the others."""
    homes = {n: m for m in MODULES for n in public_names(importlib.import_module(f"calibrant.{m}"))}
    names = sorted((n for n in dir(calibrant) if n[0] != "_" and callable(getattr(calibrant, n))), key=str.lower)
    own = "\n".join(f"   ~calibrant.{n}" for n in names if n not in homes)
    others = "\n".join(f"   ~calibrant.{homes[n]}.{n}" for n in names if n in homes)
    return (
        f"{title('calibrant')}\n{calibrant.__doc__}\n\n"
        f".. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{own}\n\n"
        f"Also at the top level:\n\n.. autosummary::\n   :nosignatures:\n\n{others}\n"
    )


def commands_page() -> str:
    """Return the help of every command, as it is printed."""
    from calibrant.cli import main
    from calibrant.cli.application import COMMANDS

    parts = [title("Commands"), "What ``calibrant COMMAND --help`` prints.\n"]
    for command in COMMANDS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            main([command, "--help"])
        text = "\n".join(f"   {line.rstrip()}" for line in out.getvalue().splitlines())
        parts += [title(f"calibrant {command}", "-"), f".. code-block:: text\n\n{text}\n"]
    return "\n".join(parts)


def write_if_changed(path: Path, text: str) -> None:
    """Write a page, unless it is there already: an unchanged page is not built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_pages(app: Any, _: Any) -> None:
    """Write all pages of the reference."""
    folder = Path(app.srcdir) / "reference"
    pages = {"calibrant": top_page(), "commands": commands_page()}
    pages |= {module: module_page(module) for module in MODULES}
    for name, text in pages.items():
        write_if_changed(folder / f"{name}.rst", text)


def skip_member(_app: Any, _what: str, name: str, _obj: Any, skip: bool, _options: Any) -> bool:
    """Leave out the methods that scikit-learn adds for its metadata routing."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before autosummary looks for what they list."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
