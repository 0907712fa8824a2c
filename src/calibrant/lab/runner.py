"""Running units of work, in this process or in several, so that a run that stopped can continue.

Experiments and the simulations of `studies` run here. A worker imports this module before its number of threads is
set, and the libraries of NumPy read that number when they are loaded: NumPy must not be imported here.
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
"""What the usual linear algebra libraries obey."""


def complete(
    todo: "Sequence[Work]",
    store: "Store",
    compute: "Callable[[Work], bytes]",
    tell: "Callable[[Work, float], None]",
    *,
    jobs: int = 0,
) -> None:
    """Compute units in order and keep their results; a run that is stopped loses only the units under way.

    Parameters
    ----------
    todo : sequence of Unit
        Those that are missing or damaged: see `Store.missing`. Without workers, a unit may need those before it.
    store : Store
    compute : callable
        Returns the content of the file of a unit. For workers, it is defined at the top of a module.
    tell : callable
        Called with a unit that is complete and the seconds that it took.
    jobs : int
        Worker processes, each with one thread; 0 computes in this process.
    """
    if jobs == 0:
        for unit in todo:
            tell(unit, _keep(unit, store, compute))
        return
    waiting = list(reversed(todo))
    active: dict[Future[float], Work] = {}
    # Spawned, not forked: nothing of this process, such as its loaded libraries, is inherited.
    workers = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=start_worker)
    with _own_interrupt_first(), workers as pool:
        while waiting or active:
            while waiting and len(active) < jobs:
                unit = waiting.pop()
                active[pool.submit(_keep, unit, store, compute)] = unit
            for future in wait(active, return_when=FIRST_COMPLETED).done:
                tell(active.pop(future), future.result())


def start_worker() -> None:
    """Give the worker one thread, and let an interrupt from the terminal end it at once."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _keep(unit: "Work", store: "Store", compute: "Callable[[Work], bytes]") -> float:
    """Compute a unit and keep its result; return how long it took."""
    started = time.monotonic()
    store.write(unit, compute(unit))
    return time.monotonic() - started


@contextmanager
def _own_interrupt_first() -> Iterator[None]:
    """Tell an interrupt from a failure: a terminal sends it to every process, and that of a worker may come first.

    It is also noted: a shell makes what it starts in the background ignore it, and a callback may swallow it.
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
