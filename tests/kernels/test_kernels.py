"""Kernels, distances and the median heuristic."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from calibrant import DataWarning, InputError, Predictions
from calibrant.kernels import (
    KERNELS,
    Euclidean,
    ExponentialKernel,
    GammaExponentialKernel,
    GaussianKernel,
    GramKernel,
    MixtureWasserstein,
    RadialKernel,
    RationalQuadraticKernel,
    TotalVariation,
    Wasserstein,
    WhiteKernel,
    distances,
    median_distance,
)
from calibrant.kernels.distances import EXACT_MEDIAN_ROWS, FEW_ROWS
from calibrant.metrics import SKCE
from naming import each
from oracles.kernels import PROFILES
from simulate import calibrated

pytestmark = pytest.mark.filterwarnings("ignore:there are fewer rows:calibrant.DataWarning")

POINTS = calibrated(n=40, k=4).probs


@pytest.mark.parametrize("name", KERNELS)
class TestEveryKernel:
    def test_is_symmetric_and_positive_semidefinite(self, name):
        kernel = KERNELS[name].tuned(lambda distance: median_distance(distance, POINTS))
        matrix = kernel.matrix(POINTS, POINTS)
        assert np.array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > -1e-12

    def test_stays_within_its_bound_and_reaches_it_at_home(self, name):
        kernel = KERNELS[name].tuned(lambda distance: median_distance(distance, POINTS))
        matrix = kernel.matrix(POINTS, POINTS)
        assert np.diagonal(matrix) == pytest.approx(kernel.bound)
        assert np.abs(matrix).max() <= kernel.bound + 1e-15


@each("kernel", [k for k in KERNELS.values() if isinstance(k, RadialKernel)])
def test_profiles_equal_their_formulas(kernel):
    u = np.linspace(0, 5, 11)
    assert kernel.values(u) == pytest.approx(PROFILES[kernel.profile](u, kernel.shape))


def test_the_algebra_of_kernels_acts_point_by_point():
    a, b = ExponentialKernel(), GaussianKernel()
    x, y = POINTS[:5], POINTS[5:12]
    assert (a + b).matrix(x, y) == pytest.approx(a.matrix(x, y) + b.matrix(x, y))
    assert (a * b).matrix(x, y) == pytest.approx(a.matrix(x, y) * b.matrix(x, y))
    assert (3 * a).matrix(x, y) == pytest.approx(3 * a.matrix(x, y))
    assert (a + 2 * b).bound == 3.0
    assert (a * (2 * b)).bound == 2.0


def test_tuning_reaches_into_compositions():
    kernel = 2 * (ExponentialKernel(lengthscale="median") * GaussianKernel(lengthscale="median")) + WhiteKernel()
    tuned = kernel.tuned(lambda distance: 0.5 if isinstance(distance, TotalVariation) else 0.25)
    expected = 2 * (ExponentialKernel(lengthscale=0.5) * GaussianKernel(lengthscale=0.25)) + WhiteKernel()
    assert tuned == expected


@each("distance", [TotalVariation(), Euclidean()])
@each("n", [2, 3, 300, 513])
def test_the_median_distance_is_that_of_all_different_pairs(distance, n):
    points = calibrated(n=n, k=3).probs
    matrix = distance.pairwise(points, points)
    assert median_distance(distance, points) == pytest.approx(np.median(matrix[np.triu_indices(n, 1)]), rel=1e-14)


@pytest.mark.parametrize(
    "spread", [lambda p: p, np.sort, lambda p: p.round(1), lambda p: np.where(p < 0.4, 0.1, p)], ids=lambda f: ""
)
def test_the_median_of_more_rows_than_are_kept_is_exact(spread):
    """Only distances near the median are kept: rows in any order, many ties, and a median at the edge of a gap."""
    rng = np.random.default_rng(0)
    first = spread(rng.random(FEW_ROWS + 101))
    points = np.column_stack([first, (1 - first) * rng.random(len(first)).round(1), np.zeros(len(first))])
    points[:, 2] = 1 - points.sum(axis=1)
    exact = np.median(pdist(points, "cityblock") / 2)
    assert median_distance(TotalVariation(), points) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("zeros", "ones"), [(150, 150), (149, 151), (400, 401)])
def test_the_median_of_zeros_and_ones_is_found(zeros, ones):
    """Half of the distances are 0 and half are 1: the halves around 1 must not be cut for ever."""
    points = np.repeat([0.0, 1.0], [zeros, ones])
    points = np.column_stack([1 - points, points])
    assert median_distance(TotalVariation(), points) == pytest.approx(np.median(pdist(points, "cityblock") / 2))


def test_a_median_that_random_pairs_miss_is_found_among_all(monkeypatch):
    points = calibrated(n=FEW_ROWS + 1, k=3).probs
    exact = median_distance(TotalVariation(), points)
    monkeypatch.setattr(distances, "NEAR", -0.3)  # No distance lies between 0.8 and 0.2 of the ranks.
    assert median_distance(TotalVariation(), points) == exact


def test_the_median_of_many_rows_is_that_of_a_fixed_sample():
    points = calibrated(n=EXACT_MEDIAN_ROWS + 500, k=3).probs
    first, second = (median_distance(TotalVariation(), points) for _ in range(2))
    assert first == second
    assert first == pytest.approx(median_distance(TotalVariation(), points[:3000]), rel=0.02)


@pytest.mark.parametrize(
    "points, fallback",
    [
        (np.full((6, 2), 0.5), 1.0),
        (np.array([[0.5, 0.5]] * 6 + [[0.9, 0.1]]), 0.4),
    ],
    ids=["all equal", "most equal"],
)
def test_a_median_of_zero_falls_back_and_says_so(points, fallback):
    with pytest.warns(DataWarning, match=f"have the lengthscale {fallback:g}"):
        assert median_distance(TotalVariation(), points) == pytest.approx(fallback)


def test_identical_predictions_still_have_an_error():
    p = Predictions([0.5] * 8, [0, 1] * 4)
    with pytest.warns(DataWarning, match="because no distance is positive"):
        assert SKCE()(p) == pytest.approx(2 * -0.25 / 7)


def test_a_kernel_that_is_none_is_pointed_out():
    with pytest.warns(DataWarning, match="is not positive definite for 4 classes"):
        SKCE(GaussianKernel(TotalVariation()) @ WhiteKernel())(calibrated(k=4))


@each(
    "build, error, words",
    [
        (lambda: ExponentialKernel(lengthscale=0), InputError, "lengthscale must be positive and finite"),
        (lambda: ExponentialKernel(lengthscale=-1.0), InputError, "lengthscale must be positive and finite"),
        (lambda: GaussianKernel(lengthscale=float("nan")), InputError, "lengthscale must be positive and finite"),
        (lambda: GaussianKernel(lengthscale="mean"), TypeError, 'lengthscale must be a number or "median"'),
        (lambda: GaussianKernel(distance="tv"), TypeError, "distance must be a Distance"),
        (lambda: GammaExponentialKernel(gamma=2.5), InputError, "gamma must be above 0 and at most 2"),
        (lambda: GammaExponentialKernel(gamma="x"), InputError, "gamma must be a positive number, but is 'x'"),
        (lambda: RationalQuadraticKernel(alpha=0), InputError, "alpha must be a positive number, but is 0"),
        (lambda: RationalQuadraticKernel(alpha="x"), InputError, "alpha must be a positive number, but is 'x'"),
        (lambda: GramKernel([[1.0, 2.0], [2.0, 1.0]]), InputError, "positive semidefinite, but has the eigenvalue -1"),
        (lambda: GramKernel([[1.0, 0.5]]), InputError, "symmetric square matrix"),
        (lambda: GramKernel([[1.0, 0.5], [0.4, 1.0]]), InputError, r"entries \(0, 1\) and \(1, 0\) are 0.5 and 0.4"),
        (lambda: -1.0 * WhiteKernel(), InputError, "scale of a kernel must be positive"),
        (lambda: WhiteKernel() * "x", TypeError, "multiplied by a kernel or a number"),
        (lambda: WhiteKernel() + 1, TypeError, "combined with a kernel"),
        (lambda: WhiteKernel() @ 1, TypeError, "combined with a kernel"),
        (lambda: ExponentialKernel(lengthscale="median").matrix(POINTS, POINTS), InputError, "must be a number here"),
        (lambda: ExponentialKernel(Wasserstein()).matrix(POINTS, POINTS), InputError, "compares predictive distrib"),
        (lambda: ExponentialKernel(MixtureWasserstein()).matrix(POINTS, POINTS), InputError, "use TotalVariation"),
        (
            lambda: SKCE(ExponentialKernel() @ GramKernel(np.eye(2)))(calibrated(k=3)),
            InputError,
            "gram must have one row per class, but is for 2 classes, not 3",
        ),
        (
            lambda: SKCE(ExponentialKernel() @ GaussianKernel(lengthscale="median"))(calibrated()),
            InputError,
            "a kernel on classes needs a number for its lengthscale",
        ),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build()
