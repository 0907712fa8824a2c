"""Public names of a package that are imported when they are first used."""

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose modules are loaded by the first use of one of their names.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    homes : mapping of str to str
        The module that holds each name; the package itself where the name is that of one of its modules.

    Examples
    --------
    >>> laplace = attributes("calibrant.trees", {"laplace": "calibrant.counts"})("laplace")
    >>> laplace([3, 1]).tolist()  # (3 + 1) / (4 + 2)
    [0.6666666666666666, 0.3333333333333333]
    """

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute


def declared(file: str) -> dict[str, str]:
    """Return the public names that the stub beside a package's `__init__.py` imports, and the module of each.

    So the names stand in one place, which type checkers read, too.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = {
        name.asname: str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
        if name.asname
    }
    return dict(sorted(found.items()))
