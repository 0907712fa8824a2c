"""The random numbers behind tests and intervals."""

import numpy as np
import pytest

from calibrant import resampling
from calibrant.resampling import draw_counts


@pytest.mark.parametrize("cells", [1, 50, 10**6])
def test_counts_are_those_of_rows_drawn_one_sample_after_the_other(cells, monkeypatch):
    monkeypatch.setattr(resampling, "CACHED_CELLS", cells)
    rng = np.random.default_rng(0)
    samples = [rng.integers(0, 17, size=17) for _ in range(11)]
    expected = [[np.count_nonzero(rows == i) for rows in samples] for i in range(17)]
    assert np.array_equal(draw_counts(17, 11, np.random.default_rng(0)), expected)


def test_draws_that_follow_each_other_are_those_of_one_call():
    rng = np.random.default_rng(1)
    parts = [draw_counts(13, size, rng) for size in (1, 4, 2)]
    assert np.array_equal(np.hstack(parts), draw_counts(13, 7, np.random.default_rng(1)))
