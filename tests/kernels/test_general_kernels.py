"""Functions of two pairs as kernels, and kernels as functions of two pairs."""

import math
from functools import partial

import numpy as np
import pytest

from calibrant import Forecasts, InputError, Normal, Predictions
from calibrant.kernels import ExponentialKernel, GaussianKernel, JointSum, SampledKernel, Wasserstein, WhiteKernel
from calibrant.kernels.discrepancy import pair_matrix
from calibrant.metrics import SKCE

W2 = ExponentialKernel(Wasserstein()) @ GaussianKernel()


def calibrated_normals(n):
    rng = np.random.default_rng(1)
    loc, scale = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    return Forecasts(Normal(loc, scale), rng.normal(loc, scale))


def pair_kernel(a, b):
    w2 = math.hypot(a[0].loc[0] - b[0].loc[0], a[0].scale[0] - b[0].scale[0])
    return math.exp(-w2 - (a[1] - b[1]) ** 2 / 2)


class TestDrawsOfAFunction:
    def test_it_is_symmetric(self):
        matrix = pair_matrix(calibrated_normals(6), pair_kernel).tile(slice(0, 6), slice(0, 6))
        assert matrix.tolist() == matrix.T.tolist()

    @pytest.mark.parametrize("unbiased", [True, False])
    def test_the_order_of_rows_does_not_matter_even_if_laws_are_equal(self, unbiased):
        rng = np.random.default_rng(0)
        loc, targets, weights = rng.integers(0, 3, 9).astype(float), rng.normal(size=9), rng.uniform(0.5, 2, 9)
        f, order = Forecasts(Normal(loc, np.ones(9)), targets, weights), rng.permutation(9)
        shuffled = Forecasts(Normal(loc[order], np.ones(9)), targets[order], weights[order])
        metric = SKCE(pair_kernel, unbiased=unbiased)
        assert metric(shuffled) == pytest.approx(metric(f), rel=1e-12)
        assert metric(f.take(order)) == pytest.approx(metric(f), rel=1e-12)

    def test_equal_laws_have_draws_of_their_own(self):
        f = Forecasts(Normal(np.zeros(4), np.ones(4)), np.arange(4.0))
        assert len(np.unique(SampledKernel(pair_kernel).draws(f))) == 4 * 64

    def test_the_details_say_how_many_draws_and_how_large_the_error_is(self):
        f = calibrated_normals(6)
        exact = SKCE(W2)(f)
        errors = []
        for n_draws in (16, 128):
            found = SKCE(SampledKernel(pair_kernel, n_draws)).estimate(f)
            assert found.details["draws"] == n_draws
            errors.append(found.details["monte_carlo_error"])
            assert abs(found.value - exact) < 4 * errors[-1]
        assert 0 < errors[1] < errors[0] / 2
        assert SKCE(pair_kernel).details(f)["draws"] == 64
        assert SKCE(pair_kernel)(f) == SKCE(SampledKernel(pair_kernel, 64))(f)

    def test_the_reported_error_is_that_of_other_seeds(self):
        f = calibrated_normals(3)
        found = [SKCE(SampledKernel(pair_kernel, 16, seed)).estimate(f) for seed in range(40)]
        spread = np.std([estimate.value for estimate in found], ddof=1)
        # 40 values give a standard deviation within a third, with certainty but for 1 in 500.
        assert np.sqrt(np.mean([e.details["monte_carlo_error"] ** 2 for e in found])) == pytest.approx(spread, rel=0.35)
        assert abs(np.mean([e.value for e in found]) - SKCE(W2)(f)) < 4 * spread / math.sqrt(40)

    def test_bad_settings_are_refused(self):
        with pytest.raises(InputError, match="n_draws must be a multiple of 4, but is 6"):
            SampledKernel(pair_kernel, 6)
        with pytest.raises(InputError, match="seed must be a whole number"):
            SampledKernel(pair_kernel, seed=-1)
        with pytest.raises(TypeError, match="function must be a function of two pairs"):
            SampledKernel("gaussian")


def test_a_tensor_product_is_a_function_of_two_pairs():
    f = calibrated_normals(7)
    laws = [f.distribution.take([i]) for i in range(2)]
    expected = pair_kernel((laws[0], f.targets[0]), (laws[1], f.targets[1]))
    assert W2((laws[0], f.targets[0]), (laws[1], f.targets[1])) == pytest.approx(expected, rel=1e-12)
    assert (W2 + 2.0 * W2)((laws[0], 0.5), (laws[1], -0.5)) == pytest.approx(3 * W2((laws[0], 0.5), (laws[1], -0.5)))
    with pytest.raises(InputError, match="a distribution of one row, but has 7"):
        W2((f.distribution, 0.0), (laws[0], 0.0))


def test_of_classes_it_agrees_with_the_error_it_defines():
    p = Predictions([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]], labels=[2, 1, 1])
    kernel = ExponentialKernel() @ WhiteKernel() + 2.0 * ExponentialKernel(lengthscale=0.5) @ WhiteKernel()
    assert SKCE(partial(JointSum.__call__, kernel))(p) == pytest.approx(SKCE(kernel)(p), rel=1e-12)
    assert kernel((0.3, "cat"), ([0.7, 0.3], "cat")) == pytest.approx(3.0)
    assert kernel((0.3, "cat"), (0.3, "dog")) == 0
