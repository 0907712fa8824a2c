"""Random features agree with the exact value within their own standard error."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.kernels import (
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    GramKernel,
    TotalVariation,
    WhiteKernel,
    random_features,
)
from calibrant.kernels.discrepancy import pair_matrix
from calibrant.kernels.random_features import feature_pairs
from calibrant.metrics import SKCE
from naming import each
from simulate import calibrated, sharpened

KERNELS = [
    ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel(),
    ExponentialKernel(Euclidean(), 0.5) @ WhiteKernel(),
    GaussianKernel(Euclidean(), 0.3) @ GramKernel(np.exp(-np.abs(np.subtract.outer(range(4), range(4))))),
    (2.0 * GaussianKernel(Euclidean(), 0.3)) @ WhiteKernel(),
]


@each("kernel", KERNELS)
@each("unbiased", [True, False])
def test_the_exact_value_lies_within_four_standard_errors(kernel, unbiased):
    source = sharpened(calibrated(n=200, k=4), 0.5)
    p = Predictions(source.probs, source.labels, np.random.default_rng(0).random(200))
    estimate = SKCE(kernel, unbiased, features=2000).estimate(p)
    error = estimate.details["monte_carlo_error"]
    assert abs(estimate.value - SKCE(kernel, unbiased)(p)) < 4 * error
    assert 0 < error < 0.1 * abs(estimate.value) + 1e-4


def test_more_features_shrink_the_error_as_their_root():
    p = sharpened(calibrated(n=300, k=4), 0.5)
    errors = [SKCE(KERNELS[0], features=d).estimate(p).details["monte_carlo_error"] for d in (500, 8000)]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.35)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=repr)
def test_products_and_quadratic_forms_agree(kernel, monkeypatch):
    monkeypatch.setattr(random_features, "CELLS", 5000)  # Several chunks.
    p = calibrated(n=60, k=4)
    pairs = feature_pairs(p, kernel, 3000)
    columns = np.random.default_rng(0).random((60, 3))
    forms = np.einsum("ib,ib->b", columns, pairs.matmul(columns))
    assert pairs.quadratic_forms(columns) == pytest.approx(forms, rel=1e-10)
    exact = pair_matrix(p, kernel).matmul(columns)
    assert np.abs(pairs.matmul(columns) - exact).max() < 0.1 * np.abs(exact).max()


def test_the_same_features_every_time():
    p = calibrated(n=50)
    assert SKCE(features=64)(p) == SKCE(features=64)(p)
