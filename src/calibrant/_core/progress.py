"""Progress of long computations, reported to a listener such as the progress bar of a command.

Functions that take long have a callback as an argument. But a calibrator is fitted with the arguments of scikit-learn,
and the search that takes the time is several calls below. So the search reports its steps, and a listener that
surrounds the whole call receives them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from calibrant._border.types import Progress

Item = TypeVar("Item")

_LISTENER: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def listening(progress: Progress | None) -> Iterator[None]:
    """Report the steps of the body, in this thread, to a callback; None for no report.

    Examples
    --------
    >>> with listening(lambda done, total: print(done, "of", total)):
    ...     for letter in told("ab", 2):
    ...         print(letter)
    a
    1 of 2
    b
    2 of 2
    """
    before = _LISTENER.set(progress)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def tell(done: int, total: int = 0) -> None:
    """Report how many steps are done; a total of 0 means that their number is unknown."""
    progress = _LISTENER.get()
    if progress is not None:
        progress(done, total)


@contextmanager
def portion(done: int, total: int) -> Iterator[None]:
    """Report the steps of the body as parts of one step of several, after those that are done.

    Examples
    --------
    >>> with listening(lambda done, total: print(done, "of", total)), portion(1, 2):
    ...     tell(3, 10)
    ...     tell(7)
    13 of 20
    7 of 0
    """
    progress = _LISTENER.get()
    if progress is None:
        yield
        return
    with listening(lambda inner, of: progress(done * of + inner, total * of)):
        yield


def portions(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items; steps reported while an item is in use are parts of its step.

    Examples
    --------
    >>> with listening(lambda done, total: print(done, "of", total)):
    ...     for _ in portions("ab"):
    ...         tell(1, 3)
    1 of 6
    4 of 6
    """
    for done, item in enumerate(items):
        with portion(done, len(items)):
            yield item


def told(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield at most `total` items, and report each as done when the next is requested."""
    for done, item in enumerate(items, start=1):
        yield item
        tell(done, total)
