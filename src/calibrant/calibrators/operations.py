"""A calibration map as a list of elementary operations, from which the PyTorch and ONNX forms are built.

To be exportable, a calibrator defines its map a second time, in terms of `Value`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Node:
    """One operation; its inputs are the places of earlier operations in the list."""

    operation: str
    inputs: tuple[int, ...]
    settings: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class Program:
    """Operations in order: the first is the input, and the result of the last is the output."""

    nodes: list[Node] = field(default_factory=list)

    def add(self, operation: str, *inputs: "Value", **settings: object) -> "Value":
        """Append an operation and return its result."""
        self.nodes.append(Node(operation, tuple(value.place for value in inputs), settings))
        return Value(self, len(self.nodes) - 1)

    def constant(self, array: object) -> "Value":
        """Append a number or an array and return it as a value."""
        return self.add("constant", array=np.asarray(array))


@dataclass(frozen=True, eq=False)
class Value:
    """The result of an operation: n rows of numbers, or a constant.

    Operations broadcast as in NumPy; those on rows act along the last axis and keep it.
    """

    program: Program
    place: int

    def apply(self, operation: str, *others: object, **settings: object) -> "Value":
        """Return the result of an operation on this value and others."""
        values = (other if isinstance(other, Value) else self.program.constant(other) for other in others)
        return self.program.add(operation, self, *values, **settings)

    def __add__(self, other: object) -> "Value":
        return self.apply("add", other)

    def __sub__(self, other: object) -> "Value":
        return self.apply("sub", other)

    def __mul__(self, other: object) -> "Value":
        return self.apply("mul", other)

    def __truediv__(self, other: object) -> "Value":
        return self.apply("div", other)

    def __neg__(self) -> "Value":
        return self.apply("neg")

    def __lt__(self, other: object) -> "Value":
        return self.apply("less", other)

    def equals(self, other: object) -> "Value":
        """Return where both are equal."""
        return self.apply("equal", other)

    def exp(self) -> "Value":
        """Return the exponential."""
        return self.apply("exp")

    def log(self) -> "Value":
        """Return the natural logarithm."""
        return self.apply("log")

    def log1p(self) -> "Value":
        """Return ln(1 + x), accurate for small x."""
        return self.apply("log1p")

    def at_least(self, other: object) -> "Value":
        """Return the larger of both."""
        return self.apply("max", other)

    def at_most(self, other: object) -> "Value":
        """Return the smaller of both."""
        return self.apply("min", other)

    def clip(self, low: object, high: object) -> "Value":
        """Return the values limited to the range between both bounds."""
        return self.at_least(low).at_most(high)

    def rounded(self, decimals: int) -> "Value":
        """Return the values rounded to the given decimals, as in NumPy."""
        scale = 10.0**decimals
        return (self * scale).apply("round") / scale

    def choose(self, yes: object, no: object) -> "Value":
        """Return one value where this one is true, and the other elsewhere."""
        return self.apply("where", yes, no)

    def total(self) -> "Value":
        """Return the sum of every row, (n, 1)."""
        return self.apply("sum")

    def largest(self) -> "Value":
        """Return the maximum of every row, (n, 1)."""
        return self.apply("largest")

    def columns(self, places: Sequence[int]) -> "Value":
        """Return the columns at these places."""
        return self.apply("columns", np.asarray(places, dtype=np.int64))

    def beside(self, *others: "Value") -> "Value":
        """Return the columns of this value and of others side by side."""
        return self.apply("beside", *others)

    def after(self, filler: float, width: int) -> "Value":
        """Return the value preceded by `width` columns of a constant."""
        return self.apply("after", filler=filler, width=width)

    def times_matrix(self, matrix: NDArray[np.generic]) -> "Value":
        """Return the product with a constant matrix."""
        return self.apply("matmul", matrix)

    def search(self, knots: NDArray[np.generic], side: str) -> "Value":
        """Return the index at which each entry would be inserted into ascending constants, as `np.searchsorted`."""
        return self.apply("search", np.asarray(knots, dtype=np.float64), side=side)

    def look_up(self, table: NDArray[np.generic]) -> "Value":
        """Return the entries of a constant vector at the indices in this value."""
        return self.apply("look_up", np.asarray(table, dtype=np.float64))

    def argsort(self) -> "Value":
        """Return the indices that sort each row, ascending."""
        return self.apply("argsort")

    def along(self, places: "Value") -> "Value":
        """Return the entries of each row at its own indices, as `np.take_along_axis`."""
        return self.apply("along", places)

    def running_sum(self) -> "Value":
        """Return the cumulative sums of each row."""
        return self.apply("running_sum")

    def running_max(self, width: int) -> "Value":
        """Return the running maxima of each row, which has `width` entries."""
        return self.apply("running_max", width=width)

    def is_first_largest(self, n_columns: int) -> "Value":
        """Return a mask of the first of the largest entries of each row."""
        return self.apply("argmax").equals(np.arange(n_columns, dtype=np.int64))


def check_own(calibrator: object, name: str) -> None:
    """Refuse operations that a class inherits from another package, because its own map may differ."""
    kind = type(calibrator)
    if getattr(kind, name).__module__.partition(".")[0] != kind.__module__.partition(".")[0]:
        raise InputError(
            f"{kind.__name__} cannot be exported: the class must define {name}, its map in terms of "
            "calibrant.calibrators.operations."
        )


def log_softmax(x: Value) -> Value:
    """Return the logarithm of the softmax of every row."""
    shifted = x - x.largest()
    return shifted - shifted.exp().total().log()


def softmax(x: Value) -> Value:
    """Return the softmax of every row."""
    powers = (x - x.largest()).exp()
    return powers / powers.total()


def softplus(x: Value) -> Value:
    """Return ln(1 + exp(x))."""
    return x.at_least(0.0) + (-x.at_least(-x)).exp().log1p()


def log_add_exp(x: Value, y: Value) -> Value:
    """Return ln(exp(x) + exp(y))."""
    high, low = x.at_least(y), x.at_most(y)
    # The difference of -inf and -inf is not defined.
    return high.equals(-np.inf).choose(-np.inf, high + (low - high).exp().log1p())


def expit(x: Value) -> Value:
    """Return the probability of log-odds."""
    return x.program.constant(1.0) / ((-x).exp() + 1.0)


def logit(p: Value) -> Value:
    """Return the log-odds of a probability, infinite for 0 and 1."""
    return p.log() - (-p).log1p()


def of_log_odds(log_odds: Value) -> Value:
    """Return the logarithms of both probabilities, (n, 2)."""
    return (-softplus(log_odds)).beside(-softplus(-log_odds))


def uniform(x: Value, k: int) -> Value:
    """Return the logarithm of 1 / k for every class."""
    return x.equals(x).choose(0.0, 0.0) - float(np.log(k))


def affine(x: Value, coef: NDArray[np.floating], intercept: NDArray[np.floating]) -> Value:
    """Return the product with a matrix, or with its diagonal, plus the intercepts."""
    return (x * coef if coef.ndim == 1 else x.times_matrix(coef.T)) + intercept


def mixture(weights: Iterable[float], members: Iterable[Value]) -> Value:
    """Return the logarithm of the weighted mean of the exponentials of the members."""
    return reduce(log_add_exp, [x + float(np.log(w)) for w, x in zip(weights, members, strict=True)])
