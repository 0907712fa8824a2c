"""The random numbers behind tests and intervals."""

import numpy as np
import pytest

from calibrant.resampling import redraws as resampling
from calibrant.resampling.redraws import draw_counts


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


@pytest.mark.parametrize("n_classes", [17, 32, 33, 100])
@pytest.mark.parametrize("cells", [1, 2**16])
def test_labels_of_many_classes_are_those_of_comparing_with_every_class(n_classes, cells, monkeypatch):
    rng = np.random.default_rng(n_classes)
    probs = rng.dirichlet(np.full(n_classes, 0.2), 25)
    probs[rng.random(probs.shape) < 0.3] = 0.0
    cumulative = np.cumsum(probs / probs.sum(axis=1, keepdims=True), axis=1)
    uniform = rng.random((25, 30))
    uniform[:, :5] = cumulative[:, :5]  # A draw that equals a boundary belongs to the class above it.
    monkeypatch.setattr(resampling, "CACHED_CELLS", cells)
    expected = (uniform[:, :, None] >= cumulative[:, None, :-1]).sum(axis=2)
    assert np.array_equal(resampling._bisect(cumulative, uniform), expected)
    assert np.array_equal(resampling._invert(cumulative, uniform), expected)
