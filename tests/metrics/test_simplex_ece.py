"""Calibration error on the simplex, and the binnings of the simplex."""

import math

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.binning import EqualMass, EqualWidth, MedianVariance
from calibrant.kernels import Euclidean
from calibrant.metrics import ECE, SimplexECE
from naming import each
from simulate import calibrated

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.

A, B, C, D, E = [0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]
THREE, FIVE = np.array([A, B, C]), np.array([A, B, C, D, E])


def groups(binning, probs, weights=None):
    """The cells as sets of row numbers, in the order of the cells."""
    index = binning.cells(probs, np.ones(len(probs)) if weights is None else weights).index
    return [set(np.flatnonzero(index == b)) for b in range(index.max() + 1)]


@each(
    "binning, probs, expected",
    [
        (EqualWidth(2), THREE, [{2}, {0, 1}]),
        (MedianVariance(1), THREE, [{0}, {1}, {2}]),
        (MedianVariance(2), THREE, [{0, 1, 2}]),
        (EqualWidth(3), FIVE, [{0}, {1}, {2}, {3}, {4}]),
        (EqualWidth(2), FIVE, [{3}, {2}, {0, 1}, {4}]),
        (MedianVariance(1), FIVE, [{4}, {2}, {1}, {0}, {3}]),
        (MedianVariance(2), FIVE, [{2, 4}, {0, 1, 3}]),
        (MedianVariance(3), FIVE, [{0, 1, 2, 3, 4}]),
        (MedianVariance(1, max_bins=1), FIVE, [{0, 1, 2, 3, 4}]),
    ],
)
def test_published_cells(binning, probs, expected):
    found = groups(binning, probs)
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_published_order_of_median_variance_cells():
    assert groups(MedianVariance(1), THREE) == [{0}, {1}, {2}]
    assert groups(MedianVariance(1), FIVE) == [{4}, {2}, {1}, {0}, {3}]


@each(
    "probs, labels",
    [
        ([[0.0, 1.0], [1.0, 0.0]], [1, 0]),
        ([[0.0, 1.0], [0.5, 0.5], [0.5, 0.5], [1.0, 0.0]], [1, 1, 0, 0]),
        ([0.0, 0.5, 0.5, 1.0], [False, False, True, True]),
    ],
)
def test_published_zeros(probs, labels):
    assert SimplexECE(EqualWidth(10))(Predictions(probs, labels)) == 0.0


def test_two_classes_are_cut_in_both_coordinates():
    """0.1 and 0.2 share a bin of P(class 1) but not of P(class 0), where 0.9 and 0.8 lie in different ones."""
    p = Predictions([0.1, 0.2, 0.3, 0.8, 0.9, 0.95], [0, 1, 0, 1, 1, 0])
    assert ECE(EqualWidth(5))(p) == pytest.approx(0.341667, abs=5e-7)  # Published: twice 0.170833.
    assert SimplexECE(EqualWidth(5))(p) == pytest.approx((0.1 + 0.8 + 0.3 + 0.2 + 2 * 0.425) / 6)


def by_definition(p, index, distance):
    total = 0.0
    for b in set(index[p.weights > 0]):
        rows = np.flatnonzero((index == b) & (p.weights > 0))
        mean = np.average(p.probs[rows], axis=0, weights=p.weights[rows])
        frequency = np.average(np.eye(p.n_classes)[p.labels[rows]], axis=0, weights=p.weights[rows])
        total += p.weights[rows].sum() / p.weights.sum() * distance(mean, frequency)
    return total


def kullback_leibler(mean, frequency):
    used = frequency > 0
    return float(np.sum(frequency[used] * np.log(frequency[used] / mean[used])))


@pytest.mark.parametrize(
    "distance, function",
    [(Euclidean(), math.dist), (kullback_leibler, kullback_leibler)],
    ids=["euclidean", "function"],
)
@each("bins", [EqualWidth(4), MedianVariance(12)])
def test_equals_its_definition(bins, distance, function):
    source = calibrated(n=150)
    p = Predictions(source.probs, source.labels, np.random.default_rng(0).integers(0, 3, 150))
    index = bins.cells(p.probs, p.weights).index
    assert SimplexECE(bins, distance)(p) == pytest.approx(by_definition(p, index, function))


def test_median_variance_cells_have_at_least_the_asked_size():
    p = calibrated(n=500, k=4)
    sizes = np.bincount(MedianVariance(15).cells(p.probs, p.weights).index)
    assert sizes.min() >= 15
    assert sizes.max() < 2 * 2 * 15
    assert len(np.unique(MedianVariance(15, max_bins=6).cells(p.probs, p.weights).index)) == 6


def test_fewer_rows_than_a_cell_needs_share_one_cell():
    p = calibrated(n=9)
    assert set(MedianVariance(10).cells(p.probs, p.weights).index) == {0}


def test_median_variance_counts_effective_rows():
    """60 rows of weight 1 and 60 of weight 1e-6 are hardly more than 60 rows, and 40 of 3 are 40."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 120)
    weights = np.repeat([1.0, 1e-6], 60)
    index = MedianVariance(10).cells(probs, weights).index
    sizes = [int((weights[index == cell] == 1).sum()) for cell in np.unique(index)]
    assert min(sizes) >= 9
    alike = MedianVariance(10).cells(probs[:40], np.full(40, 3.0)).index
    assert np.array_equal(alike, MedianVariance(10).cells(probs[:40], np.ones(40)).index)


@each(
    "build, error, words",
    [
        (lambda: SimplexECE(EqualMass(10)), TypeError, "bins must be EqualWidth"),
        (lambda: SimplexECE(distance="tv"), TypeError, "distance must be a Distance or a function"),
        (lambda: MedianVariance(0), InputError, "min_size must be a whole number of at least 1"),
        (lambda: MedianVariance(10, max_bins=0), InputError, "max_bins must be a whole number of at least 1"),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build()


@each("bins", [EqualWidth(10), EqualWidth(300), EqualWidth(70_000), EqualWidth(5, "guo")])
def test_cells_of_the_grid_are_numbered_in_the_order_of_their_rows(bins):
    probs = np.random.default_rng(0).dirichlet([0.5] * 3, 400).round(2)
    grid = np.column_stack([bins.cut(column, np.ones(400)).index for column in probs.T])
    rows = sorted(set(map(tuple, grid.tolist())))
    cells = bins.cells(probs, np.ones(400))
    assert cells.n_bins == len(rows)
    assert cells.index.tolist() == [rows.index(row) for row in map(tuple, grid.tolist())]
