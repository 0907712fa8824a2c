"""A calibrator as an ONNX model."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from calibrant.calibrators.operations import Program

if TYPE_CHECKING:
    from calibrant._border.types import FloatArray, IntArray


OPSET = 18
IR_VERSION = 8
"""Versions of the operators and of the file format: the oldest that suffice."""

_NEARLY = 1e-3
"""A constant within this of 1 in a product, or of 0 in a sum, would be optimised away by ONNX Runtime."""


class _Graph:
    """Nodes and constants of a graph under construction, with numbered names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, FloatArray | IntArray] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node and return the name of its first output."""
        name = f"v{len(self.nodes)}"
        # The indices that sort are the second output of TopK.
        outputs = [f"{name}_values", name] if operator == "TopK" else [name]
        self.nodes.append(helper.make_node(operator, list(inputs), outputs, name=f"n{len(self.nodes)}", **attributes))
        return name

    def constant(self, value: object) -> str:
        """Store a number or an array and return its name."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name


def _simple(operator: str, **attributes: object) -> Callable[..., str]:
    return lambda graph, *inputs: graph.add(operator, *inputs, **attributes)


def _scaling(operator: str, back: float) -> Callable[..., str]:
    """Return a product or quotient that takes two steps if the constant is nearly 1; see `_NEARLY`."""

    def emit(graph: _Graph, x: str, y: str) -> str:
        factor = graph.constants.get(y)
        if factor is None or factor.size > 1 or abs(float(factor.item()) - 1) > _NEARLY:
            return graph.add(operator, x, y)
        return graph.add("Mul", graph.add(operator, x, graph.constant(2.0 * factor)), graph.constant(back))

    return emit


def _moving(operator: str, opposite: str) -> Callable[..., str]:
    """Return a sum or difference that takes two steps if the constant is nearly 0; see `_NEARLY`."""

    def emit(graph: _Graph, x: str, y: str) -> str:
        offset = graph.constants.get(y)
        if offset is None or offset.size > 1 or abs(float(offset.item())) > _NEARLY:
            return graph.add(operator, x, y)
        moved = graph.add(operator, x, graph.constant(1.0 + offset))
        return graph.add(opposite, moved, graph.constant(1.0))

    return emit


def _log1p(graph: _Graph, x: str) -> str:
    """Return ln(1 + x) as x ln(u) / (u - 1) with u = 1 + x, in which the rounding of u cancels."""
    one = graph.constant(1.0)
    u = graph.add("Add", one, x)
    is_one = graph.add("Equal", u, one)
    difference = graph.add("Where", is_one, one, graph.add("Sub", u, one))
    exact = graph.add("Div", graph.add("Mul", x, graph.add("Log", u)), difference)
    return graph.add("Where", is_one, x, exact)


def _after(graph: _Graph, x: str, filler: float, width: int) -> str:
    widths = graph.constant(np.array([0, width, 0, 0], dtype=np.int64))
    return graph.add("Pad", x, widths, graph.constant(np.float64(filler)), mode="constant")


def _argsort(graph: _Graph, x: str) -> str:
    width = graph.add("Gather", graph.add("Shape", x), graph.constant(np.array([1], dtype=np.int64)))
    return graph.add("TopK", x, width, axis=1, largest=0, sorted=1)


def _search(graph: _Graph, x: str, knots: str, side: str) -> str:
    """Return the number of knots below each entry, by binary search for all entries at once."""
    ascending = graph.constants[knots]
    compare = "Less" if side == "left" else "LessOrEqual"
    size = 1 << max(len(ascending), 1).bit_length()
    # Padding beyond the last knot; `fits` keeps it from being counted.
    padded = graph.constant(np.append(ascending, np.full(size - len(ascending), np.inf)))
    zero = graph.constant(np.int64(0))
    count = graph.add("Where", graph.add("Equal", x, x), zero, zero)
    step = size // 2
    while step:
        tried = graph.add("Add", count, graph.constant(np.int64(step)))
        knot = graph.add("Gather", padded, graph.add("Sub", tried, graph.constant(np.int64(1))))
        fits = graph.add("LessOrEqual", tried, graph.constant(np.int64(len(ascending))))
        count = graph.add("Where", graph.add("And", fits, graph.add(compare, knot, x)), tried, count)
        step //= 2
    return count


def _running_max(graph: _Graph, x: str, width: int) -> str:
    """Return running maxima, by maxima with the entries 1, 2, 4, ... places before."""
    shift = 1
    while shift < width:
        before = _after(graph, x, -np.inf, shift)
        kept = graph.add("Gather", before, graph.constant(np.arange(width, dtype=np.int64)), axis=1)
        x = graph.add("Max", x, kept)
        shift *= 2
    return x


_OPERATIONS: dict[str, Callable[..., str]] = {
    "add": _moving("Add", "Sub"),
    "sub": _moving("Sub", "Add"),
    "mul": _scaling("Mul", 0.5),
    "div": _scaling("Div", 2.0),
    "neg": _simple("Neg"),
    "less": _simple("Less"),
    "equal": _simple("Equal"),
    "exp": _simple("Exp"),
    "log": _simple("Log"),
    "log1p": _log1p,
    "max": _simple("Max"),
    "min": _simple("Min"),
    "round": _simple("Round"),
    "where": _simple("Where"),
    "sum": lambda graph, x: graph.add("ReduceSum", x, graph.constant(np.array([1], dtype=np.int64)), keepdims=1),
    "largest": lambda graph, x: graph.add("ReduceMax", x, graph.constant(np.array([1], dtype=np.int64)), keepdims=1),
    "argmax": _simple("ArgMax", axis=1, keepdims=1),
    "columns": _simple("Gather", axis=1),
    "beside": _simple("Concat", axis=1),
    "after": _after,
    "matmul": _simple("MatMul"),
    "search": _search,
    "look_up": lambda graph, places, table: graph.add("Gather", table, places),
    "argsort": _argsort,
    "along": _simple("GatherElements", axis=1),
    "running_sum": lambda graph, x: graph.add("CumSum", x, graph.constant(np.int64(1))),
    "running_max": _running_max,
}


def as_onnx(program: Program, n_classes: int, *, is_raw: bool) -> bytes:
    """Return the model, checked and serialised."""
    graph = _Graph()
    names: list[str] = []
    for node in program.nodes:
        if node.operation == "input":
            names.append(graph.add("Unsqueeze", "scores", graph.constant(np.array([1]))) if is_raw else "scores")
        elif node.operation == "constant":
            names.append(graph.constant(node.settings["array"]))
        else:
            names.append(_OPERATIONS[node.operation](graph, *(names[i] for i in node.inputs), **node.settings))
    graph.nodes.append(helper.make_node("Identity", [names[-1]], ["probabilities"]))
    used = {name for node in graph.nodes for name in node.input}
    constants = [numpy_helper.from_array(array, name) for name, array in graph.constants.items() if name in used]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "calibrator",
            [helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["n"] if is_raw else ["n", n_classes])],
            [helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["n", n_classes])],
            constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="calibrant",
    )
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())
