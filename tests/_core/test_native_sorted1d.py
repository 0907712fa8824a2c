import random

import numpy as np
import pytest

from calibrant._core.kernel import Kernel
from calibrant._core.sorted1d import SortedLine
from pair_definition import matrix


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    p[n // 3 : n // 2] = p[:1]
    return p, rng.normal(size=n), rng.random(n), rng.normal(size=(n, 70))


@pytest.mark.parametrize("lengthscale", [10.0, 1.0, 0.01, 1e-5, 1e-12])
@pytest.mark.parametrize("n", [1, 2, 3, 120])
def test_every_reduction_agrees_with_the_definition(n, lengthscale):
    p, r, weights, columns = simulate(n, seed=n)
    kernel = Kernel("exponential", "euclidean", lengthscale)
    H = matrix(kernel, p[:, None], p[:, None], r[:, None], r[:, None])
    off_diagonal, atol = H - np.diag(np.diag(H)), 1e-12 * np.abs(H).mean()
    line = SortedLine.of(p, lengthscale)
    assert line.pair_sum(r) == pytest.approx(np.triu(H, 1).sum(), abs=atol * n, rel=0)
    np.testing.assert_allclose(line.row_sums(r), off_diagonal.sum(axis=1), rtol=0, atol=atol)
    np.testing.assert_allclose(line.row_sums(r, weights), off_diagonal @ weights, rtol=0, atol=atol)
    product, diagonal = line.matmul(r, columns)
    np.testing.assert_allclose(product, off_diagonal @ columns, rtol=0, atol=5 * atol)
    np.testing.assert_allclose(diagonal, np.diag(H), rtol=1e-15)


def test_many_rows_agree_with_the_tiles():
    from calibrant._core import pairs

    p, r, weights, _ = simulate(10_000, seed=0)
    kernel = Kernel("exponential", "euclidean", 0.05)
    line = SortedLine.of(p, 0.05)
    tiles, scale = (pairs.pair_sum(p[:, None], a[:, None], kernel=kernel) for a in (r, np.abs(r)))
    assert line.pair_sum(r) == pytest.approx(tiles, abs=1e-12 * scale, rel=0)
    expected = pairs.row_sums(p[:, None], r[:, None], kernel=kernel, weights=weights)
    np.testing.assert_allclose(line.row_sums(r, weights), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_the_number_of_threads_does_not_change_a_bit():
    p, r, _, columns = simulate(500, seed=1)
    columns = np.hstack([columns, columns, columns])
    line = SortedLine.of(p, 0.1)
    assert np.array_equal(line.matmul(r, columns, n_threads=1)[0], line.matmul(r, columns, n_threads=3)[0])


def test_no_rows_have_no_pairs():
    line = SortedLine.of(np.zeros(0), 1.0)
    assert line.pair_sum(np.zeros(0)) == 0.0
    assert line.row_sums(np.zeros(0)).shape == (0,)


def test_published_values_of_the_binary_estimator():
    # exp(-|p - q|), white targets: two examples of the pycalibration README; the residual product counts twice.
    random.seed(1234)
    p = np.array([random.random() for _ in range(100)])  # noqa: S311  # the published example draws so
    y = np.array([bool(random.getrandbits(1)) for _ in range(100)])
    rng = np.random.default_rng(1234)
    q, z = rng.random(100), rng.choice([True, False], 100)
    for probs, labels, value in ((p, y, 0.028399084017414655), (q, z, 0.03320398246523166)):
        total = 2 * SortedLine.of(probs, 1.0).pair_sum(labels - probs)
        assert total / (100 * 99 / 2) == pytest.approx(value, rel=1e-12)
