"""A calibrator as a PyTorch module."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from calibrant.calibrators.operations import Program

_OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "neg": torch.neg,
    "less": torch.lt,
    "equal": torch.eq,
    "exp": torch.exp,
    "log": torch.log,
    "log1p": torch.log1p,
    "max": torch.maximum,
    "min": torch.minimum,
    "round": torch.round,
    "where": torch.where,
    "sum": lambda x: x.sum(dim=1, keepdim=True),
    "largest": lambda x: x.amax(dim=1, keepdim=True),
    "argmax": lambda x: x.argmax(dim=1, keepdim=True),
    "columns": lambda x, places: x.index_select(1, places),
    "beside": lambda *parts: torch.cat(parts, dim=1),
    "after": lambda x, filler, width: nn.functional.pad(x, (width, 0), value=filler),
    "matmul": torch.matmul,
    "search": lambda x, knots, side: torch.searchsorted(knots, x.contiguous(), right=side == "right"),
    "look_up": lambda places, table: table[places],
    "argsort": lambda x: x.argsort(dim=1),
    "along": lambda x, places: x.gather(1, places),
    "running_sum": lambda x: x.cumsum(dim=1),
    "running_max": lambda x, **_: x.cummax(dim=1).values,
}


class CalibrationModule(nn.Module):
    """The fitted map of a calibrator, in double precision.

    Its constants are buffers: they move with the module, are part of its state, and are not trained. Gradients flow
    through the map to the scores.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._nodes = program.nodes
        last_use = {place: i for i, node in enumerate(program.nodes) for place in node.inputs}
        self._done_with: list[list[int]] = [[] for _ in program.nodes]
        for place, i in last_use.items():
            self._done_with[i].append(place)
        for i, node in enumerate(program.nodes):
            if node.operation == "constant":
                self.register_buffer(f"constant_{i}", torch.tensor(node.settings["array"]))

    def forward(self, scores: Tensor) -> Tensor:
        """Return calibrated probabilities, (n, K), for scores of the calibrator's kind, (n, K), or raw ones, (n,)."""
        values: dict[int, Tensor] = {}
        for i, node in enumerate(self._nodes):
            if node.operation == "input":
                values[i] = scores.double().reshape(scores.shape[0], -1)
            elif node.operation == "constant":
                values[i] = getattr(self, f"constant_{i}")
            else:
                inputs = [values[place] for place in node.inputs]
                values[i] = _OPERATIONS[node.operation](*inputs, **node.settings)
            for place in self._done_with[i]:
                del values[place]
        return values[len(self._nodes) - 1]
