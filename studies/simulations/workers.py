"""Worker processes. This module imports no NumPy: its libraries read their number of threads when they are loaded."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studies.simulations.units import Unit

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What the usual linear algebra libraries obey."""


def start_worker() -> None:
    """Give the worker one thread, and let an interrupt from the terminal end it at once."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def complete(unit: "Unit", cache: Path) -> str:
    """Compute a unit in a worker."""
    from studies.simulations import units

    return units.complete(unit, cache)


def run(todo: Sequence["Unit"], cache: Path, jobs: int) -> None:
    """Complete the units in order, on `jobs` processes; an interrupt loses only those under way."""
    cache.mkdir(parents=True, exist_ok=True)
    waiting = list(reversed(todo))
    active: set[Future[str]] = set()
    done = 0
    # Spawned, not forked: nothing of this process, such as its loaded libraries, is inherited.
    workers = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=start_worker)
    with _own_interrupt_first(), workers as pool:
        while waiting or active:
            while waiting and len(active) < jobs:
                active.add(pool.submit(complete, waiting.pop(), cache))
            finished, active = wait(active, return_when=FIRST_COMPLETED)
            for future in finished:
                done += 1
                sys.stderr.write(f"[{done}/{len(todo)}] {future.result()}\n")
            sys.stderr.flush()


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
