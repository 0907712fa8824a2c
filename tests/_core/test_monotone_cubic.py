"""Monotone cubic interpolation is SciPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator

from calibrant._core.monotone_cubic import monotone_cubic

VALUES = st.floats(-1, 1, allow_subnormal=False).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(st.floats(1e-3, 1), VALUES), min_size=2, max_size=12))
def test_it_is_pchip_between_and_beyond_the_places(points):
    steps, y = np.array(points).T
    x = np.cumsum(steps)
    at = np.linspace(x[0] - 0.1, x[-1] + 0.1, 50)
    expected = PchipInterpolator(x, y)(at)
    assert monotone_cubic(x, y, at) == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(1.0, np.abs(expected).max()))


def test_it_passes_through_the_points_and_never_turns_back():
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(50)), np.sort(rng.random(50))
    assert monotone_cubic(x, y, x) == pytest.approx(y, abs=1e-15)
    assert np.diff(monotone_cubic(x, y, np.linspace(x[0], x[-1], 5000))).min() >= -1e-15


def test_columns_are_interpolated_each_by_itself():
    rng = np.random.default_rng(1)
    x, y, at = np.cumsum(rng.random(9)), rng.normal(size=(9, 4)), rng.uniform(-1, 12, 30)
    assert np.array_equal(monotone_cubic(x, y, at), np.stack([monotone_cubic(x, column, at) for column in y.T], axis=1))
