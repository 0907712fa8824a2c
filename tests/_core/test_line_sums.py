"""Fast kernel sums against the double loop, on ordinary and on awkward data."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core.library import required
from calibrant._core.line import sums as sums_module
from calibrant._core.line.boxes import Line
from calibrant._core.line.kernels import KERNELS, edge_polynomials, translations
from calibrant._core.line.strips import for_strips
from calibrant._core.line.sums import KernelSums
from calibrant._core.line.twin import PlainSums
from cores import on_threads
from naming import each
from oracles.lines import (
    clustered,
    kernel_matrix,
    leave_one_out_by_loops,
    leave_one_out_by_matrix,
    pair_value,
    sums_at_by_loops,
)
from properties import examples

EVERY_KERNEL = each("kernel", list(KERNELS))
BOTH_BOUNDARIES = each("reflect", [True, False])

COLLECTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "near_the_ends": lambda rng, n: rng.beta(0.3, 0.3, n),
    "clustered": clustered,
    "heavy_ties": lambda rng, n: np.round(rng.random(n), 2),
    "all_equal": lambda _, n: np.full(n, 0.3),
    "all_ones": lambda _, n: np.ones(n),
    "zeros_and_ones": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "mostly_exact_ends": lambda rng, n: np.clip(rng.normal(0.5, 0.6, n), 0, 1),
    "two_far_clusters": lambda rng, n: np.where(rng.random(n) < 0.99, 0.5, 0.9) + 1e-4 * rng.random(n),
}


def outcomes_and_weights(rng, c):
    y = (rng.random(len(c)) < c).astype(float)
    w = rng.exponential(size=len(c))
    return np.column_stack([w * y, w])


def check_against_matrix(c, Q, h, kernel, reflect):
    """Compare sums with the largest possible one, ratios with 1, and ask for nothing where there is nothing."""
    expected = leave_one_out_by_matrix(c, Q, h, kernel, reflect)
    found = KernelSums(Line.of(c), h, kernel, reflect).leave_one_out(Q)
    assert np.abs(found - expected).max() <= 1e-12 * Q[:, 1].sum()
    some = expected[:, 1] > 1e-9
    ratio = expected[some, 0] / expected[some, 1]
    assert found[some, 0] / found[some, 1] == pytest.approx(ratio, abs=1e-8)
    assert np.all(found[expected[:, 1] == 0] == 0)


@EVERY_KERNEL
@BOTH_BOUNDARIES
@each("name", list(COLLECTIONS))
def test_sums_and_their_ratio_equal_the_double_loop(kernel, reflect, name):
    rng = np.random.default_rng(1)
    c = COLLECTIONS[name](rng, 200)
    for h in (0.0001, 0.03, 0.2, 2.0):
        check_against_matrix(c, outcomes_and_weights(rng, c), h, kernel, reflect)


@EVERY_KERNEL
@each("name", ["uniform", "clustered"])
def test_a_thousand_rows_equal_the_double_loop(kernel, name):
    rng = np.random.default_rng(11)
    c = COLLECTIONS[name](rng, 1000)
    for h in (0.005, 0.2):
        check_against_matrix(c, outcomes_and_weights(rng, c), h, kernel, reflect=True)


def forced(*, boxes):
    """Make small data take the way of large data."""
    return patch.multiple(sums_module, _FEW_PAIRS=-1 if boxes else 2500, _FEW_SOURCES=0 if boxes else 4)


POSITION = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 0.25, 1e-9, 1 - 1e-9]),
    st.floats(0, 1),
    st.integers(0, 10).map(lambda k: k / 10),
)
ROWS = st.lists(
    st.tuples(POSITION, st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0, 2.5])), min_size=1, max_size=25
)
BANDWIDTH = st.floats(-4, 0.4).map(lambda power: 10**power)


@EVERY_KERNEL
@BOTH_BOUNDARIES
@pytest.mark.parametrize("boxes", [False, True], ids=["as_chosen", "by_boxes"])
@examples(12)
@given(rows=ROWS, h=BANDWIDTH, points=st.lists(POSITION, max_size=8))
def test_any_few_rows_equal_the_double_loop(kernel, reflect, boxes, rows, h, points):
    c, y, w = (np.array(part) for part in zip(*rows, strict=True))
    Q = np.column_stack([w * y, w])
    with forced(boxes=boxes):
        fast = KernelSums(Line.of(c), h, kernel, reflect)
        found, found_at = fast.leave_one_out(Q), fast.at(np.array(points), Q)
    # Positions are rounded to 1e-16, which is 1e-12 of the smallest bandwidth.
    tolerance = 1e-11 * max(w.sum(), 1)
    assert found == pytest.approx(leave_one_out_by_loops(c, Q, h, kernel, reflect), abs=tolerance, rel=0)
    assert found_at == pytest.approx(sums_at_by_loops(points, c, Q, h, kernel, reflect), abs=tolerance, rel=0)


@EVERY_KERNEL
@BOTH_BOUNDARIES
@examples(6)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(200, 400), h=BANDWIDTH, shape=st.floats(0.05, 3))
def test_any_many_rows_equal_the_double_loop(kernel, reflect, seed, n, h, shape):
    rng = np.random.default_rng(seed)
    c = rng.beta(shape, 0.7, n)
    Q = rng.normal(size=(n, 3))
    expected = leave_one_out_by_matrix(c, Q, h, kernel, reflect)
    assert KernelSums(Line.of(c), h, kernel, reflect).leave_one_out(Q) == pytest.approx(
        expected, abs=1e-12 * np.abs(Q).sum(axis=0).max(), rel=0
    )


@EVERY_KERNEL
@BOTH_BOUNDARIES
def test_points_of_a_curve_equal_the_double_loop_in_any_order(kernel, reflect):
    rng = np.random.default_rng(2)
    c, points = clustered(rng, 1500), rng.permutation(np.linspace(0, 1, 151))
    Q = outcomes_and_weights(rng, c)
    for h in (0.0003, 0.01, 0.1, 1.5):
        expected = kernel_matrix(points, c, h, kernel, reflect) @ Q
        found = KernelSums(Line.of(c), h, kernel, reflect).at(points, Q)
        assert found == pytest.approx(expected, abs=1e-12 * Q[:, 1].sum(), rel=0)


@EVERY_KERNEL
def test_held_out_rows_in_a_region_where_few_rows_train_equal_the_double_loop(kernel):
    rng = np.random.default_rng(3)
    train = np.append(0.2 + 0.01 * rng.random(1000), [0.35, 0.351])
    test = np.append(0.3 + 0.1 * rng.random(1000), rng.random(100))
    Q = outcomes_and_weights(rng, train)
    expected = kernel_matrix(test, train, 0.1, kernel, reflect=True) @ Q
    found = KernelSums(Line.of(train), 0.1, kernel).at(test, Q)
    assert found == pytest.approx(expected, abs=1e-12 * Q[:, 1].sum(), rel=0)


@EVERY_KERNEL
@BOTH_BOUNDARIES
def test_one_row_has_no_neighbours_not_even_its_own_images(kernel, reflect):
    for c in (0.0, 0.3, 1.0):
        found = KernelSums(Line.of(np.array([c])), 0.5, kernel, reflect).leave_one_out(np.array([[1.0, 2.0]]))
        assert np.array_equal(found, [[0.0, 0.0]])


def test_two_rows_at_opposite_ends_by_hand():
    # From 0, the row at 1 is at distance 1, its image at 0 is at -1 and its image at 1 is at 1: three times k(1 / h).
    found = KernelSums(Line.of(np.array([0.0, 1.0])), 2.0, "epanechnikov").leave_one_out(np.array([[1.0], [10.0]]))
    assert found == pytest.approx(np.array([[30 * 0.75], [3 * 0.75]]))


def test_two_rows_at_one_end_by_hand():
    # Each sees the other at distance 0, and the other's image at distance 0; the image at 1 is out of reach.
    found = KernelSums(Line.of(np.array([0.0, 0.0])), 0.1, "triweight").leave_one_out(np.array([[1.0], [5.0]]))
    assert found == pytest.approx(np.array([[10.0], [2.0]]))


@EVERY_KERNEL
def test_rows_beyond_each_others_reach_have_exactly_nothing(kernel):
    c = np.repeat(np.linspace(0.05, 0.95, 10), 1)
    found = KernelSums(Line.of(c), 1e-3, kernel).leave_one_out(np.ones((10, 1)))
    assert np.all(found == 0)


def test_a_row_at_eight_bandwidths_from_all_others_is_right_relative_to_its_own_small_sum():
    rng = np.random.default_rng(4)
    c = np.append(0.9 + 0.01 * rng.random(3999), 0.82)
    expected = kernel_matrix(c[-1:], c[:-1], 0.01, "gaussian", reflect=True).sum()
    found = KernelSums(Line.of(c), 0.01).leave_one_out(np.ones((4000, 1)))
    assert expected < 1e-10
    assert found[-1, 0] == pytest.approx(expected, rel=1e-8, abs=0)


@EVERY_KERNEL
@pytest.mark.parametrize("mirrored", [False, True], ids=["at_0", "at_1"])
def test_few_rows_next_to_an_end_with_many_farther_away_see_each_others_images(kernel, mirrored):
    rng = np.random.default_rng(12)
    c = np.concatenate([[0.0008, 0.0021], 0.04 + 0.01 * rng.random(3000)])
    c = 1 - c if mirrored else c
    K = kernel_matrix(c[:2], c, 0.01, kernel, reflect=True)
    K[[0, 1], [0, 1]] = 0.0
    found = KernelSums(Line.of(c), 0.01, kernel).leave_one_out(np.ones((3002, 1)))
    assert found[:2, 0] == pytest.approx(K.sum(axis=1), rel=1e-9, abs=0)


@EVERY_KERNEL
def test_a_bandwidth_far_below_the_spacing_of_the_rows_costs_no_memory_and_is_right(kernel):
    c = np.array([0.1, 0.1, 0.5, 1.0, 1.0, 1.0])
    found = KernelSums(Line.of(c), 1e-12, kernel).leave_one_out(np.ones((6, 1)))
    # At 1 a row sees two others and their two images.
    assert found[:, 0] == pytest.approx([1, 1, 0, 4, 4, 4])


@EVERY_KERNEL
def test_many_columns_equal_one_at_a_time(kernel):
    rng = np.random.default_rng(5)
    line, Q = Line.of(clustered(rng, 5000)), rng.normal(size=(5000, 21))
    for h in (0.0005, 0.05):
        fast = KernelSums(line, h, kernel)
        together = fast.leave_one_out(Q)
        alone = np.hstack([fast.leave_one_out(Q[:, [column]]) for column in range(21)])
        assert np.array_equal(together, alone)


@EVERY_KERNEL
@each("columns", [2, 21])
def test_the_number_of_threads_changes_nothing(kernel, columns):
    rng = np.random.default_rng(6)
    line, Q = Line.of(clustered(rng, 140_000)), rng.normal(size=(140_000, columns))
    fast = KernelSums(line, 0.01, kernel)
    with on_threads(1):
        one = fast.leave_one_out(Q)
    with on_threads(3):
        assert np.array_equal(fast.leave_one_out(Q), one)


@EVERY_KERNEL
def test_the_order_of_the_rows_does_not_matter(kernel):
    rng = np.random.default_rng(7)
    c, Q, shuffle = rng.random(3000), rng.random((3000, 2)), rng.permutation(3000)
    found = KernelSums(Line.of(c), 0.02, kernel).leave_one_out(Q)
    shuffled = KernelSums(Line.of(c[shuffle]), 0.02, kernel).leave_one_out(Q[shuffle])
    assert shuffled == pytest.approx(found[shuffle], rel=1e-12)


@EVERY_KERNEL
def test_a_hundred_thousand_clustered_rows_agree_with_single_rows_summed_directly(kernel):
    rng = np.random.default_rng(8)
    c = clustered(rng, 100_000)
    Q = outcomes_and_weights(rng, c)
    rows = rng.choice(100_000, 20, replace=False)
    for h in (1e-4, 0.003, 0.1):
        K = kernel_matrix(c[rows], c, h, kernel, reflect=True)
        K[np.arange(20), rows] = 0
        found = KernelSums(Line.of(c), h, kernel).leave_one_out(Q)[rows]
        assert found == pytest.approx(K @ Q, rel=1e-10, abs=1e-14)


@EVERY_KERNEL
@pytest.mark.parametrize("n_here", [1, 9], ids=["one_by_one", "by_boxes"])
@each("distance", [0.0, 0.04, 0.08])
def test_the_rounding_of_a_long_sum_of_equal_terms_stays_small(kernel, distance, n_here):
    # Few rows, and 300 000 others at one place: in their own box, in the next one, where the window ends.
    c = np.append(np.full(300_000, 0.4 + distance), np.full(n_here, 0.4))
    found = KernelSums(Line.of(c), 0.1, kernel, reflect=False).leave_one_out(np.full((len(c), 1), 0.1))[-1, 0]
    expected = 30_000 * pair_value(kernel, False, 0.1, 0.4, 0.4 + distance) + 0.1 * (n_here - 1)
    assert found == pytest.approx(expected, rel=1e-10, abs=0)


@EVERY_KERNEL
def test_no_rows_or_no_points_give_empty_or_zero_sums(kernel):
    nothing = np.empty(0)
    fast = KernelSums(Line.of(np.array([0.2, 0.4])), 0.1, kernel)
    assert fast.at(nothing, np.ones((2, 3))).shape == (0, 3)
    empty = KernelSums(Line.of(nothing), 0.1, kernel)
    assert empty.leave_one_out(np.empty((0, 2))).shape == (0, 2)
    assert np.array_equal(empty.at(np.array([0.5]), np.empty((0, 2))), [[0.0, 0.0]])


def test_charges_may_be_read_only_of_single_precision_or_strided():
    rng = np.random.default_rng(9)
    line, Q = Line.of(rng.random(500)), rng.random((500, 4)).astype(np.float32)
    fast = KernelSums(line, 0.1)
    expected = fast.leave_one_out(Q.astype(float))
    Q.flags.writeable = False
    assert np.array_equal(fast.leave_one_out(Q), expected)
    assert np.array_equal(fast.leave_one_out(Q[:, ::2]), expected[:, ::2])


@each("offset", [0, 1, 5, 10, 18])
def test_translation_of_a_gaussian_between_boxes_keeps_the_documented_digits(offset):
    terms, places = KERNELS["gaussian"].terms, np.linspace(-1, 1, 41)
    T = np.polynomial.chebyshev.chebvander(places, terms - 1)
    matrix = translations(KERNELS["gaussian"], 0.5, 18)[0, offset + 18]
    exact = np.exp(-0.5 * (0.5 * offset + 0.25 * (places - places[:, None])) ** 2)
    found = T @ matrix @ T.T
    assert np.abs(found - exact).max() < 1e-13
    assert np.abs(found / exact - 1).max() < 2e-9


@pytest.mark.parametrize("kernel", ["triweight", "epanechnikov"])
def test_edge_polynomials_shift_the_kernel_seen_from_the_end_of_its_window(kernel):
    edge = edge_polynomials(KERNELS[kernel])
    x, z = 0.2, -0.35
    shifted = sum(np.polynomial.Polynomial(g)(x) * z**r for r, g in enumerate(edge))
    assert shifted == pytest.approx(KERNELS[kernel].profile(np.array(1 + z - x)))


@EVERY_KERNEL
@BOTH_BOUNDARIES
def test_the_plain_twin_equals_the_loops(kernel, reflect):
    rng = np.random.default_rng(10)
    c, Q, points = rng.random(40), rng.random((40, 2)), np.array([0.0, 0.4, 1.0])
    twin = PlainSums(Line.of(c), 0.3, kernel, reflect)
    assert twin.leave_one_out(Q) == pytest.approx(leave_one_out_by_loops(c, Q, 0.3, kernel, reflect))
    assert twin.at(points, Q) == pytest.approx(sums_at_by_loops(points, c, Q, 0.3, kernel, reflect))


@each("columns", [1, required().lanes, required().lanes + 2, 3 * required().lanes - 1])
def test_memory_that_groups_of_columns_hand_on_is_wide_enough_for_any_of_them(columns):
    found = []
    with on_threads(1):
        for_strips(lambda first, width, room: found.append((first, width, *map(len, room))), columns, (7, 5), 1)
    widest = max(width for _, width, *_ in found)
    assert sum(width for _, width, *_ in found) == columns
    assert all(charges >= 7 * widest + required().lanes and sums >= 5 * widest for *_, charges, sums in found)
    # The narrow last group may run first on another thread, and leave its memory to a wide one.
    alone = []
    with on_threads(2):
        for_strips(lambda *arguments: alone.append(len(arguments[2].sums)), columns, (7, 5), 1)
    assert min(alone) >= 5 * widest
