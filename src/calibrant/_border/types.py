"""Names for the arrays that pass between modules."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

Scalar = TypeVar("Scalar", bound=np.generic)
"""What an array holds, where a function gives back the same."""

RowIndex: TypeAlias = NDArray[np.integer | np.bool_] | Sequence[int] | slice
"""What chooses rows: their numbers, a flag per row, or a range."""

Rng: TypeAlias = np.random.Generator | int | None
"""Whatever `numpy.random.default_rng` accepts: a generator, a seed, or None for a fresh one."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, steps in all) while long work runs; 0 in all if nobody knows how many there will be."""

Evaluator: TypeAlias = Callable[[NDArray[Any]], FloatArray]
"""Maps a matrix with one column per replicate, (n, B), to B values."""
