"""PyTorch without its compiler, which an optimiser would load and not use: that takes longer than a small training."""

import sys
from types import ModuleType

import torch


def stand_in(name):
    """Return what stands for `disable`, `graph_break` and others; a module without a file has no `__file__`."""
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda function=None, *_, **__: function


torch._dynamo = sys.modules["torch._dynamo"] = ModuleType("torch._dynamo")
torch._dynamo.__getattr__ = stand_in
