"""Exponential and logarithm of lanes, within two units in the last place, by arithmetic alone."""

from typing import Any

import numpy as np

from calibrant._native.compile import entry, glue, piece
from calibrant._native.lanes import (
    LANES,
    exponent,
    if_less,
    load,
    mantissa,
    multiply_add,
    repeat,
    store,
    times_power_of_two,
)

_PER_LOG2 = 1.4426950408889634
# ln 2 in two parts; the first has 33 bits, so that its product with an exponent is exact.
_LOG2_HIGH = 0.6931471803691238
_LOG2_LOW = 1.9082149292705877e-10
# Adding 1.5 * 2**52 rounds to the nearest integer and leaves it in the low bits.
_SHIFT = 6755399441055744.0
# Below this the result would not be a normal number; it is taken as 0.
_LOWEST = -708.0
# (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, interpolated at the ten Chebyshev points: the error of e^r is 2e-17.
_E = (
    0.5000000000000001,
    0.16666666666666669,
    0.04166666666662413,
    0.008333333333330062,
    0.0013888888917213717,
    0.00019841269863053618,
    2.4801521295954376e-05,
    2.7557268459997064e-06,
    2.7620088445409746e-07,
    2.510038549551032e-08,
)
# Series of log((1 + s) / (1 - s)) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...): s^2 < 0.03, so the next term is below 1e-17.
_L = tuple(2.0 / odd for odd in range(3, 23, 2))


@piece
def exp(x: Any) -> Any:
    """Return e**x for x <= 708, and 0 below -708."""
    shifted = multiply_add(x, repeat(_PER_LOG2), repeat(_SHIFT))
    k = shifted - _SHIFT
    r = multiply_add(k, repeat(-_LOG2_LOW), multiply_add(k, repeat(-_LOG2_HIGH), x))
    q = multiply_add(repeat(_E[9]), r, repeat(_E[8]))
    q = multiply_add(q, r, repeat(_E[7]))
    q = multiply_add(q, r, repeat(_E[6]))
    q = multiply_add(q, r, repeat(_E[5]))
    q = multiply_add(q, r, repeat(_E[4]))
    q = multiply_add(q, r, repeat(_E[3]))
    q = multiply_add(q, r, repeat(_E[2]))
    q = multiply_add(q, r, repeat(_E[1]))
    q = multiply_add(q, r, repeat(_E[0]))
    q = multiply_add(multiply_add(q, r, repeat(1.0)), r, repeat(1.0))
    return if_less(x, repeat(_LOWEST), repeat(0.0), times_power_of_two(q, shifted))


@piece
def log(x: Any) -> Any:
    """Return the natural logarithm of a positive normal number."""
    k = exponent(x)
    f = mantissa(x) - 1.0
    s = f / (f + 2.0)
    z = s * s
    q = multiply_add(repeat(_L[9]), z, repeat(_L[8]))
    q = multiply_add(q, z, repeat(_L[7]))
    q = multiply_add(q, z, repeat(_L[6]))
    q = multiply_add(q, z, repeat(_L[5]))
    q = multiply_add(q, z, repeat(_L[4]))
    q = multiply_add(q, z, repeat(_L[3]))
    q = multiply_add(q, z, repeat(_L[2]))
    q = multiply_add(q, z, repeat(_L[1]))
    q = multiply_add(q, z, repeat(_L[0]))
    small = multiply_add(k, repeat(_LOG2_LOW), s * z * q)
    return multiply_add(k, repeat(_LOG2_HIGH), small + (s + s))


@glue
def log1p(u: Any) -> Any:
    """Return log(1 + u) for u >= 0, accurate for small u too."""
    y = u + 1.0
    return log(y) + (u - (y - 1.0)) / y


@entry
def exp_of(x: Any) -> Any:
    """Return e**x of a flat array."""
    padded = np.zeros((len(x) + LANES - 1) // LANES * LANES)
    padded[: len(x)] = x
    for i in range(0, len(padded), LANES):
        store(padded, i, exp(load(padded, i)))
    return padded[: len(x)]


@entry
def log_of(x: Any) -> Any:
    """Return log(x) of a flat array."""
    padded = np.ones((len(x) + LANES - 1) // LANES * LANES)
    padded[: len(x)] = x
    for i in range(0, len(padded), LANES):
        store(padded, i, log(load(padded, i)))
    return padded[: len(x)]
