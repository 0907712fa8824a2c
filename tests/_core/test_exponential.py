"""Exponentials of the compiled library against NumPy's."""

import numpy as np

from calibrant._core.exponential import exp_in_place
from naming import each


@each("shape", [(), (0,), (1,), (7,), (8,), (13, 5), (64, 33)])
def test_exponentials_are_those_of_numpy(shape):
    x = np.asarray(-np.random.default_rng(0).exponential(200.0, shape))
    expected = np.where(x < -708, 0.0, np.exp(x))
    found = exp_in_place(x)
    assert found is x
    np.testing.assert_allclose(found, expected, rtol=5e-16, atol=1e-307)


def test_the_ends_are_exact():
    assert exp_in_place(np.array([0.0, -0.0, -np.inf, -1e300, -800.0])).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_every_second_number_is_replaced_in_its_place():
    x = -np.arange(12.0)
    exp_in_place(x[::2])
    np.testing.assert_allclose(x[::2], np.exp(-np.arange(0, 12.0, 2)), rtol=5e-16)
    assert x[1::2].tolist() == [-1, -3, -5, -7, -9, -11]
