"""The compiled exponential and logarithm against those of NumPy."""

import numpy as np
import pytest

from calibrant._core.laws import exp_in_place
from calibrant._core.library import required
from naming import each


def applied(name, x):
    """Return the compiled function of every number."""
    core = required()
    padded = np.ones(-(-len(x) // core.lanes) * core.lanes)
    padded[: len(x)] = x
    getattr(core, name)(padded, len(padded))
    return padded[: len(x)]


def exp_of(x):
    return applied("exp", x)


def log_of(x):
    return applied("log", x)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_exponential_is_that_of_numpy_to_the_last_digits(rng):
    x = -np.concatenate([[0.0], rng.uniform(0, 708, 100_000), np.logspace(-320, np.log10(708), 100_000)])
    np.testing.assert_allclose(exp_of(x), np.exp(x), rtol=5e-16, atol=0)


def test_exponential_is_one_at_zero_exactly():
    assert exp_of(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


def test_exponential_underflows_to_zero():
    x = np.array([-708.1, -709.0, -745.0, -746.0, -1e4, -1e19, -1e300, -np.inf])
    assert not exp_of(x).any()
    assert np.exp(x).max() < 1e-307


def test_exponential_of_positive_numbers_is_right_too(rng):
    x = rng.uniform(0, 700, 10_000)
    np.testing.assert_allclose(exp_of(x), np.exp(x), rtol=5e-16)


def test_logarithm_is_that_of_numpy_to_the_last_digits(rng):
    x = np.concatenate(
        [np.exp(rng.uniform(-690, 690, 50_000)), 1 + np.logspace(-15, 0, 50_000), rng.uniform(0.5, 2, 50_000)]
    )
    np.testing.assert_allclose(log_of(x), np.log(x), rtol=1e-15)
    assert log_of(np.array([1.0]))[0] == 0.0


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
