"""Public names of a package, imported on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports its names on first use.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    homes : mapping of str to str
        The module that holds each name; the package itself where the name is that of one of its modules.

    Examples
    --------
    >>> import calibrant.trees
    >>> laplace = attributes("calibrant.trees", {"laplace": "calibrant.counts"})("laplace")
    >>> laplace([3, 1]).tolist()  # (3 + 1) / (4 + 2)
    [0.6666666666666666, 0.3333333333333333]
    """

    def attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return attribute


def from_stub(
    package: str, file: str, unlisted: str = ""
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose public names are listed in the stub beside it.

    The names are listed once, in a file that type checkers read too.

    Parameters
    ----------
    package, file : str
        The package's `__name__` and `__file__`.
    unlisted : str, optional
        A module whose names can be imported from the package, but are left out of `__all__` and so of `help(package)`.
    """
    homes: dict[str, str] = {}
    home = ""
    # Read word by word: `ast` and `pathlib` take longer to import than all else that `import calibrant` needs.
    with open(f"{file}i", encoding="utf-8") as stub:  # noqa: PTH123
        for line in stub:
            words = line.replace(",", " ").split()
            home = words[1] if words[:1] == ["from"] else home
            homes |= {words[place + 1]: home for place, word in enumerate(words) if word == "as"}
    listed = sorted(name for name, home in homes.items() if home != unlisted)
    return attributes(package, homes), lambda: sorted({*homes, *_special(package)}), listed


def _special(package: str) -> list[str]:
    """Return names such as `__version__`; what the package imports for itself is not offered for completion."""
    return [name for name in vars(sys.modules[package]) if name.startswith("__")]
