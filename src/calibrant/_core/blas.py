"""Linear algebra on one thread: the last digits of sums depend on how they are split among threads."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

_depth = 0
"""How many contexts the main thread has entered."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let NumPy and SciPy use one thread for products and factorisations, and restore the previous setting.

    It is for the few computations whose digits would otherwise depend on the number of threads. The threads of this
    package are not affected: their sums do not depend on their number. Only the main thread changes the setting: a
    change by another thread does not reliably reach the libraries, and is not reliably undone.
    """
    global _depth  # noqa: PLW0603 (the setting belongs to the process)
    if current_thread() is not main_thread():
        yield
        return
    found = [] if _depth else _limit()
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        for library, n_threads in found:
            library.set_num_threads(n_threads)


def _limit() -> "list[tuple[LibController, int]]":
    """Set one thread for each library that uses more, and return the previous numbers."""
    found = [(library, library.get_num_threads()) for library in _libraries("scipy.linalg" in sys.modules)]
    more = [(library, n_threads) for library, n_threads in found if n_threads is not None and n_threads > 1]
    for library, _ in more:
        library.set_num_threads(1)
    return more


@cache
def _libraries(_with_scipy: bool) -> "list[LibController]":
    """Return the controller of each loaded library; SciPy loads its own with its linear algebra."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
