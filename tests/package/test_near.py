"""Arrays that are compared at once are found near exactly where pytest finds them so, number by number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from near import all_near, one_by_one

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 5e-7, 1.0 + 2e-6, 1e-13, 2e-12, 1e300, np.inf, -np.inf])
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4)
TOLERANCES = st.sampled_from([None, 0.0, 1e-12, 1e-6, 1.0])


@given(PAIRS, TOLERANCES, TOLERANCES)
def test_they_agree(pairs, relative, absolute):
    expected, actual = np.array(pairs, dtype=float).reshape(-1, 2).T
    approx = pytest.approx(expected, rel=relative, abs=absolute)
    assert all_near(approx, actual) == one_by_one(approx, actual)


def test_what_differs_is_found():
    expected = np.linspace(0, 1, 5)
    for other in (expected + 1e-3 * np.eye(5)[4], expected[:4], np.array([0, np.nan, 0.5, 0.75, 1]), expected[None]):
        assert other != pytest.approx(expected)
    assert np.array([1.0, np.nan]) == pytest.approx(np.array([1.0, np.nan]), nan_ok=True)
    assert np.array([1, 2]) == pytest.approx(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="can't be negative"):
        assert np.array([1.0]) == pytest.approx(np.array([2.0]), rel=-1)
