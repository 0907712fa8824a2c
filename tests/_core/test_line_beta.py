"""Sums of the Beta kernel against its density, one by one and by boxes."""

from unittest.mock import patch

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core.line import beta as beta_module
from calibrant._core.line.beta import BetaSums
from calibrant._core.line.boxes import Line
from calibrant._core.line.twin import PlainSums
from cores import on_threads
from naming import each
from oracles.lines import beta_matrix, clustered

COLLECTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "clustered": clustered,
    "ties": lambda rng, n: np.round(rng.random(n), 1),
    "zeros_and_ones": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "next_to_0": lambda rng, n: 10.0 ** (-16 * rng.random(n)),
    "next_to_1": lambda rng, n: 1 - 10.0 ** (-16 * rng.random(n)),
    "down_to_1e-290": lambda rng, n: 10.0 ** (-290 * rng.random(n)),
    "mixed_with_exact_ends": lambda rng, n: np.clip(rng.normal(0.5, 0.5, n), 0, 1),
}


def by_boxes():
    return patch.object(beta_module, "_FEW_PAIRS", -1)


@each("b", [1e-4, 1e-3, 0.01, 0.1, 1.0])
@each("name", list(COLLECTIONS))
def test_leave_one_out_sums_equal_the_double_loop_within_the_documented_error(name, b):
    rng = np.random.default_rng(1)
    c = COLLECTIONS[name](rng, 400)
    Q = np.column_stack([rng.random(400), np.ones(400)])
    K = beta_matrix(c, c, b)
    own = K.diagonal().copy()
    np.fill_diagonal(K, 0)
    line = Line.of(c)
    exact = BetaSums(line, b).leave_one_out(Q)
    with by_boxes():
        boxed = BetaSums(line, b).leave_one_out(Q)
    unit = 400 * own[:, None] * max(1, 1 / b)
    assert np.all(np.abs(exact - K @ Q) <= 1e-13 * unit)
    assert np.all(np.abs(boxed - K @ Q) <= 1e-13 * unit)


def test_the_kernel_is_the_density_computed_with_fifty_digits():
    z, a, b = 0.3, 0.42, 0.003
    with mpmath.workdps(50):
        left, right = mpmath.mpf(a) / b + 1, (1 - mpmath.mpf(a)) / b + 1
        density = mpmath.mpf(z) ** (left - 1) * (1 - mpmath.mpf(z)) ** (right - 1) / mpmath.beta(left, right)
    found = BetaSums(Line.of(np.array([a])), b).at(np.array([z]), np.array([[1.0]]))
    assert found[0, 0] == pytest.approx(float(density), rel=1e-12)


def test_rows_at_an_end_see_each_other_and_nothing_else():
    # At z = 0 the density is 1 / b + 1 for a = 0, and 0 for any larger a.
    c = np.array([0.0, 0.0, 1e-250, 0.5, 1.0])
    for boxes in (False, True):
        with patch.object(beta_module, "_FEW_PAIRS", -1 if boxes else 100):
            found = BetaSums(Line.of(c), 0.1).leave_one_out(np.ones((5, 1)))[:, 0]
        assert found[:2] == pytest.approx([11.0, 11.0], rel=1e-12)
        assert found[4] == pytest.approx(0, abs=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 400),
    b=st.floats(-4, 0.5).map(lambda power: 10**power),
    shape=st.floats(0.02, 3),
)
def test_any_rows_and_points_by_boxes_equal_the_double_loop(seed, n, b, shape):
    rng = np.random.default_rng(seed)
    c, points, Q = rng.beta(shape, 0.5, n), rng.beta(0.5, shape, 30), rng.normal(size=(n, 2))
    with by_boxes():
        found = BetaSums(Line.of(c), b).at(points, Q)
    expected = beta_matrix(points, c, b) @ Q
    assert np.all(np.abs(found - expected) <= 1e-13 * max(1, 1 / b) * (1 / b + 1) * np.abs(Q).sum())


def test_both_ways_agree_on_thirty_thousand_rows_with_many_columns():
    rng = np.random.default_rng(2)
    c, Q = clustered(rng, 30_000), rng.random((30_000, 11))
    line, rows = Line.of(c), rng.choice(30_000, 100, replace=False)
    found = BetaSums(line, 0.005).leave_one_out(Q)[rows]
    K = beta_matrix(c[rows], c, 0.005)
    K[np.arange(100), rows] = 0
    assert found == pytest.approx(K @ Q, rel=1e-9)


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(3)
    line, Q = Line.of(rng.random(20_000)), rng.random((20_000, 3))
    fast = BetaSums(line, 0.01)
    with on_threads(1):
        one = fast.leave_one_out(Q)
    with on_threads(3):
        assert np.array_equal(fast.leave_one_out(Q), one)


def test_the_peak_and_the_plain_twin_are_the_density():
    rng = np.random.default_rng(4)
    c, Q = np.append(rng.random(30), [0.0, 1.0]), rng.random((32, 2))
    K = beta_matrix(c, c, 0.02)
    assert BetaSums(Line.of(c), 0.02).peak(c) == pytest.approx(K.diagonal())
    twin = PlainSums(Line.of(c), 0.02, "beta")
    assert twin.peak(c) == pytest.approx(K.diagonal())
    np.fill_diagonal(K, 0)
    assert twin.leave_one_out(Q) == pytest.approx(K @ Q)
