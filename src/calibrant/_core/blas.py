"""Linear algebra on one thread: how sums are shared among threads decides their last digits."""

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
    """Let NumPy and SciPy compute products and factorisations on one thread, and restore what was set before.

    It is for the few computations whose digits would otherwise depend on the number of threads. Our own threads are not
    meant: their sums do not depend on their number. Only the main thread changes settings, as what another thread sets
    does not reliably reach the libraries, nor come back.
    """
    global _depth  # noqa: PLW0603 (the setting that it counts is one of the process)
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
    """Set one thread wherever there are more, and return what there was."""
    found = [(library, library.get_num_threads()) for library in _libraries("scipy.linalg" in sys.modules)]
    more = [(library, n_threads) for library, n_threads in found if n_threads is not None and n_threads > 1]
    for library, _ in more:
        library.set_num_threads(1)
    return more


@cache
def _libraries(_with_scipy: bool) -> "list[LibController]":
    """Return what controls each library that is loaded; SciPy brings one of its own with its linear algebra."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
