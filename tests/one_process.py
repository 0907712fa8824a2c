"""Simulations without processes of their own, whose start takes longer than a small simulation."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

from calibrant.lab import runner


@contextmanager
def one_process():
    """Let workers be threads of this process, and warnings be none of its business."""
    threads = patch.object(runner, "ProcessPoolExecutor", lambda jobs, **_: ThreadPoolExecutor(jobs))
    with threads, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
