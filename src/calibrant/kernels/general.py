"""Any function of two pairs of a prediction and a target as a kernel."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions

GeneralKernel = Callable[[tuple[Any, Any], tuple[Any, Any]], float]
"""Any function of two pairs of a prediction and a target."""

STREAM = 0x47656E65
"""Keeps the draws independent of those of a generator that a caller makes from the same seed."""

MOST_SHARES = 16
"""Largest number of shares of the draws from which the standard error is estimated."""


@dataclass(frozen=True)
class SampledKernel:
    """A function of two pairs, with the number of draws that stand for a predictive distribution.

    Parameters
    ----------
    function : callable
        Maps two pairs ``(prediction, target)`` to a number, the same in both orders. A prediction is a vector of
        probabilities, or a distribution of one row.
    n_draws : int, default=64
        Draws of each row, a multiple of 4; class predictions need none. A plain function given to `SKCE` uses 64.
    seed : int, default=0
        Same seed, same draws.

    Notes
    -----
    Expectations over forecasts are means over draws. Draw s of one row meets draw s + n_draws / 2 of the other,
    cyclically: they are independent, also for a row with itself, and the value is the same in both orders. Which draws
    a row gets depends on its law, its target and its weight, not on its place among the rows.

    Examples
    --------
    >>> kernel = SampledKernel(lambda one, other: math.exp(-abs(one[1] - other[1])), n_draws=256)
    >>> kernel((None, 1.0), (None, 1.0))
    1.0
    """

    function: GeneralKernel
    n_draws: int = 64
    seed: int = 0
    share: tuple[int, int] = field(default=(0, 1), repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be a function of two pairs (prediction, target), but is {self.function!r}.")
        if isinstance(self.n_draws, bool) or not isinstance(self.n_draws, int) or self.n_draws < 4 or self.n_draws % 4:
            raise InputError(f"n_draws must be a multiple of 4, but is {self.n_draws!r}.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed must be a whole number of at least 0, but is {self.seed!r}.")

    def __call__(self, one: tuple[object, object], other: tuple[object, object]) -> float:
        """Return the value of the function."""
        return self.function(one, other)

    def shares(self) -> "list[SampledKernel]":
        """Return the same kernel with disjoint shares of the draws, whose estimates average to that of all draws."""
        n_shares = math.gcd(self.n_draws // 2, MOST_SHARES)
        return [replace(self, share=(k, n_shares)) for k in range(n_shares)]

    def draws(self, data: Forecasts) -> FloatArray:
        """Return the draws of every row, (n, m) or (n, m, d); draw s meets draw s + m / 2 of another row."""
        order = _order(data)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(STREAM,)))
        drawn = data.distribution.take(order).sample(rng, self.n_draws)
        values = np.empty_like(drawn)
        values[order] = drawn
        share, n_shares = self.share
        first = np.arange(self.n_draws // 2).reshape(n_shares, -1)[share]
        return values[:, np.concatenate([first, first + self.n_draws // 2])]


def as_sampled(kernel: GeneralKernel) -> SampledKernel:
    """Return a `SampledKernel` as it is, and a plain function with the default number of draws."""
    return kernel if isinstance(kernel, SampledKernel) else SampledKernel(kernel)


def general_tile(data: Predictions | Forecasts, kernel: GeneralKernel) -> Callable[[slice, slice], FloatArray]:
    """Return the function that computes a rectangle of H, entry by entry."""
    value = _class_value(data, kernel) if isinstance(data, Predictions) else _forecast_value(data, kernel)

    def tile(i: slice, j: slice) -> FloatArray:
        rows, columns = range(*i.indices(data.n_samples)), range(*j.indices(data.n_samples))
        return np.array([[value(a, b) for b in columns] for a in rows])

    return tile


def _class_value(data: Predictions, kernel: GeneralKernel) -> Callable[[int, int], float]:
    """Return the function that computes an entry of H: the double sum over classes of residuals times kernel values."""
    probs, residuals, classes = data.probs, data.residuals, data.classes

    def value(i: int, j: int) -> float:
        values = [[kernel((probs[i], a), (probs[j], b)) for b in classes] for a in classes]
        return float(residuals[i] @ np.array(values, dtype=float) @ residuals[j])

    return value


def _forecast_value(data: Forecasts, kernel: GeneralKernel) -> Callable[[int, int], float]:
    """Return the function that computes an entry of H: expectations are means over draws that are made once."""
    sampled = as_sampled(kernel)
    laws = [data.distribution.take([i]) for i in range(data.n_samples)]
    draws, targets, k = sampled.draws(data), data.targets, sampled.function
    half = draws.shape[1] // 2

    def value(i: int, j: int) -> float:
        p, q, y, z = laws[i], laws[j], targets[i], targets[j]
        drawn = zip(draws[i], np.roll(draws[j], half, axis=0), strict=True)
        terms = [value for a, b in drawn for value in (k((p, a), (q, b)), -k((p, a), (q, z)), -k((p, y), (q, b)))]
        # An exact sum does not depend on the order of its terms.
        return float(k((p, y), (q, z)) + 3 * math.fsum(terms) / len(terms))

    return value


def _order(data: Forecasts) -> IntArray:
    """Return an order of the rows by content: by draws from their law with one seed for all, then target and weight."""
    keys = [data.distribution.take([i]).sample(np.random.default_rng(0), 2).ravel() for i in range(data.n_samples)]
    columns = np.column_stack([data.weights, data.targets.reshape(data.n_samples, -1), np.array(keys)])
    return np.lexsort(columns.T)
