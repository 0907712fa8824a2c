"""Threads of our own, and results in the order of the jobs, so that a sum does not depend on how many there are."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def available_threads() -> int:
    """Return the number of processors that this process may use, at most OMP_NUM_THREADS if that is set.

    Whoever runs several processes, such as joblib, sets it in each, so that their threads do not wait for each other.
    """
    n_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(n_processors, int(limit)) if limit.isdecimal() and int(limit) > 0 else n_processors


def in_order(task: Callable[[Job], Result], jobs: Sequence[Job], n_threads: int | None = None) -> Iterator[Result]:
    """Run task on every job, on n_threads threads, and yield the results in the order of the jobs.

    Few results wait at any time, however many jobs there are. The threads end with the iteration: a pool that outlived
    the call would be dead, and block, in a process that forks afterwards.
    """
    n_threads = min(n_threads or available_threads(), len(jobs))
    if n_threads <= 1:
        yield from map(task, jobs)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for job in jobs:
            waiting.append(pool.submit(task, job))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
