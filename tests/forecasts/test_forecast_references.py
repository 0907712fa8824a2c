"""Published and recomputed reference values of kernel discrepancies, each derived again here."""

import numpy as np
import pytest

from calibrant.forecasts import (
    Forecasts,
    Laplace,
    Mixture,
    MvNormal,
    Normal,
    target_deviation,
    target_discrepancy,
)
from forecast_laws import deep_ensemble
from naming import each

E = np.e

# Published unbiased estimates for two rows are the off-diagonal entry. The formulas follow from E exp(-(Z - y)^2 / 2) =
# v^(-1/2) exp(-(mu - y)^2 / (2 v)) with v = 1 + sigma^2, which quadrature confirms in test_forecast_kernels.
NORMAL_CASES = [
    ([0, 0], [1, 1], [0, 0], 1.0, 0.1631367068165307, 1 - 2**0.5 + 1 / 3**0.5),
    ([0, 1], [1, 2], [1, 0], 1.0, -0.04186060698827978,
     E ** -(2**0.5) * (E**-0.5 - 1 / 2**0.5 - 1 / 5**0.5 + E ** (-1 / 12) / 6**0.5)),
    ([0, 1], [1, 2], [0, 1], 1.0, 0.00651220001294024,
     E ** -(2**0.5) * (E**-0.5 - E**-0.25 / 2**0.5 - E**-0.1 / 5**0.5 + E ** (-1 / 12) / 6**0.5)),
    ([0, 0], [1, 1], [0, 0], 2.0, 0.027642198927894435, 1 - 2 / 1.25**0.5 + 1 / 1.5**0.5),
    ([0, 1], [1, 2], [1, 0], 2.0, -0.021490892973595306,
     E ** -(2**0.5) * (E**-0.125 - 1 / 1.25**0.5 - 1 / 2**0.5 + E ** (-1 / 18) / 2.25**0.5)),
    ([0, 1], [1, 2], [0, 1], 2.0, 0.00961770077268961,
     E ** -(2**0.5) * (E**-0.125 - E**-0.1 / 1.25**0.5 - E**-0.0625 / 2**0.5 + E ** (-1 / 18) / 2.25**0.5)),
]  # fmt: skip


@each("loc, scale, targets, lengthscale, published, formula", NORMAL_CASES)
def test_published_values_for_normals(loc, scale, targets, lengthscale, published, formula):
    f = Forecasts(Normal(loc, scale), targets)
    h = np.exp(-f.distribution.wasserstein(f.distribution)) * target_discrepancy(f, f, "gaussian", lengthscale)
    assert published == pytest.approx(formula, abs=1e-15)
    assert h[0, 1] == pytest.approx(formula, abs=1e-14)
    assert h[1, 0] == pytest.approx(formula, abs=1e-14)


def test_published_mean_embeddings_for_normals():
    f = Forecasts(Normal([0, 1], [1, 2]), [0, 0.5])
    places = Normal([0.5, -1], [0.5, 1.5])
    kernel = np.exp(-f.distribution.wasserstein(places))
    means = (kernel * target_deviation(f, "gaussian", 1.0, np.array([1.0, -0.5]))).mean(axis=0)
    a = E ** -(0.5**0.5) * (E**-0.5 - E**-0.25 / 2**0.5) + E ** -(2.5**0.5) * (E**-0.125 - 1 / 5**0.5)
    b = E ** -(5**0.5 / 2) * (E**-0.125 - E ** (-1 / 16) / 2**0.5)
    b += E ** -(17**0.5 / 2) * (E**-0.5 - E ** (-9 / 40) / 5**0.5)
    assert means[0] ** 2 == pytest.approx(a**2 / 4, abs=1e-15)
    assert a**2 / 4 == pytest.approx(0.0034272907966348375, abs=1e-15)
    assert np.mean(means**2) == pytest.approx((a**2 + b**2) / 8, abs=1e-15)
    assert (a**2 + b**2) / 8 == pytest.approx(0.003041968925894749, abs=1e-15)


def test_reference_values_for_laplace_laws():
    """From the closed forms that test_forecast_kernels compares with nested quadrature."""
    for beta, z, value in [(0.5, 0, 2 / 3), (1, 0, 0.5), (2, 1, 0.28172729275127484)]:
        assert Laplace([z], [beta]).expect("exponential", 1.0, np.zeros(1))[0, 0] == pytest.approx(value, abs=1e-14)
    pairs = [(1, 1, 0.5, 0.3601275792043761), (1, 2, 0.5, 0.27106551570747556), (2, 2, 0.5, 0.21882578112084358)]
    for beta, other, z, value in [*pairs, (0.5, 2, 1, 0.27382361897441443)]:
        found = Laplace([z], [beta]).expect_pair("exponential", 1.0, Laplace([0], [other]))[0, 0]
        assert found == pytest.approx(value, abs=1e-14)
    cases = [([0, 0], [1, 1], [0, 0], 0.375), ([0, 1], [1, 2], [1, 0], -0.03758584560884119)]
    for loc, scale, targets, value in [*cases, ([0, 1], [1, 2], [0, 1], -0.005080714008454354)]:
        f = Forecasts(Laplace(loc, scale), targets)
        h = np.exp(-f.distribution.wasserstein(f.distribution)) * target_discrepancy(f, f, "exponential", 1.0)
        assert h[0, 1] == pytest.approx(value, abs=1e-13)


def test_reference_values_for_mixtures():
    """The double sum over components is complete, where a published implementation left terms out."""
    p = Mixture([0.25, 0.75], [Normal([0], [1]), Normal([1], [2])])
    q = Mixture([0.5, 0.5], [Normal([0.5], [0.5]), Normal([-1], [1.5])])
    distance = p.mixture_wasserstein(q)[0, 0]
    assert distance**2 == pytest.approx(2.625, abs=1e-14)
    for y, z, h, value in [
        (0, 0, 0.2755173318062148, 0.054514425917620346),
        (1, -0.5, -0.26554671144424175, -0.052541618466589286),
    ]:
        found = target_discrepancy(Forecasts(p, [y]), Forecasts(q, [z]), "gaussian", 1.0)[0, 0]
        assert found == pytest.approx(h, abs=1e-14)
        assert found * np.exp(-distance) == pytest.approx(value, abs=1e-14)


def test_reference_values_for_a_deep_ensemble():
    f = deep_ensemble()
    mixture = f.distribution
    distances = mixture.mixture_wasserstein(mixture)
    h = np.exp(-distances) * target_discrepancy(f, f, "gaussian", 1.0)
    assert distances[0, 1] == pytest.approx(0.5916333323943137, abs=1e-13)
    assert (h.sum() - np.trace(h)) / 30 == pytest.approx(-0.0158109298207318, abs=1e-14)
    assert h.mean() == pytest.approx(0.11341210975710848, abs=1e-14)


def whitened_grid(mean, cov):
    """Nodes and weights of the trapezoidal rule, which is exact to rounding for normal laws."""
    line = np.arange(-8, 8.01, 0.4)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    weights = np.exp(-np.square(grid).sum(axis=1) / 2) / (2 * np.pi) * 0.4**2
    keep = weights > 1e-16
    return mean + grid[keep] @ np.linalg.cholesky(cov).T, weights[keep]


@pytest.mark.parametrize("lengthscale, h", [(1.0, -0.014198121574417202), (2.0, 0.007055314748533215)])
def test_reference_values_for_multivariate_normals(lengthscale, h):
    """All four terms are also integrated numerically."""
    mean, cov = np.array([[0, 1], [1, -1.0]]), np.array([[[2, 0.5], [0.5, 1]], [[1, -0.3], [-0.3, 0.5]]])
    targets = np.array([[0.5, 0.5], [0, -1.0]])
    f = Forecasts(MvNormal(mean, cov), targets)
    found = target_discrepancy(f, f, "gaussian", lengthscale)
    (z, v), (w, u) = (whitened_grid(m, c) for m, c in zip(mean, cov, strict=True))

    def kernel(a, b):
        return np.exp(-np.square(a[:, None] - b).sum(axis=-1) / 2 / lengthscale**2)

    pairs = sum(float(v[s] @ (kernel(z[s], w) @ u)) for s in np.array_split(np.arange(len(z)), 8))
    y, t = targets[:1], targets[1:]
    expected = float(kernel(y, t)[0, 0] - v @ kernel(z, t)[:, 0] - u @ kernel(w, y)[:, 0] + pairs)
    assert expected == pytest.approx(h, abs=1e-12)
    assert found[0, 1] == pytest.approx(h, abs=1e-14)
    assert found[1, 0] == pytest.approx(h, abs=1e-14)
    if lengthscale == 1.0:
        weighted = np.exp(-f.distribution.wasserstein(f.distribution)) * found
        assert weighted[0, 1] == pytest.approx(-0.0013452303910144025, abs=1e-14)
