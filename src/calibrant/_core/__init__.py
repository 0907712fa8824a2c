"""The compiled core: sums over pairs of rows, kernel sums on a line, and draws; built when the package is installed.

`pairs` and `line` are thin interfaces to compiled C. `twin` and `line.twin` compute the same in plain NumPy: they are
the oracle of the compiled code, and replace it where it could not be built. `engine` chooses between them.
"""

import os
from types import ModuleType

from calibrant._core.library import library


def engine() -> ModuleType:
    """Return the module of pair sums that this installation has: `pairs`, or `twin` without the compiled library."""
    from calibrant._core import pairs, twin

    return twin if library() is None else pairs


def description() -> str:
    """Return a description of the core in use."""
    core = library()
    if core is not None:
        return f"compiled, level {core.level}"
    wanted = os.environ.get("CALIBRANT_CORE") == "numpy"
    return f"NumPy, because {'CALIBRANT_CORE says so' if wanted else 'nothing was compiled'}"
