"""Counting rows into cells: the compiled routines against their twins, which must agree to the last bit."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant._core import sketch as module
from calibrant._core.sketch import count_rows, place, scores, sum_scores
from calibrant.binning.cells.grid import Grid

NUMBERS = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1, width=32),
    st.integers(0, 100).map(lambda k: k / 100),
    st.sampled_from([0.0, 1.0, 0.5, 5e-324, 2.2e-308, 2.0**-27, 2.0**-63, 1 - 2.0**-53]),
)


def counted(p, y, grid):
    table = np.zeros((grid.n_cells, 5), dtype=np.int64)
    table[:, 3], table[:, 4] = np.iinfo(np.int64).max, -1
    count_rows(p, y, grid.cuts, table)
    return table, sum_scores(p, y, with_logs=True), sum_scores(p, y, with_logs=False)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(NUMBERS, st.booleans()), min_size=1, max_size=60), digits=st.integers(3, 12))
def test_compiled_and_numpy_agree_exactly(rows, digits):
    p, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows]).view(np.uint8)
    compiled = counted(p, y, Grid(digits))
    with patch.object(module, "library", return_value=None):
        plain = counted(p, y, Grid(digits))
    assert np.array_equal(compiled[0], plain[0])
    assert compiled[1:] == plain[1:]


def test_many_rows_agree_exactly():
    rng = np.random.default_rng(0)
    p, y = 1 / (1 + np.exp(-rng.normal(0, 4, 60_000))), rng.integers(0, 2, 60_000).astype(np.uint8)
    compiled = counted(p, y, Grid(9))
    with patch.object(module, "library", return_value=None):
        plain = counted(p, y, Grid(9))
    assert np.array_equal(compiled[0], plain[0])
    assert compiled[1:] == plain[1:]


def test_logarithms_are_those_of_numpy():
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(20_000), 10.0 ** rng.uniform(-320, 0, 20_000)])
    _, logs, never = scores(p, np.ones(len(p), dtype=np.uint8))
    assert np.abs(logs / 2**32 + np.log(p)).max() < 2e-10 + 1e-13
    assert not never.any()


@pytest.mark.parametrize("digits", [3, 7, 9])
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
