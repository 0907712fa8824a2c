"""Counting rows into cells: the compiled routines against their twins, which must agree to the last bit."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core import sketch as module
from calibrant._core.sketch import (
    are_plain,
    columns_of,
    count_rows,
    empty_records,
    place,
    records_of,
    scores,
    sum_scores,
)
from calibrant.binning.cells.grid import Grid
from naming import each
from properties import examples

NUMBERS = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1, width=32),
    st.integers(0, 100).map(lambda k: k / 100),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 5e-324, 2.2e-308, 2.0**-27, 2.0**-63, 1 - 2.0**-53]),
    st.builds(lambda i, k: i / 16 * 2.0**-k, st.integers(16, 31), st.integers(1, 1000)),  # Where series change.
)


def counted(p, y, grid):
    records = empty_records(grid.n_cells)
    sums = count_rows(p, y, grid.cuts, records, with_logs=True)
    wide = p.astype(float)
    assert count_rows(p, y, grid.cuts, empty_records(grid.n_cells)) == sum_scores(wide, y, with_logs=False)
    return records, sums, sum_scores(wide, y, with_logs=True)


@given(rows=st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=60), digits=st.integers(3, 12))
def test_compiled_and_numpy_agree_exactly(rows, digits):
    p, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows]).view(np.uint8)
    compiled = counted(p, y, Grid(digits))
    with patch.object(module, "library", return_value=None):
        plain = counted(p, y, Grid(digits))
    assert np.array_equal(compiled[0], plain[0])
    assert compiled[1:] == plain[1:]
    assert compiled[1] == compiled[2]


@examples(25)
@given(rows=st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=60))
def test_single_precision_is_counted_as_the_same_numbers_in_double(rows):
    p, y = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows]).view(np.uint8)
    single, double = counted(p, y, Grid(9)), counted(p.astype(float), y, Grid(9))
    with patch.object(module, "library", return_value=None):
        plain = counted(p, y, Grid(9))
    for other in (double, plain):
        assert np.array_equal(single[0], other[0])
        assert single[1:] == other[1:]


ODD = st.sampled_from([-0.0, -0.1, -5e-324, 1 + 2.0**-23, 2.0, np.inf, -np.inf, np.nan, -np.nan])


@given(
    probs=st.lists(st.floats(0, 1, width=32), min_size=1, max_size=70),
    odd=st.lists(st.tuples(st.integers(0, 69), ODD), max_size=2),
    labels=st.lists(st.integers(0, 1), min_size=70, max_size=70),
    other=st.sampled_from([0, 1, 2, 127, -1, -128]),
    kinds=st.tuples(st.sampled_from([np.float32, np.float64]), st.sampled_from([np.int8, np.int16, np.int64])),
)
def test_arrays_are_plain_if_every_number_is(probs, odd, labels, other, kinds):
    kind, whole = kinds
    p, y = np.array(probs, kind), np.array([*labels[: len(probs) - 1], other], whole)
    for at, value in odd:
        p[at % len(p)] = value
    wanted = all(0 <= float(x) <= 1 and not np.signbit(x) for x in p) and other in (0, 1)
    with patch.object(module, "library", return_value=None):
        assert are_plain(p, y) == wanted
    assert are_plain(p, y) == wanted
    assert are_plain(p[::2], y[::2]) == are_plain(p[::2].copy(), y[::2].copy())


def test_a_negative_zero_is_a_zero():
    records = counted(np.array([-0.0, 0.0]), np.array([0, 0], np.uint8), Grid(9))[0]
    assert columns_of(records)[0].tolist() == [2, 0, 0, 0, 0]


def test_many_rows_agree_exactly():
    rng = np.random.default_rng(0)
    p, y = 1 / (1 + np.exp(-rng.normal(0, 4, 60_000))), rng.integers(0, 2, 60_000).astype(np.uint8)
    compiled = counted(p, y, Grid(9))
    with patch.object(module, "library", return_value=None):
        plain = counted(p, y, Grid(9))
    assert np.array_equal(compiled[0], plain[0])
    assert compiled[1:] == plain[1:]


def test_logarithms_near_half_a_unit_are_rounded_like_all_others():
    rng = np.random.default_rng(4)
    p = np.exp2(-rng.uniform(1e-7, 26.99, 4_000_000))
    near = p[np.abs(np.log(p) * -(2.0**32) % 1 - 0.5) < 2.0**-13]
    happened, records = np.ones(120, np.uint8), empty_records(Grid(9).n_cells)
    expected = scores(near, np.ones(len(near), np.uint8))[1] + 119 * scores(np.full(1, 0.5), happened[:1])[1]
    block, found = np.full(120, 0.5), []
    for block[0] in near:  # A whole block, because rows that fill one up would be taken for rare events.
        found.append(count_rows(block, happened, Grid(9).cuts, records, with_logs=True)[1])
    assert len(near) > 500
    assert found == expected.tolist()


def test_logarithms_are_those_of_numpy():
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(20_000), 10.0 ** rng.uniform(-320, 0, 20_000)])
    _, logs, never = scores(p, np.ones(len(p), dtype=np.uint8))
    assert np.abs(logs / 2**32 + np.log(p)).max() < 2e-10 + 1e-13
    assert not never.any()


@each("digits", [3, 7, 9])
def test_cells_ascend_and_no_edge_of_bins_crosses_one(digits):
    rng = np.random.default_rng(2)
    edges = np.concatenate([np.arange(b + 1) / b for b in (10, 15, 16, 20, 100)])
    near = np.concatenate([edges, edges - 1e-12, edges + 1e-12, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    p = np.unique(np.concatenate([rng.random(5000), 10.0 ** rng.uniform(-320, 0, 2000), near.clip(0, 1)]))
    part, offset = place(p, Grid(digits).cuts)
    assert np.all(np.diff(part) >= 0)
    assert offset.min() >= 0
    assert offset.max() < 2**30
    exact = np.searchsorted(edges[:11], p, side="left")  # (lower, upper] of ten bins
    assert all(len(np.unique(exact[part == one])) == 1 for one in np.unique(part[np.isin(p, near)]))


@each("digits", range(3, 13))
def test_every_part_has_a_record_and_every_cut_its_cell(digits):
    cuts = Grid(digits).cuts
    assert np.array_equal(np.sort(cuts.record), np.arange(cuts.n_parts))
    assert np.array_equal(cuts.record[cuts.first], np.arange(len(cuts.first)))
    cell = np.searchsorted(cuts.first, place(cuts.at, cuts)[0], side="right") - 1
    number = cuts.numbers[cell].astype(int)
    assert np.array_equal(np.unique(number), np.arange(1, len(cuts.ends)))  # In eight bits there is room for 255.
    assert np.array_equal(np.searchsorted(cuts.ends, np.arange(len(cuts.at)), side="right"), number)
    assert np.count_nonzero(cuts.numbers) == len(cuts.ends) - 1


def test_records_and_columns_hold_the_same():
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 2**31, (50, 5))
    columns[0] = 2**31 - 1, 0, 2**62, np.iinfo(np.int64).max, -1
    assert np.array_equal(columns_of(records_of(columns)), columns)
    assert empty_records(7).ctypes.data % 64 == 0
    *counts, least, most = columns_of(empty_records(1))[0]
    assert [*counts, *np.array([least, most]).view(float)] == [0, 0, 0, np.inf, -np.inf]
    assert most < 0
