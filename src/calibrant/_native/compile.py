"""The one way in which this package compiles: without the GIL, cached on disk where the disk allows it."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit


def glue(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy a function into the compiled functions that call it, before they are compiled: for what has few callers."""
    return njit(nogil=True, inline="always")(function)


def piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function once for all compiled functions that call it; LLVM may still copy it into them."""
    return njit(nogil=True)(function)


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls, and keep the machine code on disk.

    Numba decides whether it can write a cache when it decorates, and raises RuntimeError ("no locator available") if
    neither the package's folder nor the user's is writable. The code then lives as long as the process.
    """
    # Numba notices a change in the function's own file only, but the machine code contains functions of others.
    function.__qualname__ = f"{function.__qualname__}_{_version_of_sources()}"
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


def is_cached(function: Any) -> bool:
    """Whether machine code of an `entry`, made from these sources, is on disk."""
    return any(Path(function.stats.cache_path or "").glob(f"*_{_version_of_sources()}-*.nbi"))


@cache
def _version_of_sources() -> str:
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
