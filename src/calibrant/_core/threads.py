"""Threads whose number changes no digit: pools with results in the order of the jobs, and linear algebra on one thread.

The last digits of the sums of linear algebra depend on how they are split among threads.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import LibController

Job = TypeVar("Job")
Result = TypeVar("Result")

_OURS = threading.local()
"""Has the attribute `is_worker` in the threads of the pools."""


def available_threads() -> int:
    """Return the number of processors that this process may use, at most OMP_NUM_THREADS if that is set.

    Programs that run several processes, such as joblib, set it in each, so that their threads do not compete.
    """
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(n_processors, int(limit)) if limit.isdecimal() and int(limit) > 0 else n_processors


def in_order(task: Callable[[Job], Result], jobs: Iterable[Job], n_threads: int | None = None) -> Iterator[Result]:
    """Run task on every job, by default on all threads, and yield the results in the order of the jobs.

    Only few results wait at any time. If jobs are an iterator, which should yield several, they are made while others
    run. The threads are kept for the next call, because starting them takes longer than most jobs. Jobs of a job run in
    its own thread, so that no thread waits for another.
    """
    n_threads = n_threads or available_threads()
    if isinstance(jobs, Sized):
        n_threads = min(n_threads, len(jobs))
    if getattr(_OURS, "is_worker", False):
        n_threads = 1
    if n_threads <= 1:
        yield from map(task, jobs)
        return
    pool, waiting = _pool(n_threads), deque[Future[Result]]()
    try:
        for job in jobs:
            waiting.append(pool.submit(task, job))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # After a failure, or if the caller stops early, nothing is left running.
        wait([job for job in waiting if not job.cancel()])


def run_all(task: Callable[[Job], None], jobs: Sequence[Job]) -> None:
    """Run task on every job, like `in_order`, without results."""
    for _ in in_order(task, jobs):
        pass


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, "calibrant", initializer=_mark_worker)


def _mark_worker() -> None:
    _OURS.is_worker = True


def _forget() -> None:
    """Drop the pools in a forked process: their threads were not copied, so that they would block."""
    _pool.cache_clear()
    _OURS.__dict__.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


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
    if threading.current_thread() is not threading.main_thread():
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
