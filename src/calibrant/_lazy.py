"""Public names of a package that are imported when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose modules are loaded by the first use of one of their names.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    homes : mapping of str to str
        The names that each module holds, separated by blanks; modules are those of the package `calibrant`.

    Examples
    --------
    >>> laplace = attributes("calibrant.counts", {"counts": "laplace m_estimate"})("laplace")
    >>> laplace([3, 1]).tolist()  # (3 + 1) / (4 + 2)
    [0.6666666666666666, 0.3333333333333333]
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"calibrant.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute
