"""Sums term by term, for targets with few neighbours: no rounding but that of the terms, and rows left out exactly."""

from typing import Any

from calibrant._native.compile import glue, piece
from calibrant._native.exp import exp
from calibrant._native.lanes import LANES, broadcast, larger, load, multiply_add, repeat, store
from calibrant._native.line.kernels import EPANECHNIKOV, GAUSSIAN


@glue
def kernel_lanes(code: int, u: Any) -> Any:
    """Return the kernel at distances u, in bandwidths."""
    if code == GAUSSIAN:
        return exp(u * u * -0.5)
    base = larger(repeat(1.0) - u * u, repeat(0.0))
    return base if code == EPANECHNIKOV else base * base * base


@glue
def add_charges(total: Any, values: Any, tile: Any, first: int, last: int, skip: int) -> Any:
    """Add the charges of up to `LANES` rows from `first`, times the kernel values of these rows, to the total."""
    if first <= skip < first + LANES:
        values[skip - first] = 0.0
    for lane in range(last - first, LANES):
        values[lane] = 0.0
    other = repeat(0.0)
    for lane in range(0, LANES, 2):
        at = (first + lane) * tile.width
        total = multiply_add(broadcast(values, lane), load(tile.charges, at), total)
        other = multiply_add(broadcast(values, lane + 1), load(tile.charges, at + tile.width), other)
    return total + other


@glue
def _add_rows(total: Any, sources: Any, tile: Any, target: Any, rows: Any) -> Any:
    """Add the rows first..last - 1, at mirror + sign * position, to the total."""
    first, last, sign, mirror = rows
    x, skip, values = target
    for j in range(first, last, LANES):
        u = (load(sources.x, j) * sign + (mirror - x)) * sources.per_bandwidth
        store(values, 0, kernel_lanes(sources.code, u))
        total = add_charges(total, values, tile, j, last, skip)
    return total


@piece
def sum_directly(sources: Any, tile: Any, target: Any, low: int, high: int) -> Any:
    """Return the sum over the rows and images with extended numbers low..high - 1.

    The target is its position, the number of the row to leave out with all of its images (or -1), and room for
    `LANES` values.
    """
    n = sources.n
    total = repeat(0.0)
    if low < 0:
        total = _add_rows(total, sources, tile, target, (max(0, -high), -low, -1.0, 0.0))
    if low < n and high > 0:
        total = _add_rows(total, sources, tile, target, (max(low, 0), min(high, n), 1.0, 0.0))
    if high > n:
        total = _add_rows(total, sources, tile, target, (2 * n - high, min(n, 2 * n - low), -1.0, 2.0))
    return total
