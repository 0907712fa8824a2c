"""Wasserstein distances between predictive distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.linalg import sqrtm
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import log_ndtr

from calibrant import InputError
from calibrant.forecasts import Laplace, Mixture, MonteCarlo, MvNormal, Normal, Samples
from calibrant.forecasts.transport import transport_cost
from naming import each
from properties import examples


def random_covariances(rng, n, d):
    roots = rng.normal(size=(n, d, d))
    return roots @ roots.transpose(0, 2, 1) + 0.05 * np.eye(d)


def random_mvnormal(rng, n, d):
    return MvNormal(rng.normal(size=(n, d)), random_covariances(rng, n, d))


def bures_by_definition(mean, cov, other_mean, other_cov):
    root = sqrtm(cov)
    cross = sqrtm(root @ other_cov @ root)
    return np.sqrt(np.sum((mean - other_mean) ** 2) + np.trace(cov + other_cov - 2 * cross.real))


def test_published_distance_of_multivariate_normals():
    """The reference gives a squared Bures distance of 0.5533014127705487; the means differ by (-1, 2)."""
    p = MvNormal([[0, 1]], [[[2, 0.5], [0.5, 1]]])
    q = MvNormal([[1, -1]], [[[1, -0.3], [-0.3, 0.5]]])
    assert p.wasserstein(q)[0, 0] == pytest.approx(2.35654437954615, abs=1e-13)
    assert p.wasserstein(q)[0, 0] ** 2 - 5 == pytest.approx(0.5533014127705487, abs=1e-13)


@each("d", [1, 2, 3, 6])
def test_full_covariances_match_the_matrix_square_root(d):
    rng = np.random.default_rng(d)
    p, q = random_mvnormal(rng, 4, d), random_mvnormal(rng, 5, d)
    found = p.wasserstein(q)
    for i in range(4):
        for j in range(5):
            expected = bures_by_definition(p.loc[i], p.cov[i], q.loc[j], q.cov[j])
            assert found[i, j] == pytest.approx(expected, rel=1e-9)


def test_equal_covariances_have_distance_zero_to_rounding():
    p = random_mvnormal(np.random.default_rng(0), 20, 4)
    assert np.diagonal(p.wasserstein(p)).max() < 1e-13
    nudged = MvNormal(p.loc, p.cov * (1 + 1e-10) ** 2)
    traces = np.trace(p.cov, axis1=1, axis2=2)
    assert np.diagonal(p.wasserstein(nudged)) == pytest.approx(1e-10 * np.sqrt(traces), rel=1e-4)


def test_full_diagonal_and_scalar_covariances_agree():
    rng = np.random.default_rng(1)
    mean, variances = rng.normal(size=(6, 3)), rng.uniform(0.2, 4, size=(6, 3))
    diagonal, full = MvNormal(mean, variances), MvNormal(mean, variances[:, :, None] * np.eye(3))
    expected = diagonal.wasserstein(diagonal)
    assert np.abs(full.wasserstein(full) - expected).max() < 1e-13
    assert np.abs(full.wasserstein(diagonal) - expected).max() < 1e-13
    assert np.abs(diagonal.wasserstein(full) - expected).max() < 1e-13
    y = rng.normal(size=(4, 3))
    for profile in ("gaussian", "exponential"):
        pair = diagonal.expect_pair(profile, 0.8, diagonal)
        assert np.abs(full.expect_pair(profile, 0.8, full) - pair).max() < 1e-13
        assert np.abs(full.expect_pair(profile, 0.8, diagonal) - pair).max() < 1e-13
        assert np.abs(full.expect(profile, 0.8, y) - diagonal.expect(profile, 0.8, y)).max() < 1e-13
    assert np.array_equal(MvNormal(mean, 2.0).cov, np.full((6, 3), 2.0))
    assert np.array_equal(MvNormal(mean, full.cov[:1]).cov, np.repeat(full.cov[:1], 6, axis=0))


def test_one_dimensional_multivariate_normals_are_normals():
    rng = np.random.default_rng(2)
    loc, scale, y = rng.normal(size=7), rng.uniform(0.2, 3, 7), rng.normal(size=5)
    line, space = Normal(loc, scale), MvNormal(loc[:, None], scale[:, None, None] ** 2)
    assert np.abs(line.wasserstein(line) - space.wasserstein(space)).max() < 1e-14
    for profile, error in (("gaussian", 1e-15), ("exponential", 1e-11)):
        assert np.abs(line.expect(profile, 0.7, y) - space.expect(profile, 0.7, y[:, None])).max() < error
        assert np.abs(line.expect_pair(profile, 0.7, line) - space.expect_pair(profile, 0.7, space)).max() < error


@each("sd", [1e-12, 1e-6, 1e-2, 1.0, 50.0])
def test_the_exponential_kernel_is_integrated_to_eleven_digits(sd):
    offsets = np.array([0.0, 1e-9, 1e-4, 0.2, 1.0, 6.0, 30.0])
    line = Normal(offsets, sd).expect("exponential", 1.0, np.zeros(1))
    space = MvNormal(offsets[:, None], sd**2).expect("exponential", 1.0, np.zeros((1, 1)))
    assert np.abs(line - space).max() < 1e-11


def test_replicated_coordinates_scale_the_squared_distance():
    one, ten = Normal([0, 2], [1, 3]), MvNormal([[0] * 10, [2] * 10], [[1] * 10, [9] * 10])
    assert np.square(ten.wasserstein(ten)) == pytest.approx(10 * np.square(one.wasserstein(one)))


@examples(20, derandomize=True)
@given(loc=st.floats(-3, 3), scale=st.floats(0.1, 4), other=st.floats(0.1, 4))
def test_the_distance_of_a_normal_and_a_laplace_law_matches_quadrature(loc, scale, other):
    def square(x):
        """Both quantile functions at the level of x, which stand symmetrically to their centres."""
        laplace = -np.sign(x) * (np.log(2) + log_ndtr(-abs(x)))
        return (loc + scale * x - other * laplace) ** 2 * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    expected = np.sqrt(sum(quad(square, a, b, epsabs=1e-12)[0] for a, b in [(-30, -4), (-4, 0), (0, 4), (4, 30)]))
    assert Normal([loc], [scale]).wasserstein(Laplace([0], [other]))[0, 0] == pytest.approx(expected, rel=1e-7)
    assert Laplace([0], [other]).wasserstein(Normal([loc], [scale]))[0, 0] == pytest.approx(expected, rel=1e-7)


def test_laplace_scales_count_twice():
    p = Laplace([0, 1], [1, 4])
    assert p.wasserstein(p)[0, 1] == pytest.approx(np.sqrt(1 + 2 * 9))


def test_ensembles_of_different_size_are_coupled_by_quantiles():
    rng = np.random.default_rng(3)
    p, q = Samples(rng.normal(size=(4, 6))), Samples(rng.normal(size=(3, 4)) * 2 + 1)
    many = [np.sort(np.repeat(law.draws, 12 // law.draws.shape[1], axis=1), axis=1) for law in (p, q)]
    expected = np.sqrt(np.square(many[0][:, None] - many[1]).mean(axis=2))
    assert np.abs(p.wasserstein(q) - expected).max() < 1e-14


@each("sizes", [(5, 5), (8, 8), (4, 6)])
def test_ensembles_of_vectors_match_an_assignment_of_repeated_draws(sizes):
    rng = np.random.default_rng(4)
    p, q = (Samples(rng.normal(size=(3, m, 2))) for m in sizes)
    found = p.wasserstein(q)
    many = [np.repeat(law.draws, np.lcm(*sizes) // law.n_draws, axis=1) for law in (p, q)]
    for i in range(3):
        for j in range(3):
            costs = np.square(many[0][i][:, None] - many[1][j]).sum(axis=-1)
            expected = np.sqrt(costs[linear_sum_assignment(costs)].mean())
            assert found[i, j] == pytest.approx(expected, rel=1e-9)


def least_cost_by_dense_programme(costs, left, right):
    n, m = costs.shape
    margins = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    return linprog(costs.ravel(), A_eq=margins, b_eq=np.concatenate([left, right]), method="highs-ds").fun


@each("sizes", [(1, 1), (1, 4), (3, 1), (2, 2), (2, 5), (4, 2), (3, 3), (4, 5)])
@each("uniform", [True, False])
def test_transport_matches_a_dense_linear_programme(sizes, uniform):
    rng = np.random.default_rng(sum(sizes))
    costs = rng.exponential(size=(3, 2, *sizes))
    left, right = rng.dirichlet(np.ones(sizes[0]), 3), rng.dirichlet(np.ones(sizes[1]), 2)
    if uniform:
        left, right = np.full(left.shape, 1 / sizes[0]), np.full(right.shape, 1 / sizes[1])
    found = transport_cost(costs, left[:, None], right[None])
    for i in range(3):
        for j in range(2):
            assert found[i, j] == pytest.approx(least_cost_by_dense_programme(costs[i, j], left[i], right[j]), rel=1e-8)


def test_assignments_agree_however_they_are_found():
    rng = np.random.default_rng(5)
    for size in (5, 6):
        costs = rng.exponential(size=(10, size, size))
        uniform = np.full(size, 1 / size)
        expected = [cost[linear_sum_assignment(cost)].mean() for cost in costs]
        assert transport_cost(costs, uniform, uniform) == pytest.approx(np.array(expected))


def test_blocks_of_linear_programmes_do_not_matter(monkeypatch):
    rng = np.random.default_rng(6)
    weights = rng.dirichlet(np.ones(3), 8)
    p = Mixture(weights, [Normal(rng.normal(size=8), 1.0) for _ in range(3)])
    whole = p.mixture_wasserstein(p)
    monkeypatch.setattr("calibrant.forecasts.transport.LP_CELLS", 20)
    assert p.mixture_wasserstein(p) == pytest.approx(whole, abs=1e-6)
    assert np.diagonal(whole).max() < 1e-6


@pytest.mark.parametrize("kind", [Normal, Laplace])
def test_mixtures_of_one_component_are_that_component(kind):
    rng = np.random.default_rng(7)
    law = kind(rng.normal(size=5), rng.uniform(1, 2, 5))
    mixture = Mixture([1.0], [law])
    y = rng.normal(size=5)
    assert np.allclose(mixture.mixture_wasserstein(mixture), law.wasserstein(law), rtol=0, atol=1e-15)
    assert np.allclose(mixture.mixture_wasserstein(law), law.wasserstein(law), rtol=0, atol=1e-15)
    assert np.allclose(law.mixture_wasserstein(law), law.wasserstein(law), rtol=0, atol=1e-15)
    for profile in ("gaussian", "exponential"):
        assert np.array_equal(mixture.expect(profile, 0.5, y), law.expect(profile, 0.5, y))
        assert np.array_equal(mixture.expect_pair(profile, 0.5, mixture), law.expect_pair(profile, 0.5, law))
    assert np.array_equal(mixture.cdf(y), law.cdf(y))


def test_weights_of_zero_and_one_pick_a_component():
    first, last = Normal([0.0], [1.0]), Normal([3.0], [5.0])
    p, q = Mixture([1.0, 0.0], [first, last]), Mixture([0.0, 1.0], [first, last])
    assert p.mixture_wasserstein(q)[0, 0] == pytest.approx(5.0)


def test_quantiles_of_a_frozen_law_replace_its_draws_in_distances():
    """Between t laws that differ by a shift, the 2-Wasserstein distance is the shift."""
    p = MonteCarlo(stats.t(df=5, loc=[0.0, 1.0, 4.0]))
    assert p.wasserstein(p)[0].tolist() == pytest.approx([0.0, 1.0, 4.0])
    assert p.take([2, 0]).wasserstein(p.take([1])).ravel().tolist() == pytest.approx([3.0, 1.0])


def test_missing_distances_are_refused():
    normal, mixture = Normal([0.0], [1.0]), Mixture([1.0], [Normal([0.0], [1.0])])
    with pytest.raises(InputError, match=r"Use \.mixture_wasserstein"):
        normal.wasserstein(mixture)
    with pytest.raises(TypeError, match="no 2-Wasserstein distance between a Samples and a Normal"):
        normal.wasserstein(Samples([[0.0, 1.0]]))
    with pytest.raises(InputError, match="on the same space"):
        normal.wasserstein(MvNormal([[0.0]], [[1.0]]))
    with pytest.raises(TypeError, match="must be a Distribution, but is a float"):
        normal.wasserstein(3.0)
