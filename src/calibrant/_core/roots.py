"""A root between two points: importing `scipy.optimize` would take longer than most commands."""

import math
from collections.abc import Callable

RELATIVE = 4 * 2.0**-52
"""Accuracy of a zero as a share of it, in addition to the one requested."""


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float = 0.0) -> float:
    r"""Return a zero of a continuous function that has different signs at both ends.

    It may be 0 at one of them. What is returned is less than `xtol` plus four units in its last place from a zero.

    Notes
    -----
    Bisection, or inverse quadratic interpolation if the last three points show that it converges: with
    :math:`\xi = (a - b) / (c - b)` and :math:`\varphi = (f_a - f_b) / (f_c - f_b)`, where
    :math:`1 - \sqrt{1 - \xi} < \varphi < \sqrt \xi`.

    References
    ----------
    T. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without
    using derivatives", Advances in Engineering Software 28, 1997.

    Examples
    --------
    >>> round(root(lambda x: x * x - 2, 0, 2, xtol=1e-15) ** 2, 12)
    2.0
    """
    a, b = high, low
    at_a, at_b = function(a), function(b)
    if at_a == 0 or at_b == 0:
        return a if at_a == 0 else b
    if (at_a > 0) == (at_b > 0) or math.isnan(at_a + at_b):
        raise ValueError(f"the function must change its sign between {low} and {high}, but is {at_b} and {at_a} there.")
    step = 0.5
    while True:
        x = a + step * (b - a)
        at_x = function(x)
        # The zero lies between the newest point and the last one on the other side.
        if (at_x > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, at_x
        best, at_best = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        least = (xtol + RELATIVE * abs(best)) / 2 / abs(b - a) if b != a else 1.0
        if at_best == 0 or least > 0.5:
            return best
        step = min(max(_step(a, b, c, at_a, at_b, at_c), least), 1 - least)


def _step(a: float, b: float, c: float, at_a: float, at_b: float, at_c: float) -> float:
    """Return the position of the next point on the way from a to b, between 0 and 1."""
    across, up = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    if not (up**2 < across and (1 - up) ** 2 < 1 - across):
        return 0.5
    return at_a / (at_b - at_a) * at_c / (at_b - at_c) + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
