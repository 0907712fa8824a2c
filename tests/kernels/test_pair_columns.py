"""Columns of the matrix behind kernel calibration errors, against the product that defines them."""

import numpy as np
import pytest

from calibrant import Forecasts, Normal
from calibrant.kernels import Euclidean, ExponentialKernel, GaussianKernel, TotalVariation, WhiteKernel
from calibrant.kernels.discrepancy import pair_matrix, prediction_pairs, tune
from calibrant.kernels.pairs import PairMatrix, SortedPairs
from naming import each
from simulate import calibrated

RNG = np.random.default_rng(0)
ROUGH, SMOOTH = ExponentialKernel(TotalVariation(), 0.3), GaussianKernel(Euclidean(), 0.5)
P3, P2 = calibrated(n=70), calibrated(n=70, k=2)
MATRICES = {
    "classes": pair_matrix(P3, ROUGH @ WhiteKernel()),
    "another target kernel": pair_matrix(P3, SMOOTH @ GaussianKernel(lengthscale=0.7)),
    "two classes": pair_matrix(P2, ROUGH @ WhiteKernel()),
    "sum": pair_matrix(P3, ROUGH @ WhiteKernel() + SMOOTH @ WhiteKernel()),
    "predictions alone": prediction_pairs(P3, SMOOTH),
    "product of kernels": prediction_pairs(P3, ROUGH * SMOOTH),
    "line": SortedPairs(RNG.random(70), RNG.normal(size=70), 0.2, 2.0),
    "weighted": pair_matrix(P3, ROUGH @ WhiteKernel()).weighted(RNG.random(70)),
    "forecasts": pair_matrix(
        f := Forecasts(Normal(RNG.normal(size=70), RNG.uniform(1, 2, 70)), RNG.normal(size=70)), tune(None, f)
    ),
}


@each("name", list(MATRICES))
def test_columns_are_products_with_unit_vectors(name):
    matrix: PairMatrix = MATRICES[name]
    columns = np.array([0, 3, 40, 69])
    expected = matrix.matmul(np.eye(matrix.n)[:, columns])
    assert matrix.take(columns) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    assert not matrix.take(columns)[columns, np.arange(4)].any()
    assert np.abs(expected).max() > 0.01
