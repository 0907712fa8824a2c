"""Calibration mean embeddings."""

import itertools
import math

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.forecasts import Forecasts, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.hypotest import CMETest, deviation_law
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
from naming import each
from oracles.kernels import total_variation
from simulate import calibrated, sharpened

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")  # Tiny data is the point here.

GAUSS = GaussianKernel() @ WhiteKernel()
PLACES, TARGETS = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [0, 0, 1]
ONE_WRONG = (math.exp(-2) + math.exp(-0.5) + 1) / 12


@each(
    "labels, expected", [([0, 1], 0.0), ([0, 0], ONE_WRONG), ([1, 0], (1 - 1 / math.e) ** 2 / 6), ([1, 1], ONE_WRONG)]
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
    distinct, index, targets = UCME().class_locations(p)
    places = distinct[index]
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


@each(
    "build, error, words",
    [
        (lambda p: UCME(GAUSS, PLACES), InputError, "must be given together"),
        (UCME(GAUSS, PLACES, [0, 1, 2]), InputError, "labels must be"),
        (UCME(GAUSS, PLACES, [0]), InputError, "one entry per row"),
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


@each("name", list(LAWS))
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


SUM = ExponentialKernel(TotalVariation(), 0.5) @ GramKernel([[2.0, 0.5], [0.5, 1.0]]) + GaussianKernel() @ WhiteKernel()
ENUMERATED = {
    "K=2, default": (UCME(), [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]]),
    "K=2, two terms": (UCME(SUM, PLACES, TARGETS), [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]),
    "K=3, default": (UCME(), [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4], [0.6, 0.0, 0.4]]),
}


def every_outcome(name):
    """Yield the data for all vectors of labels, with their probabilities under the predictions."""
    probs = np.array(ENUMERATED[name][1])
    rows = np.arange(len(probs))
    for labels in itertools.product(range(probs.shape[1]), repeat=len(probs)):
        yield float(probs[rows, list(labels)].prod()), Predictions(probs, np.array(labels))


@each("name", list(ENUMERATED))
def test_the_covariance_of_the_mean_deviation_is_that_over_all_labels(name):
    metric, probs = ENUMERATED[name]
    expected = 0.0
    for probability, p in every_outcome(name):
        mean = metric.deviations(p).mean(axis=0)
        expected = expected + probability * len(probs) * np.outer(mean, mean)
    found = deviation_law.deviation_law(metric, p).covariance()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", ENUMERATED)
def test_the_law_of_the_statistic_has_its_mean_and_variance_over_all_labels(name, ridge, monkeypatch):
    monkeypatch.setattr("calibrant.hypotest.mean_embedding.LEAST_EVENTS", 0.0)
    results = [(q, CMETest(ENUMERATED[name][0], ridge)(p)) for q, p in every_outcome(name)]
    probabilities, statistics = np.array([(q, result.statistic) for q, result in results]).T
    details = results[0][1].details
    mean = probabilities @ statistics
    assert details["directions"] > 1
    assert details["degrees_of_freedom"] * details["scale"] == pytest.approx(mean, rel=1e-10)
    if ridge == 0:
        assert mean == pytest.approx(details["directions"], rel=1e-10)
    variance = probabilities @ (statistics - mean) ** 2
    assert 2 * details["degrees_of_freedom"] * details["scale"] ** 2 == pytest.approx(variance, rel=1e-10)


def test_blocks_of_rows_do_not_matter(monkeypatch):
    p = calibrated(n=50)
    whole = CMETest()(p)
    monkeypatch.setattr(deviation_law, "BLOCK_CELLS", 100)
    assert CMETest()(p).pvalue == pytest.approx(whole.pvalue, rel=1e-10)


def test_directions_of_rare_events_are_left_out():
    """Indicators of probability q have n q (1 - q) / (1 - 3 q (1 - q)) events, by the moments of the Bernoulli law."""
    q, n = 0.02, 500
    p = Predictions(np.tile([1 - q, q], (n, 1)), np.zeros(n, int))
    details = CMETest(UCME(GAUSS, [[1.0, 0.0]], [0]))(p).details
    assert details["fewest_events"] == pytest.approx(n * q * (1 - q) / (1 - 3 * q * (1 - q)), rel=1e-12)
    peaked = np.random.default_rng(0).dirichlet(np.full(10, 0.1), 100)
    details = CMETest()(Predictions(peaked, peaked.argmax(axis=1))).details
    assert details["fewest_events"] >= 5
    assert 1 < details["directions"] < 90
    with pytest.raises(
        InputError, match=r"at least 5 events cause the deviation, but in these 4 rows there are .* at most"
    ):
        CMETest()(Predictions(peaked[:4], peaked[:4].argmax(axis=1)))


def peaked_sets(n_sets, n):
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        probs = rng.dirichlet(np.full(10, 0.1), n)
        yield Predictions(probs, (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))


def test_the_level_holds_where_the_covariance_of_the_sample_does_not():
    """60 sets of 100 peaked predictions: rejections at 0.1 within 3.3 binomial standard errors of 6."""
    rejected = sum(CMETest()(p).pvalue <= 0.1 for p in peaked_sets(60, 100))
    assert 0 < rejected < 6 + 3.3 * math.sqrt(60 * 0.1 * 0.9)
    assert all(CMETest(covariance="sample")(p).pvalue < 0.1 for p in peaked_sets(6, 300))


@pytest.mark.parametrize("name", LAWS)
def test_the_covariance_for_forecasts_agrees_with_other_draws(name, monkeypatch):
    """Both are means over 48 000 products of at most 1, each good to 4 standard errors of 0.5 / sqrt(48 000)."""
    law, distance = LAWS[name]
    metric = UCME(ExponentialKernel(distance, 1.0) @ GaussianKernel(), law.take([0, 3]), law.mean()[[1, 2]])
    for limit in ("MOST_DRAWS", "LEAST_DRAWS"):
        monkeypatch.setattr(deviation_law, limit, 8_000)
    data = Forecasts(law, law.mean())
    found = deviation_law.deviation_law(metric, data).covariance()
    draws = law.sample(np.random.default_rng(4), 8_000)
    rows = [metric.deviations(Forecasts(law.take(np.full(8_000, i)), draws[i])) for i in range(N)]
    expected = np.mean([d.T @ d / 8_000 for d in rows], axis=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * 0.5 * math.sqrt(2 / 48_000))
    assert found.diagonal().min() > 3 * 4 * 0.5 * math.sqrt(2 / 48_000)


def test_the_covariance_for_normal_forecasts_agrees_with_its_closed_form(monkeypatch):
    """The product of two Gaussian kernels is one of lengthscale 1 / sqrt(2) at their middle."""
    loc, scale = np.linspace(-1, 1, 40), np.linspace(0.5, 2, 40)
    y, z = 0.3, 1.1

    def bell(x, square):
        return np.exp(-((loc - x) ** 2) / (2 * (square + scale**2))) * np.sqrt(square / (square + scale**2))

    both = np.exp(-((y - z) ** 2) / 4) * bell((y + z) / 2, 0.5) - bell(y, 1.0) * bell(z, 1.0)
    kernel = ExponentialKernel(Wasserstein(), 1e9) @ GaussianKernel()
    metric = UCME(kernel, Normal([0.0, 0.0], 1.0), [y, z])
    for limit in ("MOST_DRAWS", "LEAST_DRAWS"):
        monkeypatch.setattr(deviation_law, limit, 10_000)
    found = deviation_law.deviation_law(metric, Forecasts(Normal(loc, scale), loc)).covariance()
    assert found[0, 1] == pytest.approx(both.mean(), abs=4 * 0.25 / math.sqrt(400_000))
