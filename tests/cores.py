"""Run with another core than the one that this machine would choose."""

import os
from contextlib import contextmanager
from unittest.mock import patch

from calibrant._core import threads
from calibrant._core.library import library


def _levels():
    chosen = library()
    return [level for level in ("v1", "v3", "v4") if chosen is not None and level <= chosen.level]


LEVELS = _levels()
"""The levels of the compiled library that this processor runs."""


def on_threads(n):
    """Use this number of threads, however many processors there are."""
    return patch.object(threads, "available_threads", lambda: n)


@contextmanager
def core(name):
    """Take the level "v1", "v3" or "v4" of the compiled library, or "numpy" for none."""
    with patch.dict(os.environ, CALIBRANT_CORE=name):
        library.cache_clear()
        try:
            yield
        finally:
            library.cache_clear()
