"""Estimated frequencies at given points."""

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant._core.line.boxes import Line
from calibrant.curves import kernel_curve
from calibrant.smoothing.kernel_regression import frequency_at, kernel_sums
from cores import core
from naming import each
from oracles.lines import beta_matrix, kernel_matrix

EVERY_KERNEL = each("kernel", ["gaussian", "triweight", "epanechnikov", "beta"])
POINTS = np.array([1.0, 0.31, 0.0, 0.5])


def nadaraya_watson(positions, outcomes, weights, points, *, kernel="gaussian", bandwidth, boundary="reflect"):
    return frequency_at(points, kernel_sums(Line.of(positions), bandwidth, kernel, boundary), outcomes, weights)


def rows(n=400, columns=3):
    rng = np.random.default_rng(1)
    return rng.random(n), rng.integers(0, 2, (n, columns)).astype(float), rng.exponential(size=(n, columns))


@EVERY_KERNEL
@each("boundary", ["reflect", "none"])
@each("name", ["", "numpy"])
def test_frequency_and_mass_equal_the_whole_matrix(kernel, boundary, name):
    c, Y, W = rows()
    points, peak = POINTS, 1.0
    if kernel == "beta":  # At 0 and 1 it has no neighbours but those exactly there.
        points = np.array([0.9, 0.31, 0.05])
        K, peak = beta_matrix(points, c, 0.05), beta_matrix(points, points, 0.05).diagonal()[:, None]
    else:
        K = kernel_matrix(points, c, 0.05, kernel, boundary == "reflect")
    with core(name):
        frequency, mass = nadaraya_watson(c, Y, W, points, kernel=kernel, bandwidth=0.05, boundary=boundary)
    assert frequency == pytest.approx(K @ (W * Y) / (K @ W), rel=1e-9)
    assert mass == pytest.approx(K @ W / peak, rel=1e-9)


def test_one_column_of_either_serves_all_columns_of_the_other():
    c, Y, W = rows()
    both = nadaraya_watson(c, Y, np.repeat(W[:, :1], 3, axis=1), POINTS, bandwidth=0.05)
    one = nadaraya_watson(c, Y, W[:, 0], POINTS, bandwidth=0.05)
    assert one[0] == pytest.approx(both[0], rel=1e-12)
    assert one[1] == pytest.approx(both[1], rel=1e-12)
    assert nadaraya_watson(c, Y[:, 0], W, POINTS, bandwidth=0.05)[0].shape == (4, 3)


def test_flat_arguments_give_flat_results():
    c, Y, W = rows()
    frequency, mass = nadaraya_watson(c, Y[:, 1], W[:, 1], POINTS, bandwidth=0.05)
    expected = nadaraya_watson(c, Y[:, [1]], W[:, [1]], POINTS, bandwidth=0.05)
    assert np.array_equal(frequency, expected[0][:, 0])
    assert np.array_equal(mass, expected[1][:, 0])


def test_points_without_neighbours_have_no_frequency():
    c, y = np.array([0.1, 0.12]), np.array([1.0, 0.0])
    frequency, mass = nadaraya_watson(c, y, np.ones(2), np.array([0.11, 0.6]), kernel="triweight", bandwidth=0.05)
    assert frequency == pytest.approx([0.5, np.nan], nan_ok=True)
    assert mass[1] == 0


@pytest.mark.parametrize(("distance", "some"), [(6.3, True), (6.6, False)])
def test_a_gaussian_neighbour_counts_as_none_beyond_six_and_a_half_bandwidths(distance, some):
    # exp(-6.3**2 / 2) is 2.4e-9 of a row, exp(-6.6**2 / 2) is 3.5e-10: the limit is 1e-9.
    point = np.array([0.5 + 0.01 * distance])
    for absent in (0, 50):  # Rows of weight 0 do not change the mean weight.
        weights = np.append(np.ones(1), np.zeros(absent))
        frequency, _ = nadaraya_watson(np.full(1 + absent, 0.5), np.ones(1 + absent), weights, point, bandwidth=0.01)
        assert np.isfinite(frequency[0]) == some


def test_bad_settings_are_refused():
    p = Predictions([0.2, 0.7], labels=[0, 1])
    with pytest.raises(InputError, match="bandwidth must be positive and finite, but is 0"):
        kernel_curve(p, bandwidth=0)
    with pytest.raises(InputError, match='kernel must be one of "gaussian", "triweight", "epanechnikov", "beta"'):
        kernel_curve(p, kernel="box", bandwidth=0.1)
    with pytest.raises(InputError, match='boundary must be one of "reflect", "none"'):
        kernel_curve(p, bandwidth=0.1, boundary="periodic")
