"""Kernel values of a tile from its distances; one lane function a kernel."""

from collections.abc import Callable
from typing import Any

from calibrant._native.compile import glue, piece
from calibrant._native.exp import exp, log, log1p
from calibrant._native.lanes import LANES, if_less, load, multiply_add, repeat, root, smaller, store

# What happens to a distance before the profile, and which profile: numbers that compiled code compares.
AS_IT_IS, ROOT, SQUARE = range(3)
EXPONENTIAL, MATERN32, MATERN52, GAMMA, RATIONAL = range(5)


@glue
def _exponential(x: Any, _: float) -> Any:
    return exp(x)


@glue
def _matern32(x: Any, _: float) -> Any:
    return (1.0 - x) * exp(x)


@glue
def _matern52(x: Any, _: float) -> Any:
    return multiply_add(x * (1.0 / 3.0) - 1.0, x, repeat(1.0)) * exp(x)


@glue
def _gamma(x: Any, shape: float) -> Any:
    # The logarithm takes normal numbers only; the power of a smaller one is taken as 0. At e^700 the kernel is 0.
    power = exp(smaller(log(x) * shape, repeat(700.0)))
    return exp(0.0 - if_less(x, repeat(1e-300), repeat(0.0), power))


@glue
def _rational(x: Any, shape: float) -> Any:
    return exp(log1p(x) * (0.0 - shape))


def _applied(profile: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that turns `count` distances into profile(scale * distance) * product, in place."""

    @piece
    def apply(distances: Any, products: Any, count: int, scale: float, shape: float) -> None:
        for i in range(0, count, LANES):
            store(distances, i, profile(load(distances, i) * scale, shape) * load(products, i))

    return apply


_apply_exponential = _applied(_exponential)
_apply_matern32 = _applied(_matern32)
_apply_matern52 = _applied(_matern52)
_apply_gamma = _applied(_gamma)
_apply_rational = _applied(_rational)


@glue
def transform(values: Any, count: int, power: int) -> None:
    """Take the root or the square of every distance."""
    if power == ROOT:
        for i in range(0, count, LANES):
            store(values, i, root(load(values, i)))
    elif power == SQUARE:
        for i in range(0, count, LANES):
            store(values, i, load(values, i) * load(values, i))


@glue
def apply_profile(problem: Any, values: Any, products: Any, count: int) -> None:
    """Turn distances into kernel values times products; the choice is made once a tile, outside the loops."""
    scale, shape = problem.scale, problem.shape
    if problem.profile == EXPONENTIAL:
        _apply_exponential(values, products, count, scale, shape)
    elif problem.profile == MATERN32:
        _apply_matern32(values, products, count, scale, shape)
    elif problem.profile == MATERN52:
        _apply_matern52(values, products, count, scale, shape)
    elif problem.profile == GAMMA:
        _apply_gamma(values, products, count, scale, shape)
    else:
        _apply_rational(values, products, count, scale, shape)
