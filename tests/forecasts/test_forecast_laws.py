"""Quantiles, densities and mean distances of predictive distributions."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from calibrant import InputError, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.forecasts import MonteCarlo
from calibrant.forecasts.mvnormal import mean_norm
from naming import each

LEVELS = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999])
RNG = np.random.default_rng(0)
LOC, SCALE = RNG.normal(size=5), RNG.uniform(0.3, 3, 5)
STUDENT = MonteCarlo(stats.t(df=5, loc=LOC, scale=SCALE), n_draws=4096)
SMOOTH = {
    "normal": Normal(LOC, SCALE),
    "laplace": Laplace(LOC, SCALE),
    "normals": Mixture(RNG.dirichlet(np.ones(3), 5), [Normal(LOC, SCALE), Normal(LOC + 4, 0.1), Normal(-LOC, 1.0)]),
    "mixed": Mixture([0.2, 0.8], [Laplace(LOC, SCALE), Normal(LOC, 0.2)]),
    "far apart": Mixture([0.5, 0.5], [Normal(LOC - 1e6, SCALE), Normal(LOC + 1e6, SCALE)]),
    "a share of nothing": Mixture([0.0, 1.0], [Normal(LOC, SCALE), Laplace(LOC, 1.0)]),
    "student": STUDENT,
}
smooth_law = each("law", SMOOTH)


@smooth_law
def test_quantiles_invert_the_distribution_function(law):
    quantiles = law.quantile(LEVELS)
    assert quantiles.shape == (5, 6)
    assert law.cdf(quantiles) == pytest.approx(np.tile(LEVELS, (5, 1)), rel=1e-9, abs=0)
    assert np.array_equal(law.quantile(0.3), quantiles[:, 2])


@smooth_law
def test_the_density_is_the_slope_of_the_distribution_function(law):
    y = law.quantile([0.2, 0.6])
    step = 1e-4
    slope = (law.cdf(y + step) - law.cdf(y - step)) / (2 * step)
    assert np.exp(law.log_density(y)) == pytest.approx(slope, rel=1e-4)
    assert law.log_density(y[:, 0]) == pytest.approx(law.log_density(y)[:, 0], rel=1e-13)


def test_densities_are_those_of_scipy():
    y = LOC + 0.7
    assert SMOOTH["normal"].log_density(y) == pytest.approx(stats.norm(LOC, SCALE).logpdf(y), rel=1e-13)
    assert SMOOTH["laplace"].log_density(y) == pytest.approx(stats.laplace(LOC, SCALE).logpdf(y), rel=1e-13)
    root = RNG.normal(size=(3, 3, 3))
    full = MvNormal(RNG.normal(size=(3, 3)), root @ root.transpose(0, 2, 1) + np.eye(3))
    z = RNG.normal(size=(3, 3))
    each = zip(full.loc, full.cov, z, strict=True)
    assert full.log_density(z) == pytest.approx([stats.multivariate_normal(m, c).logpdf(x) for m, c, x in each])
    diagonal = MvNormal(full.loc, full.sd() ** 2)
    same = MvNormal(full.loc, np.eye(3) * (full.sd() ** 2)[:, :, None])
    assert diagonal.log_density(z) == pytest.approx(same.log_density(z), rel=1e-12)


def test_a_density_of_nothing_is_minus_infinity_not_nan():
    flat = MonteCarlo(stats.uniform(0.0, 1.0), n_draws=2, n=1)
    law = Mixture([0.0, 1.0], [Normal([0.0], 1.0), flat])
    assert law.log_density(np.array([2.0])).tolist() == [-np.inf]
    assert law.log_density(np.array([0.5])).tolist() == [0.0]
    far = Mixture([0.5, 0.5], [Normal([0.0], 1e-75), Laplace([0.0], 1e-75)])
    assert np.isfinite(far.log_density(np.array([1e75]))).all()


def test_the_density_of_vectors_that_are_mixed():
    parts = [MvNormal([[0.0, 0.0]], 1.0), MvNormal([[1.0, 2.0]], 4.0)]
    z = np.array([[0.3, -0.2]])
    single = [stats.multivariate_normal(p.loc[0], np.eye(2) * p.cov[0, 0]).pdf(z[0]) for p in parts]
    assert np.exp(Mixture([0.25, 0.75], parts).log_density(z)) == pytest.approx([0.25 * single[0] + 0.75 * single[1]])


def test_quantiles_of_an_ensemble_are_members():
    law = Samples([[5.0, 1.0, 4.0, 2.0]])
    assert law.quantile([0.01, 0.25, 0.26, 0.5, 0.75, 0.76, 0.99]).tolist() == [[1.0, 1.0, 2.0, 2.0, 4.0, 5.0, 5.0]]
    hundred = Samples([np.arange(1.0, 101.0)])
    assert hundred.quantile(np.arange(1, 100) / 100).tolist() == [list(range(1, 100))]


def test_quantiles_of_mixtures_with_atoms_are_the_atoms():
    law = Mixture([0.5, 0.5], [Samples([[1.0, 2.0]]), Normal([10.0], 1.0)])
    assert law.quantile([0.1, 0.3, 0.75]) == pytest.approx(np.array([[1.0, 2.0, 10.0]]), rel=1e-14)


def test_draws_without_quantiles_of_their_own_take_order_statistics():
    class Coin:
        def rvs(self, size=None, random_state=None):
            return random_state.integers(0, 2, size).astype(float)

        def cdf(self, y):
            return np.where(y < 0, 0.0, np.where(y < 1, 0.5, 1.0))

    assert MonteCarlo(Coin(), n=2).quantile([0.1, 0.9]).tolist() == [[0.0, 1.0]] * 2


@each("level", [0.0, 1.0, -0.1, [0.5, np.nan], [], [[0.5]]])
def test_levels_outside_the_open_interval_are_refused(level):
    with pytest.raises(InputError, match="level must be one or several numbers between 0 and 1"):
        Normal([0.0], 1.0).quantile(level)


def test_what_a_law_lacks_is_said():
    with pytest.raises(InputError, match="quantiles need univariate distributions, but this is MvNormal"):
        MvNormal([[0.0, 0.0]], 1.0).quantile(0.5)
    mixed = Mixture([0.5, 0.5], [Samples([[1.0, 2.0]]), Normal([10.0], 1.0)])
    with pytest.raises(InputError, match="a log density needs distributions with a density"):
        mixed.log_density(np.array([1.0]))
    with pytest.raises(InputError, match="the same number of rows, but have 1 and 2"):
        Normal([0.0], 1.0).mean_difference(Normal([0.0, 1.0], 1.0))


def normal_below(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def laplace_below(x):
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


FAMILIES = {"normal": (Normal, normal_below), "laplace": (Laplace, laplace_below)}


@each("first", list(FAMILIES))
@each("second", list(FAMILIES))
@each("ratio", [1.0, 1 + 1e-9, 0.5, 30.0])
@each("offset", [0.0, 0.8, 20.0])
def test_mean_differences_are_integrals(first, second, ratio, offset):
    ours = [FAMILIES[first][0]([offset], 1.0), FAMILIES[second][0]([0.0], ratio)]
    one, two = FAMILIES[first][1], FAMILIES[second][1]

    def integrand(x):
        """Return the probability that x lies between both: one is below, the other, by symmetry, above."""
        a, b = x - offset, x / ratio
        return one(a) * two(-b) + two(b) * one(-a)

    reach = 45 * max(1.0, ratio)
    cuts = sorted({-reach, -9 * ratio, offset - 9, 0.0, offset, offset + 9, offset + 9 * ratio, offset + reach})
    pieces = [integrate.quad(integrand, a, b, epsabs=1e-12, epsrel=1e-11, limit=200) for a, b in pairwise(cuts)]
    value, bound = (sum(part) for part in zip(*pieces, strict=True))
    for left, right in (ours, ours[::-1]):
        assert left.mean_difference(right)[0] == pytest.approx(value, rel=1e-10, abs=10 * bound)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.lists(st.floats(-50, 50), min_size=1, max_size=8))
def test_mean_distances_of_ensembles_are_double_sums(left, right):
    x, z = np.array(left), np.array(right)
    one, two = Samples(x[None]), Samples(z[None])
    assert one.mean_difference(two)[0] == pytest.approx(np.abs(x[:, None] - z).mean(), abs=1e-12)
    gaps = np.abs(x[:, None] - x)
    assert one.mean_spread()[0] == pytest.approx(gaps.mean(), abs=1e-12)
    assert one.mean_distance(np.array([3.0]))[0] == pytest.approx(np.abs(x - 3).mean(), abs=1e-12)
    if len(x) > 1:
        assert one.mean_spread(fair=True)[0] == pytest.approx(gaps.sum() / (len(x) * (len(x) - 1)), abs=1e-12)


def test_vector_ensembles_and_their_partners_by_double_sums():
    x, z = RNG.normal(size=(3, 6, 2)), RNG.normal(size=(3, 4, 2))
    norms = np.linalg.norm(x[:, :, None] - z[:, None], axis=-1)
    assert Samples(x).mean_difference(Samples(z)) == pytest.approx(norms.mean(axis=(1, 2)), rel=1e-13)
    normal = MvNormal(RNG.normal(size=(3, 2)), 0.5)
    expected = np.mean([normal.mean_distance(x[:, s]) for s in range(6)], axis=0)
    assert normal.mean_difference(Samples(x)) == pytest.approx(expected, rel=1e-13)


@each("mean, sd", [(0.0, 1.0), (0.3, 1.0), (7.0, 1.0), (1.0, 1e-3), (1e5, 1.0)])
def test_mean_length_of_round_normal_vectors_is_a_hypergeometric_function(mean, sd):
    for d in (2, 3, 10):
        squares = np.zeros((1, d))
        squares[0, 0] = mean**2
        with mpmath.workdps(30):
            ratio = mpmath.mpf(mean) ** 2 / (2 * mpmath.mpf(sd) ** 2)
            factor = mpmath.sqrt(2) * mpmath.gamma(mpmath.mpf(d + 1) / 2) / mpmath.gamma(mpmath.mpf(d) / 2)
            exact = float(sd * factor * mpmath.hyp1f1(-0.5, mpmath.mpf(d) / 2, -ratio))
        assert mean_norm(np.full((1, d), sd**2), squares)[0] == pytest.approx(exact, rel=1e-12, abs=0)


def test_mean_length_of_oblong_normal_vectors_is_an_elliptic_integral():
    for ratio in (1.0, 0.5, 1e-3, 1e-9):
        exact = float(mpmath.sqrt(2 / mpmath.pi) * mpmath.ellipe(1 - mpmath.mpf(ratio) ** 2))
        assert mean_norm(np.array([[1.0, ratio**2]]), np.zeros((1, 2)))[0] == pytest.approx(exact, rel=1e-12, abs=0)


def test_turned_normal_vectors_are_as_long():
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    variances, mean, y = np.array([1.0, 4.0, 0.25]), RNG.normal(size=(1, 3)), RNG.normal(size=(1, 3))
    plain = MvNormal(mean, variances[None])
    turned = MvNormal(mean @ turn.T, (turn * variances @ turn.T)[None])
    assert turned.mean_distance(y @ turn.T) == pytest.approx(plain.mean_distance(y), rel=1e-12)
    assert turned.mean_difference(turned) == pytest.approx(plain.mean_spread(), rel=1e-12)


def test_monte_carlo_distances_do_not_depend_on_a_shared_seed():
    """Two laws drawn with one seed move together; their mean difference must not shrink for that."""
    one = MonteCarlo(stats.norm(np.zeros(200), 1.0), n_draws=256)
    two = MonteCarlo(stats.norm(np.zeros(200), 1.0), n_draws=256)
    values = one.mean_difference(two)
    error = values.std(ddof=1) / np.sqrt(200)
    assert abs(values.mean() - 2 / np.sqrt(np.pi)) < 4 * error
    assert error < 0.01
