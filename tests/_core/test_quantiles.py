"""Quantiles are those of NumPy, to the last bit."""

import numpy as np

from calibrant._core.quantiles import median, quantiles
from naming import each


@each("n", [1, 2, 3, 4, 7, 40, 399, 1000])
def test_they_are_those_of_numpy(n):
    rng = np.random.default_rng(n)
    shares = np.concatenate([[0.0, 0.025, 0.5, 0.975, 1.0], rng.random(50)])
    for scale in (1e-200, 1.0, 1e200):
        values = scale * rng.normal(size=n).round(1)
        assert quantiles(values, shares).tolist() == np.quantile(values, shares).tolist()
        assert float(quantiles(values, 0.95)) == float(np.quantile(values, 0.95))
        assert median(values) == float(np.median(values))


def test_all_numbers_of_a_matrix_count():
    values = np.random.default_rng(0).normal(size=(6, 5))
    assert median(values) == float(np.median(values))
    assert quantiles(values, [0.1, 0.7]).tolist() == np.quantile(values, [0.1, 0.7]).tolist()
