"""Warnings that name the user's line, however many calls of the library are in between."""

import inspect
import warnings

from calibrant.exceptions import DataWarning

PASSED = ("calibrant", "contextlib", "numpy", "sklearn")
"""Packages whose lines are not the user's: this one, and those through which it calls itself."""


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Issue a warning at the innermost line outside these packages.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn("two rows are equal")
    >>> caught[0].category.__name__, str(caught[0].message)
    ('DataWarning', 'two rows are equal')
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
