"""Names for the arrays that pass between modules."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

Rng: TypeAlias = np.random.Generator | int | None
"""Whatever `numpy.random.default_rng` accepts: a generator, a seed, or None for a fresh one."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, steps in all) while long work runs; 0 in all if nobody knows how many there will be."""

Evaluator: TypeAlias = Callable[[NDArray[Any]], FloatArray]
"""Maps a matrix with one column per replicate, (n, B), to B values."""
