"""Global settings of PyTorch that hold for a while: they are as before afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let initial weights and dropout on the processor depend on the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def threaded(threads: int | None) -> Iterator[None]:
    """Let PyTorch use a number of threads; None leaves it as it is."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
