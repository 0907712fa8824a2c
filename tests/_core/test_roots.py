import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from calibrant._core.roots import root
from naming import each


@given(st.floats(-5, 5), st.floats(0.01, 3), st.floats(0.1, 10), st.floats(0.1, 10))
def test_the_root_is_where_it_was_put(where, steepness, left, right):
    """Monotone functions, from nearly straight lines to nearly steps."""
    found = root(lambda x: math.tanh(steepness * (x - where)), where - left, where + right, xtol=1e-13)
    assert found == pytest.approx(where, abs=1e-12)


@each(
    "function, low, high",
    [
        (lambda x: math.exp(x) - 2, -4, 8),
        (lambda x: x**3 - 1e-3, -1, 1.5),
        (lambda x: x - 1e-3 if x < 0.9 else 3.0, 0, 1),
        (lambda x: math.copysign(1.0, x - 0.3), 0, 1),
        (lambda x: 1 / (x + 1e-9) - 1e6, 0, 1),
    ],
)
def test_it_agrees_with_scipy_in_about_as_many_calls(function, low, high):
    calls = []
    found = root(lambda x: calls.append(x) or function(x), low, high, xtol=1e-12)
    reference, report = brentq(function, low, high, xtol=1e-12, full_output=True)
    assert found == pytest.approx(reference, abs=1e-11)
    assert len(calls) < 2 * report.function_calls + 10


def test_ends_and_refusals():
    assert root(lambda x: x, 0, 1) == 0
    assert root(lambda x: x - 1, 0, 1) == 1
    with pytest.raises(ValueError, match="change its sign"):
        root(lambda x: x + 1, 0, 1)
    with pytest.raises(ValueError, match="change its sign"):
        root(lambda x: math.nan, 0, 1)
