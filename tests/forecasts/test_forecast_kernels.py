"""Expected target kernels: closed forms against quadrature and high precision."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.forecasts import Laplace, Normal, Samples
from naming import each
from properties import examples

PROFILES = {"gaussian": lambda d: np.exp(-(d**2) / 2), "exponential": lambda d: np.exp(-np.abs(d))}
DENSITIES = {
    Normal: lambda z: np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi),
    Laplace: lambda z: np.exp(-np.abs(z)) / 2,
}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)
STEPS = np.array([-38, -8, -3, -1, 0, 1, 3, 8, 38])


def expect_by_quadrature(kind, loc, scale, function, *breaks):
    """E function(Z) for one law, by Gauss and Legendre between the points where an integrand has a kink or turns.

    `breaks` are such points, (m, 1), each with a scale on which the integrand changes; the function takes (m, ...).
    """
    ends = loc + scale * STEPS
    inner = [np.clip(points + width * STEPS, ends[0], ends[-1]) for points, width in breaks]
    edges = np.sort(np.concatenate([np.broadcast_to(ends, (len(inner[0]), len(ends))), *inner], axis=1), axis=1)
    half = np.diff(edges)[..., None] / 2
    z = edges[:, :-1, None] + half * (1 + NODES)
    return (half * WEIGHTS * DENSITIES[kind]((z - loc) / scale) / scale * function(z)).sum(axis=(1, 2))


locations = st.floats(-4, 4)
scales = st.floats(0.05, 5)


@each("kind", [Normal, Laplace])
@each("profile", list(PROFILES))
@examples(25, derandomize=True)
@given(loc=locations, scale=scales, y=locations, lengthscale=st.floats(0.2, 5))
def test_expectations_at_points_match_quadrature(kind, profile, loc, scale, y, lengthscale):
    value = kind([loc], [scale]).expect(profile, lengthscale, np.array([y]))[0, 0]
    around = (np.array([[y]]), lengthscale)
    (expected,) = expect_by_quadrature(kind, loc, scale, lambda z: PROFILES[profile]((z - y) / lengthscale), around)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@each("kinds", [(Normal, Normal), (Laplace, Laplace), (Normal, Laplace), (Laplace, Normal)])
@each("profile", list(PROFILES))
@examples(6, derandomize=True)
@given(loc=locations, scale=scales, other_loc=locations, other_scale=scales)
def test_expectations_of_pairs_match_nested_quadrature(kinds, profile, loc, scale, other_loc, other_scale):
    first, second = kinds
    value = first([loc], [scale]).expect_pair(profile, 1.0, second([other_loc], [other_scale]))[0, 0]

    def inner(z):
        points = z.reshape(-1, 1)
        kernel = lambda w: PROFILES[profile](points[..., None] - w)  # noqa: E731 (of the points above)
        return expect_by_quadrature(second, other_loc, other_scale, kernel, (points, 1.0)).reshape(z.shape)

    centre = np.array([[other_loc]])
    (expected,) = expect_by_quadrature(first, loc, scale, inner, (centre, 1.0), (centre, other_scale))
    assert value == pytest.approx(expected, rel=1e-8, abs=1e-11)


NEAR_ONE = [1 + sign * 10.0**-k for k in range(1, 13) for sign in (1, -1)]
BETAS = np.array([1.0, *NEAR_ONE, 2.0, 2 + 1e-9, 2 - 1e-5, 0.5, 1e-6, 1e6])
OFFSETS = [0.0, 1e-7, 0.5, 3.0, 40.0, 300.0]


def divided_difference(function, nodes):
    """Divided difference in the squares of the nodes; equal nodes are set apart by 1e-22, at 80 digits."""
    with mpmath.workdps(80):
        apart = [mpmath.mpf(t) * (1 + k * mpmath.mpf(10) ** -22) for k, t in enumerate(nodes)]
        squares = [t**2 for t in apart]
        return sum(
            function(t) / mpmath.fprod(x - other for other in squares if other is not x)
            for t, x in zip(apart, squares, strict=True)
        )


@each("z", OFFSETS)
def test_laplace_forms_keep_ten_digits_wherever_scales_meet(z):
    """E1 and E2 are divided differences of t exp(-z/t) and t^3 exp(-z/t); measured: within 5e-14."""
    laws, points = Laplace(np.full(len(BETAS), z), BETAS), Laplace(np.zeros(len(BETAS)), BETAS)
    single = laws.expect("exponential", 1.0, np.zeros(1))[:, 0]
    pairs = laws.expect_pair("exponential", 1.0, points)
    for i, b in enumerate(BETAS):
        expected = divided_difference(lambda t: t * mpmath.exp(-z / t), [1.0, b])
        assert abs(single[i] / expected - 1) < 1e-12
        for j, c in enumerate(BETAS[: i + 1]):
            expected = divided_difference(lambda t: t**3 * mpmath.exp(-z / t), [1.0, b, c])
            assert abs(pairs[i, j] / expected - 1) < 1e-12
            assert abs(pairs[j, i] / expected - 1) < 1e-12


def normal_laplace_moment(z, sd, t):
    """E exp(-|X|/t) for X ~ N(z, sd), in its textbook form, which overflows in double precision."""
    s, u = sd / t, z / sd
    sides = (mpmath.exp(s**2 / 2 + sign * z / t) * mpmath.erfc((s + sign * u) / mpmath.sqrt(2)) for sign in (-1, 1))
    return sum(sides) / 2


@each("z", [0.0, 0.3, 2.0, 30.0, 200.0])
@each("sd", [1e-4, 0.05, 1.0, 7.0, 1e3])
def test_mixed_forms_keep_ten_digits_wherever_scales_meet(sd, z):
    """Normals under the exponential kernel, Laplace laws under the Gaussian one, both kinds; measured: within 9e-14."""
    betas = np.array([1.0, 1 + 1e-12, 1 + 1e-7, 1 - 1e-3, 1.2, 1.45, 4.0, 60.0, 0.3, 1e-3])
    laplaces = Laplace(np.full(len(betas), z), betas)
    found = {
        "normal": Normal([z], [sd]).expect("exponential", 1.0, np.zeros(1)) * np.ones((len(betas), 1)),
        "laplace": laplaces.expect("gaussian", sd, np.zeros(1)),
        "both": laplaces.expect_pair("exponential", 1.0, Normal([0.0], [sd])),
        "laplaces": laplaces.expect_pair("gaussian", sd, Laplace([0.0], [1.0])),
    }
    with mpmath.workdps(60):

        def moment(t):
            return normal_laplace_moment(mpmath.mpf(z), mpmath.mpf(sd), mpmath.mpf(t))

        bell = mpmath.sqrt(2 * mpmath.pi) * mpmath.mpf(sd)
        for i, b in enumerate(betas):
            twice = divided_difference(lambda t: t * moment(t) / 2, [1.0, b])
            expected = {
                "normal": moment(1),
                "laplace": bell / (2 * mpmath.mpf(b)) * moment(b),
                "both": 2 * twice,
                "laplaces": bell * twice,
            }
            for name, value in expected.items():
                if value > 1e-290:
                    assert abs(found[name][i, 0] / value - 1) < 1e-12, (name, b)


@each("extreme", [1e-75, 1e75])
@each("profile", list(PROFILES))
def test_extreme_scales_give_numbers(profile, extreme):
    for one in (Normal, Laplace):
        for other in (Normal, Laplace):
            first, second = one([0.0, 1e75], [extreme, 1.0]), other([0.0, -1e75, 1.0], [1.0, 1.0, extreme])
            for lengthscale in (1e-75, 1.0, 1e75):
                values = first.expect_pair(profile, lengthscale, second)
                assert np.all((values >= 0) & (values <= 1 + 1e-12))
                values = first.expect(profile, lengthscale, second.loc)
                assert np.all((values >= 0) & (values <= 1 + 1e-12))


def test_empirical_laws_average_over_all_pairs_of_draws():
    """By hand: draws 0, 1 against 0 have distances 0, 1; against 0, 2 also 2 and 1."""
    f = Samples([[0.0, 1.0]])
    assert f.expect("exponential", 1.0, np.zeros(1))[0, 0] == pytest.approx((1 + np.exp(-1)) / 2)
    pair = f.expect_pair("exponential", 1.0, Samples([[0.0, 2.0]]))[0, 0]
    assert pair == pytest.approx((1 + np.exp(-2) + 2 * np.exp(-1)) / 4)
    with_normal = f.expect_pair("gaussian", 1.0, Normal([0.0], [1.0]))[0, 0]
    assert with_normal == pytest.approx((1 + np.exp(-0.25)) / 2**1.5)
