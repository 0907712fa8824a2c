import math
import random
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core import engine
from calibrant._core.distances import Kernel, RadialMatrix
from calibrant._core.sorted1d import SortedLine
from cores import core, on_threads
from naming import each
from oracles.pairs import matrix

SMALLEST = 5e-324


@pytest.fixture(params=["compiled", "numpy"])
def both_cores(request):
    """Run with the compiled library, then without it."""
    with core("numpy") if request.param == "numpy" else nullcontext():
        yield


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    p[n // 3 : n // 2] = p[:1]
    return p, rng.normal(size=n), rng.random(n), rng.normal(size=(n, 70))


@pytest.mark.usefixtures("both_cores")
@each("lengthscale", [10.0, 1.0, 0.01, 1e-5, 1e-12])
@each("n", [1, 2, 3, 120])
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


@pytest.mark.usefixtures("both_cores")
def test_many_rows_agree_with_the_tiles():
    pairs = engine()
    p, r, weights, _ = simulate(2000, seed=0)
    kernel = Kernel("exponential", "euclidean", 0.05)
    line = SortedLine.of(p, 0.05)
    tiles, scale = (pairs.pair_sum(RadialMatrix(p[:, None], a[:, None], kernel=kernel)) for a in (r, np.abs(r)))
    assert line.pair_sum(r) == pytest.approx(tiles, abs=1e-12 * scale, rel=0)
    expected = pairs.row_sums(RadialMatrix(p[:, None], r[:, None], kernel=kernel), weights=weights)
    np.testing.assert_allclose(line.row_sums(r, weights), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.usefixtures("both_cores")
def test_the_number_of_threads_does_not_change_a_bit():
    p, r, _, columns = simulate(500, seed=1)
    columns = np.hstack([columns, columns, columns])
    line = SortedLine.of(p, 0.1)
    with on_threads(1):
        one = line.matmul(r, columns)[0]
    with on_threads(3):
        assert np.array_equal(line.matmul(r, columns)[0], one)


@pytest.mark.usefixtures("both_cores")
def test_no_rows_have_no_pairs():
    line = SortedLine.of(np.zeros(0), 1.0)
    assert line.pair_sum(np.zeros(0)) == 0.0
    assert line.row_sums(np.zeros(0)).shape == (0,)


@pytest.mark.usefixtures("both_cores")
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


def exact_sums(p, r, charges, lengthscale):
    """Return the sums over all other rows of each, and the most by which they may be off, to first order."""
    sums, bounds, steps = [], [], 8 * math.ceil(math.log2(max(len(p), 2))) + 7
    for i in range(len(p)):
        others = np.arange(len(p)) != i
        u = np.abs(p[others].astype(np.longdouble) - p[i]) / np.longdouble(lengthscale)
        kernel = np.exp(-u) * r[i] * charges[others].astype(np.longdouble)
        sums.append(math.fsum(kernel.astype(float)) + math.fsum((kernel - kernel.astype(float)).astype(float)))
        small = SMALLEST * len(p) * steps * (1 + abs(r[i]))
        bounds.append(2.0**-53 * float((np.abs(kernel) * (steps + 2 * u)).sum()) * 1.01 + small)
    return np.array(sums), np.array(bounds)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 70),
    power=st.floats(-14, 2),
    spread=st.sampled_from([1.0, 1e-6, 1e-310, 0.0]),
    scale=st.sampled_from([1.0, 0.0, 1e-200, 1e-310, SMALLEST]),
)
def test_sums_without_the_library_keep_their_error_bound(seed, n, power, spread, scale):
    rng = np.random.default_rng(seed)
    p = rng.choice(np.append(rng.random(n) * spread, [0.0, SMALLEST, 1.0]), n)
    r, weights = rng.normal(size=n), rng.exponential(size=n)
    r[rng.random(n) < 0.2] *= scale
    weights[rng.random(n) < 0.3] = 0.0
    lengthscale = 10.0**power
    with core("numpy"):
        line = SortedLine.of(p, lengthscale)
        for charges, found in (
            (r, line.row_sums(r)),
            (r * weights, line.row_sums(r, weights)),
            (r * weights, line.matmul(r, weights[:, None])[0][:, 0]),
        ):
            expected, bounds = exact_sums(p, r, charges, lengthscale)
            assert np.all(np.abs(found - expected) <= bounds)
        expected, bounds = exact_sums(p, r, r, lengthscale)
        assert abs(line.pair_sum(r) - math.fsum(expected) / 2) <= math.fsum(bounds)


@pytest.mark.usefixtures("both_cores")
def test_neighbours_that_nearly_touch_keep_their_kernel_under_a_tiny_lengthscale():
    # By hand: three rows a step of one lengthscale apart, far from a fourth.
    p, r = np.array([0.5, 0.5 + 2**-40, 1.0, 0.5 + 2**-39]), np.array([1.0, 2.0, 5.0, 4.0])
    expected = (2 + 8) * math.exp(-1) + 4 * math.exp(-2)
    assert SortedLine.of(p, 2**-40).pair_sum(r) == pytest.approx(expected, rel=1e-15)
