"""For processes that train a moment: PyTorch without its compiler, which an optimiser would load and not use.

To load it takes longer than the training.
"""

import sys
from types import ModuleType

import torch

torch._dynamo = sys.modules["torch._dynamo"] = ModuleType("torch._dynamo")
torch._dynamo.__getattr__ = lambda _: lambda function=None, *_, **__: function  # Such as `disable`, `graph_break`.
