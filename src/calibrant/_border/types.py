"""Names for the arrays that pass between modules."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

Scalar = TypeVar("Scalar", bound=np.generic)
"""Element type of an array, for functions that return the same type."""

RowIndex: TypeAlias = NDArray[np.integer | np.bool_] | Sequence[int] | slice
"""A choice of rows: indices, a mask, or a slice."""

Rng: TypeAlias = np.random.Generator | int | None
"""Whatever `numpy.random.default_rng` accepts: a generator, a seed, or None for a fresh one."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, total steps) during long work; the total is 0 if it is unknown."""

Evaluator: TypeAlias = Callable[[NDArray[Any]], FloatArray]
"""Maps a matrix with one column per replicate, (n, B), to B values."""
