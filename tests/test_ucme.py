"""Calibration mean embeddings."""

import math

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.forecasts import Forecasts, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.kernels import (
    ExponentialKernel,
    GaussianKernel,
    GramKernel,
    MixtureWasserstein,
    TotalVariation,
    Wasserstein,
    WhiteKernel,
)
from calibrant.metrics import UCME
from kernel_oracles import total_variation
from simulate import calibrated, sharpened

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.

GAUSS = GaussianKernel() @ WhiteKernel()
PLACES, TARGETS = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [0, 0, 1]
ONE_WRONG = (math.exp(-2) + math.exp(-0.5) + 1) / 12


@pytest.mark.parametrize(
    "labels, expected",
    [([0, 1], 0.0), ([0, 0], ONE_WRONG), ([1, 0], (1 - 1 / math.e) ** 2 / 6), ([1, 1], ONE_WRONG)],
)
def test_published_closed_forms(labels, expected):
    p = Predictions([[1.0, 0.0], [0.0, 1.0]], labels)
    assert UCME(GAUSS, PLACES, TARGETS)(p) == pytest.approx(expected, rel=1e-13, abs=1e-16)


def test_published_closed_forms_for_normal_forecasts():
    kernel = ExponentialKernel(Wasserstein()) @ GaussianKernel()
    f = Forecasts(Normal([0.0, 1.0], [1.0, 2.0]), [0.0, 0.5])
    a = math.exp(-1 / math.sqrt(2)) * (math.exp(-0.5) - math.exp(-0.25) / math.sqrt(2)) + math.exp(-math.sqrt(2.5)) * (
        math.exp(-1 / 8) - 1 / math.sqrt(5)
    )
    assert UCME(kernel, Normal([0.5], [0.5]), [1.0])(f) == pytest.approx(a**2 / 4, rel=1e-12)
    two = UCME(kernel, Normal([0.5, -1.0], [0.5, 1.5]), [1.0, -0.5])(f)
    assert two == pytest.approx(0.003041968925894749, rel=1e-12)


def by_definition(p, k, places, targets):
    """Average k((p_i, y_i), T_j) minus its expectation over rows, then square and average over locations."""
    total = 0.0
    for place, target in zip(places, targets, strict=True):
        deviations = [
            k(q, y, place, target) - sum(q[c] * k(q, c, place, target) for c in range(len(q)))
            for q, y in zip(p.probs, p.labels, strict=True)
        ]
        total += np.average(deviations, weights=p.weights) ** 2
    return total / len(targets)


def test_equals_its_definition_with_weights_and_any_target_kernel():
    rng = np.random.default_rng(0)
    gram = np.exp(-np.abs(np.subtract.outer(range(3), range(3))))
    source = calibrated(n=20)
    p = Predictions(source.probs, source.labels, rng.random(20))
    places, targets = rng.dirichlet(np.ones(3), 5), rng.integers(0, 3, 5)

    def k(q, y, place, target):
        return math.exp(-total_variation(q, place) / 0.5) * gram[y, target]

    value = UCME(ExponentialKernel(TotalVariation(), 0.5) @ GramKernel(gram), places, targets)(p)
    assert value == pytest.approx(by_definition(p, k, places, targets), rel=1e-12)


def test_default_locations_are_the_centre_and_the_corners():
    p = calibrated(k=3)
    places, targets = UCME().locations(p)
    assert places.shape == (12, 3)
    assert np.unique(places, axis=0).shape == (4, 3)
    assert sorted(targets) == sorted(list(range(3)) * 4)
    assert UCME().estimate(calibrated(n=200, k=60)).details == {"locations": 60}


def test_default_locations_of_forecasts_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    loc = rng.normal(size=50)
    f = Forecasts(Normal(loc, np.ones(50)), loc + rng.normal(size=50))
    assert UCME()(f.take(rng.permutation(50))) == pytest.approx(UCME()(f))


def test_grows_with_overconfidence():
    p = calibrated(n=2000)
    assert UCME()(sharpened(p, 0.3)) > 10 * UCME()(p)


@pytest.mark.parametrize(
    "build, error, words",
    [
        (lambda p: UCME(GAUSS, PLACES), InputError, "must be given together"),
        (UCME(GAUSS, PLACES, [0, 1, 2]), InputError, "labels must be"),
        (UCME(GAUSS, PLACES, [0]), InputError, "one entry a row"),
        (UCME(GAUSS, [[0.2, 0.3, 0.5]], [0]), InputError, "classes"),
        (lambda p: UCME(lambda a, b: 1.0), TypeError, "kernel must be a tensor product"),
        (
            lambda p: UCME(None, PLACES, TARGETS)(Forecasts(Normal([0.0, 1.0], 1.0), [0.0, 1.0])),
            TypeError,
            "test_predictions must be a Distribution",
        ),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build(calibrated(n=30, k=2))


N = 6
LOC, SCALE = np.random.default_rng(0).normal(size=N), np.random.default_rng(1).uniform(0.5, 2, N)
LAWS = {
    "normal": (Normal(LOC, SCALE), Wasserstein()),
    "laplace": (Laplace(LOC, SCALE), Wasserstein()),
    "mixture": (Mixture([0.3, 0.7], [Normal(LOC, SCALE), Normal(LOC + 1, SCALE)]), MixtureWasserstein()),
    "mvnormal": (MvNormal(np.column_stack([LOC, -LOC]), [[[2.0, 0.5], [0.5, 1.0]]]), Wasserstein()),
    "samples": (Samples(np.random.default_rng(2).normal(size=(N, 30))), Wasserstein()),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_distribution_agrees_with_expectations_over_draws(name):
    """Expectations over 200 000 draws, each mean good to 4 standard errors of at most 0.5 / sqrt(200 000)."""
    law, distance = LAWS[name]
    targets = np.random.default_rng(3).normal(size=(N, *law.event_shape))
    places, place_targets = law.take([0, 3]), targets[[1, 2]]

    def k(a, b):
        squares = (a - b) ** 2
        return np.exp(-(squares.sum(axis=-1) if law.event_shape else squares) / 2)

    draws = law.sample(np.random.default_rng(4), 200_000)
    deviations = [
        [k(targets[i], t) - k(draws[i], t).mean() for t in place_targets] * np.exp(-distance.pairwise(law, places)[i])
        for i in range(N)
    ]
    kernel = ExponentialKernel(distance, 1.0) @ GaussianKernel()
    metric = UCME(kernel, places, place_targets)
    error = 4 * 0.5 / math.sqrt(200_000)
    np.testing.assert_allclose(metric.deviations(Forecasts(law, targets)), deviations, rtol=0, atol=error)
    assert metric(Forecasts(law, targets)) == pytest.approx(np.mean(np.mean(deviations, axis=0) ** 2), rel=0, abs=error)
