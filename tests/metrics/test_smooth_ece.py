"""Smooth calibration error against its integral, term by term."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.fft import dct
from scipy.optimize import brentq

from binary_cases import published
from calibrant import InputError, Predictions
from calibrant.binning import EqualWidth
from calibrant.metrics import ECE, SmoothECE
from calibrant.metrics.smooth_ece import CELLS, NARROWEST
from naming import each
from properties import examples

reproducible = examples(40, derandomize=True)
ignore_oddities = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")


def by_definition(p, width, n_points=20_001):
    """The integral by trapezoids, of a sum over rows and mirror images."""
    t = np.linspace(0, 1, n_points)
    share = p.weights / p.weights.sum() * (p.positive - p.labels)
    smooth = np.zeros(n_points)
    reach = int(np.ceil(5 * width)) + 1
    for value, amount in zip(p.positive, share, strict=True):
        for k in range(-reach, reach + 1):
            for image in (2 * k + value, 2 * k - value):
                if abs(image - 0.5) < 0.5 + 9 * width:  # Others add less than 1e-17 of the amount.
                    smooth += amount * np.exp(-(((t - image) / width) ** 2) / 2)
    return np.trapezoid(np.abs(smooth), t) / (width * np.sqrt(2 * np.pi))


def fixed_point_by_definition(p):
    return brentq(lambda width: by_definition(p, width, 4001) - width, 1e-3, 1.5, xtol=1e-10)


def simulated(n, seed, atoms=False):
    rng = np.random.default_rng(seed)
    probs = rng.choice([0.0, 0.2, 0.5, 1.0], n) if atoms else rng.random(n)
    return Predictions(probs, rng.integers(0, 2, n), rng.exponential(size=n))


@each("width", [0.003, 0.01, 0.05, 0.3, 2.0])
@each("atoms", [False, True])
def test_a_given_bandwidth_gives_the_integral(width, atoms):
    p = simulated(20, 0, atoms=atoms)
    assert SmoothECE(width)(p) == pytest.approx(by_definition(p, width), rel=1e-5)


def test_the_stated_bound_of_the_grid_holds_where_it_bites():
    """Cosine sums of the rows themselves, without a grid, and trapezoids so fine that they do not matter."""
    p = simulated(60, 3)
    gap = np.average(np.abs(p.positive - p.labels), weights=p.weights)
    for width in (0.001, 0.002, 0.004):
        k = np.arange(int(4 / width))
        sums = np.cos(np.pi * k[:, None] * p.positive) @ (p.weights / p.weights.sum() * (p.positive - p.labels))
        damped = sums * np.exp(-((np.pi * width * k) ** 2) / 2)
        smooth = dct(np.pad(damped, (0, 2**18 + 1 - len(k))), type=1)
        exact = np.trapezoid(np.abs(smooth), dx=2.0**-18)
        trapezoids = 1e-6
        assert abs(SmoothECE(width)(p) - exact) < (0.09 * (1 / CELLS / width) ** 4 + trapezoids) * gap


@reproducible
@given(st.integers(2, 30), st.integers(0, 2**31), st.booleans())
@ignore_oddities
def test_the_value_equals_its_own_bandwidth(n, seed, atoms):
    p = simulated(n, seed, atoms=atoms)
    value = SmoothECE()(p)
    if value > 0.02:
        assert by_definition(p, value, 5001) == pytest.approx(value, rel=5e-4)


def test_the_fixed_point_found_by_bisection_of_the_definition():
    p = simulated(25, 7)
    assert SmoothECE()(p) == pytest.approx(fixed_point_by_definition(p), rel=1e-5)


def test_sets_of_labels_together_have_the_errors_of_each():
    """More of them than are searched at once, and of sizes that need different numbers of points."""
    p = simulated(200, 3)
    labels = np.random.default_rng(0).random((200, 60)) < p.positive[:, None] ** np.linspace(0.9, 3, 60)
    together = SmoothECE().prepare_labels(p)(labels.astype(int))
    alone = [SmoothECE()(Predictions(p.positive, some, p.weights)) for some in labels.T]
    np.testing.assert_allclose(together, alone, rtol=1e-10)
    assert together.max() > 5 * together.min()


@each("width", ["auto", 0.002, 0.05, 0.5])
def test_predictions_of_exactly_0_and_1_keep_their_weight(width):
    """All residuals have one sign, so that smoothing keeps their sum; padding that halves the ends gives 0.3947."""
    p = Predictions([1.0] * 50 + [0.6] * 50, [1] * 50 + [0] * 50)
    assert SmoothECE(width)(p) == pytest.approx(0.3, rel=1e-9)
    mirrored = Predictions(1 - p.positive, 1 - p.labels)
    assert SmoothECE(width)(mirrored) == pytest.approx(0.3, rel=1e-9)


@ignore_oddities
def test_one_prediction_for_all_has_the_distance_from_the_frequency():
    assert SmoothECE()(Predictions(np.full(40, 0.3), np.arange(40) % 4 == 0)) == pytest.approx(0.05, rel=1e-9)
    assert SmoothECE()(Predictions(np.ones(40), np.arange(40) % 4 > 0)) == pytest.approx(0.25, rel=1e-9)


@ignore_oddities
def test_labels_of_exactly_the_predicted_frequency_have_no_error():
    """Coin flips: the sum of the residuals of half of the redrawn labels is exactly 0, and so is its bandwidth."""
    p = Predictions(np.full(40, 0.5), np.arange(40) % 2)
    labels = (np.arange(40)[:, None] < [20, 10, 20]).astype(int)
    np.testing.assert_allclose(SmoothECE().prepare_labels(p)(labels), [0, 0.25, 0], atol=2.0**-16)


@ignore_oddities
def test_flawless_predictions_have_no_error():
    assert SmoothECE()(Predictions([0.0, 1.0, 1.0], [0, 1, 1])) == 0
    assert SmoothECE()(Predictions([1e-9, 1 - 1e-9], [0, 1])) == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("sharpness, expected", [(1.0, 0.0142587), (2.0, 0.0796959)])
def test_simulated_data_of_the_calzone_project(sharpness, expected):
    """Fixed points of the trapezoid integral above, found once by bisection with 20 001 points."""
    p = published(sharpness)
    assert SmoothECE()(p) == pytest.approx(expected, abs=1e-7)


@reproducible
@given(st.integers(1, 200), st.integers(0, 2**31))
@ignore_oddities
def test_it_lies_between_the_net_error_and_the_error_of_every_value(n, seed):
    p = simulated(n, seed)
    net = abs(np.average(p.positive - p.labels, weights=p.weights))
    gap = np.average(np.abs(p.positive - p.labels), weights=p.weights)
    assert net - 1e-9 <= SmoothECE()(p) <= gap + 1e-9


@reproducible
@given(st.integers(2, 100), st.integers(0, 2**31))
@ignore_oddities
def test_it_falls_as_the_bandwidth_grows(n, seed):
    p = simulated(n, seed)
    values = [SmoothECE(width)(p) for width in (0.01, 0.03, 0.1, 0.5, 3.0)]
    assert all(one >= other - 1e-9 for one, other in pairwise(values))


def test_swapping_classes_changes_nothing():
    p = simulated(300, 11)
    assert SmoothECE()(Predictions(1 - p.positive, 1 - p.labels, p.weights)) == pytest.approx(SmoothECE()(p), rel=1e-9)


def test_it_is_near_the_binned_error_of_a_blatantly_overconfident_model():
    p = published(2.0)
    assert SmoothECE()(p) == pytest.approx(ECE(EqualWidth(15))(p), rel=0.05)


@each("bandwidth", [0, -1, NARROWEST / 2, True, "silverman", None, np.nan])
def test_bad_bandwidths_are_refused(bandwidth):
    with pytest.raises(InputError, match='bandwidth must be "auto" or a number'):
        SmoothECE(bandwidth)
