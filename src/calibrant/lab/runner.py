"""Run units of work, in this process or in several, such that a run that was stopped can continue.

Experiments and the simulations in `studies` use it. NumPy must not be imported here: a worker imports this module
before its number of threads is set, and NumPy's libraries read that number when they are loaded.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.lab.store import Store, Work

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The environment variables that the common linear algebra libraries read."""


def complete(
    todo: "Sequence[Work]",
    store: "Store",
    compute: "Callable[[Work], bytes]",
    tell: "Callable[[Work, float], None]",
    *,
    jobs: int = 0,
) -> None:
    """Compute units in order and store their results; a run that is stopped loses only the units in progress.

    `todo` are the missing or damaged units, see `Store.missing`. `compute` returns the content of a unit's file, and
    `tell` is called with each completed unit and its duration in seconds. `jobs` are worker processes, each with one
    thread; for them, `compute` must be defined at the top level of a module. With 0, all is computed in this process,
    and a unit may need those before it.
    """
    if jobs == 0:
        for unit in todo:
            tell(unit, _keep(unit, store, compute))
        return
    waiting = list(reversed(todo))
    active: dict[Future[float], Work] = {}
    # Spawned, not forked, so that workers inherit nothing, such as loaded libraries.
    workers = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=start_worker)
    with _own_interrupt_first(), workers as pool:
        while waiting or active:
            while waiting and len(active) < jobs:
                unit = waiting.pop()
                active[pool.submit(_keep, unit, store, compute)] = unit
            for future in wait(active, return_when=FIRST_COMPLETED).done:
                tell(active.pop(future), future.result())


def start_worker() -> None:
    """Limit the worker to one thread, and let an interrupt from the terminal end it at once."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _keep(unit: "Work", store: "Store", compute: "Callable[[Work], bytes]") -> float:
    """Compute a unit, store its result, and return the duration in seconds."""
    started = time.monotonic()
    store.write(unit, compute(unit))
    return time.monotonic() - started


@contextmanager
def _own_interrupt_first() -> Iterator[None]:
    """Raise KeyboardInterrupt, not BrokenProcessPool, if a worker dies of an interrupt before this process gets it.

    A terminal sends an interrupt to every process. It is recorded here, because background jobs of a shell ignore it,
    and a callback may swallow the exception.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    except BrokenProcessPool as error:
        if not noted:
            time.sleep(2)
        if noted:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
