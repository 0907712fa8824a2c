import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression as of_scipy

from calibrant._core import isotonic as _isotonic
from calibrant._core.isotonic import by_passes, isotonic_regression
from naming import each

VALUES = st.integers(1, 12).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=st.integers(-5, 5)), arrays(float, n, elements=st.integers(1, 4)))
)


def definition(y, w):
    """The max-min formula: the largest over i <= k of the least over j >= k of the mean of y_i, ..., y_j."""
    mean = lambda i, j: np.average(y[i : j + 1], weights=w[i : j + 1])  # noqa: E731
    n = len(y)
    return np.array([max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)])


@given(VALUES)
def test_passes_in_numpy_find_the_same_blocks(data):
    y, w = data
    fit, twin = isotonic_regression(y, weights=w), by_passes(y, w)
    np.testing.assert_allclose(fit.x, twin.x, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(fit.blocks, twin.blocks)


@given(VALUES, st.booleans())
def test_it_is_the_max_min_formula(data, increasing):
    y, w = data
    sign = 1 if increasing else -1
    fit = isotonic_regression(y, weights=w, increasing=increasing)
    np.testing.assert_allclose(fit.x, sign * definition(sign * y, w), atol=1e-12)
    starts = np.flatnonzero(np.diff(fit.x, prepend=np.nan) != 0)
    np.testing.assert_array_equal(fit.blocks, [*starts, len(y)])


@each("n", [1, 1000, 100_000])
def test_it_is_that_of_scipy(n):
    rng = np.random.default_rng(n)
    y, w = (rng.random(n) < np.sort(rng.random(n))).astype(float), rng.random(n)
    expected = of_scipy(y, weights=w).x
    np.testing.assert_allclose(isotonic_regression(y, weights=w).x, expected, atol=1e-12)
    np.testing.assert_allclose(by_passes(y, w).x, expected, atol=1e-12)


def test_what_needs_many_passes_is_left_to_scipy(monkeypatch):
    y = np.append(np.arange(300.0), -1e6)  # The last value draws in one neighbour a pass.
    expected = np.full(301, y.mean())
    np.testing.assert_allclose(by_passes(y, np.ones(301)).x, expected)
    monkeypatch.setattr(_isotonic, "PASSES", 1000)
    np.testing.assert_allclose(by_passes(y, np.ones(301)).x, expected)
