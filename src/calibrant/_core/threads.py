"""Thread pools that return results in the order of the jobs, so that sums do not depend on the number of threads."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

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
    """Run task on every job, on n_threads threads, and yield the results in the order of the jobs.

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


def run_all(task: Callable[[Job], None], jobs: Sequence[Job], n_threads: int | None = None) -> None:
    """Run task on every job, like `in_order`, without results."""
    for _ in in_order(task, jobs, n_threads):
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
