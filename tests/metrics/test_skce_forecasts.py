"""Kernel calibration errors of predictive distributions."""

import math

import numpy as np
import pytest
from scipy import stats

from calibrant import InputError
from calibrant.forecasts import Forecasts, Laplace, Mixture, MonteCarlo, MvNormal, Normal, Samples
from calibrant.kernels import (
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    MixtureWasserstein,
    TotalVariation,
    Wasserstein,
    WhiteKernel,
)
from calibrant.metrics import ECE, KCE, METRICS, SKCE, UCME
from forecast_laws import deep_ensemble
from naming import each

W2 = ExponentialKernel(Wasserstein()) @ GaussianKernel()
LAPLACE = ExponentialKernel(Wasserstein()) @ ExponentialKernel(Euclidean())
MW2 = ExponentialKernel(MixtureWasserstein()) @ GaussianKernel()


@each(
    "loc, scale, targets, kernel, expected",
    [
        ([0, 0], [1, 1], [0, 0], W2, 1 - math.sqrt(2) + 1 / math.sqrt(3)),
        ([0, 1], [1, 2], [1, 0], W2, -0.04186060698827978),
        ([0, 1], [1, 2], [0, 1], W2, 0.00651220001294024),
        (
            [0, 0],
            [1, 1],
            [0, 0],
            ExponentialKernel(Wasserstein()) @ GaussianKernel(lengthscale=2.0),
            0.027642198927894435,
        ),
        (
            [0, 1],
            [1, 2],
            [1, 0],
            ExponentialKernel(Wasserstein()) @ GaussianKernel(lengthscale=2.0),
            -0.021490892973595306,
        ),
    ],
)
def test_published_values_for_normal_forecasts(loc, scale, targets, kernel, expected):
    assert SKCE(kernel)(Forecasts(Normal(loc, scale), targets)) == pytest.approx(expected, rel=1e-12)


@each(
    "loc, scale, targets, expected",
    [
        ([0, 0], [1, 1], [0, 0], 0.375),
        ([0, 1], [1, 2], [1, 0], -0.03758584560884119),
        ([0, 1], [1, 2], [0, 1], -0.005080714008454354),
    ],
)
def test_reference_values_for_laplace_forecasts(loc, scale, targets, expected):
    assert SKCE(LAPLACE)(Forecasts(Laplace(loc, scale), targets)) == pytest.approx(expected, rel=1e-12)


def test_reference_values_for_ensembles_of_normals():
    f = deep_ensemble()
    assert SKCE(MW2)(f) == pytest.approx(-0.0158109298207318, rel=1e-9)
    assert SKCE(MW2, unbiased=False)(f) == pytest.approx(0.11341210975710848, rel=1e-9)


def test_reference_value_for_correlated_normals():
    mean = [[0.0, 1.0], [1.0, -1.0]]
    cov = [[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 0.5]]]
    f = Forecasts(MvNormal(mean, cov), [[0.5, 0.5], [0.0, -1.0]])
    assert SKCE(W2)(f) == pytest.approx(-0.0013452303910144025, rel=1e-11)


def calibrated_normals(n, seed=0):
    rng = np.random.default_rng(seed)
    loc, scale = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    return Forecasts(Normal(loc, scale), rng.normal(loc, scale))


@each("blocksize", [2, 5, 7, 100])
@each("unbiased", [True, False])
def test_blocks_equal_the_mean_of_their_estimates(blocksize, unbiased):
    f = calibrated_normals(203)
    parts = [f.take(slice(i, i + blocksize)) for i in range(0, 203 - blocksize + 1, blocksize)]
    expected = np.mean([SKCE(W2, unbiased)(part) for part in parts])
    assert SKCE(W2, unbiased, blocksize)(f) == pytest.approx(expected, rel=1e-10)


def test_tiles_do_not_matter(monkeypatch):
    f = calibrated_normals(120)
    whole = SKCE(W2)(f)
    replicates = SKCE(W2).prepare(f)(np.random.default_rng(0).random((120, 3)))
    monkeypatch.setattr("calibrant.kernels.pairs.TILE", 16)
    assert SKCE(W2)(f) == pytest.approx(whole, rel=1e-12)
    assert SKCE(W2).prepare(f)(np.random.default_rng(0).random((120, 3))) == pytest.approx(replicates, rel=1e-11)


def test_the_unbiased_estimate_averages_to_zero_on_calibrated_forecasts():
    f = calibrated_normals(8000)
    sums = SKCE(W2, blocksize=2)
    values = np.array([sums(f.take(slice(i, i + 200))) for i in range(0, 8000, 200)])
    assert abs(values.mean()) < 3.3 * values.std(ddof=1) / math.sqrt(len(values))


def test_forecasts_that_are_too_narrow_have_a_larger_error():
    f = calibrated_normals(300)
    narrow = Forecasts(Normal(f.distribution.loc, f.distribution.scale / 4), f.targets)
    for name, metric in METRICS.items():
        if metric.forecasts:
            assert metric(narrow) > metric(f), name


def test_scipy_distributions_are_integrated_by_draws_with_a_reported_error():
    f = calibrated_normals(60)
    frozen = stats.norm(f.distribution.loc, f.distribution.scale)
    sampled = Forecasts(frozen, f.targets)
    kernel = ExponentialKernel(Wasserstein()) @ GaussianKernel()
    exact = SKCE(kernel)(f)
    estimate = SKCE(ExponentialKernel(Wasserstein(), 1.0) @ GaussianKernel())
    result = estimate.estimate(sampled)
    assert result.details["monte_carlo_error"] > 0
    assert abs(result.value - exact) < 5 * result.details["monte_carlo_error"] + 0.02


def test_mean_embeddings_of_draws_report_their_error_too():
    f = calibrated_normals(60)
    frozen = stats.norm(f.distribution.loc, f.distribution.scale)
    metric = UCME(ExponentialKernel(Wasserstein(), 1.0) @ GaussianKernel())
    few = metric.estimate(Forecasts(MonteCarlo(frozen, n_draws=256, n=60), f.targets))
    many = metric.estimate(Forecasts(MonteCarlo(frozen, n_draws=8192, n=60), f.targets))
    assert 0 < many.details["monte_carlo_error"] < few.details["monte_carlo_error"]
    assert abs(few.value - many.value) < 5 * few.details["monte_carlo_error"] + 0.1 * many.value


def test_samples_are_taken_as_the_prediction_itself():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(30, 20))
    f = Forecasts(Samples(draws), rng.normal(size=30))
    i, j = 0, 1
    y, z = f.targets[i], f.targets[j]

    def k(a, b):
        return np.exp(-(np.subtract.outer(a, b) ** 2) / 2)

    w2 = math.sqrt(np.mean((np.sort(draws[i]) - np.sort(draws[j])) ** 2))
    h = k(y, z) - k(draws[i], z).mean() - k(y, draws[j]).mean() + k(draws[i], draws[j]).mean()
    assert SKCE(W2)(f.take([i, j])) == pytest.approx(math.exp(-w2) * h)


def test_a_function_of_two_pairs_serves_forecasts_by_draws():
    f = calibrated_normals(12)

    def kernel(a, b):
        w2 = math.hypot(a[0].loc[0] - b[0].loc[0], a[0].scale[0] - b[0].scale[0])
        return math.exp(-w2 - (a[1] - b[1]) ** 2 / 2)

    assert SKCE(kernel)(f) == pytest.approx(SKCE(W2)(f), abs=0.06)


def redrawn_case(name, n=8):
    rng = np.random.default_rng(1)
    loc, scale = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    law = {
        "normal": lambda: Normal(loc, scale),
        "laplace": lambda: Laplace(loc, scale),
        "mvnormal": lambda: MvNormal(np.column_stack([loc, -loc]), [[[2.0, 0.5], [0.5, 1.0]]]),
        "independent": lambda: MvNormal(np.column_stack([loc, -loc]), np.column_stack([scale, scale])),
        "mixture": lambda: Mixture([0.3, 0.7], [Normal(loc, scale), Laplace(loc + 1, scale)]),
        "samples": lambda: Samples(rng.normal(size=(n, 9))),
        "montecarlo": lambda: MonteCarlo(stats.norm(loc, scale), n_draws=32),
    }[name]()
    return Forecasts(law, law.sample(rng, 1)[:, 0], rng.uniform(0.0, 2.0, n))


REDRAWN_KERNELS = {
    "default": lambda distance: None,
    "sum": lambda distance: (
        3.0 * (ExponentialKernel(distance, 0.7) @ GaussianKernel(lengthscale=2.0))
        + GaussianKernel(distance) @ (0.5 * ExponentialKernel(Euclidean()))
    ),
}


@pytest.mark.parametrize("kernel, unbiased", [("default", True), ("sum", False)])
@pytest.mark.parametrize("name", ["normal", "laplace", "mvnormal", "independent", "mixture", "samples", "montecarlo"])
def test_redrawn_targets_give_what_they_give_one_by_one(name, kernel, unbiased, monkeypatch):
    f = redrawn_case(name)
    distance = MixtureWasserstein() if name == "mixture" else Wasserstein()
    targets = f.distribution.sample(np.random.default_rng(2), 2)
    k = REDRAWN_KERNELS[kernel](distance)
    for metric in (UCME(k), SKCE(k, unbiased), KCE(k, unbiased)):
        expected = [metric(f.with_targets(targets[:, b])) for b in range(2)]
        assert metric.prepare_labels(f)(targets) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    with monkeypatch.context() as small:
        for setting in ("TILE", "CHUNK_CELLS", "STORED_ROWS"):
            small.setattr(f"calibrant.kernels.redrawn.{setting}", 5)
        assert metric.prepare_labels(f)(targets) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_what_redraws_share_is_computed_once(monkeypatch):
    f = redrawn_case("normal")
    calls = []
    original = Normal.expectations_with
    monkeypatch.setattr(Normal, "expectations_with", lambda *a: calls.append("pairs") or original(*a))
    distances = Normal.distances_to
    monkeypatch.setattr(Normal, "distances_to", lambda *a: calls.append("distances") or distances(*a))
    evaluate = SKCE(W2).prepare_labels(f)
    for seed in range(3):
        evaluate(f.distribution.sample(np.random.default_rng(seed), 5))
    assert sorted(calls) == ["distances", "pairs"]


def test_redraws_of_a_single_weighted_row_are_refused():
    f = Forecasts(Normal([0.0, 1.0], 1.0), [0.0, 1.0], [1.0, 0.0])
    with pytest.raises(InputError, match="at least two rows of positive weight"):
        SKCE(W2).prepare_labels(f)(np.zeros((2, 3)))


@each(
    "build, error, words",
    [
        (SKCE(ExponentialKernel(Wasserstein()) @ WhiteKernel()), InputError, "target kernel of forecasts"),
        (SKCE(ExponentialKernel(TotalVariation()) @ GaussianKernel()), InputError, "use Wasserstein"),
        (ECE(), TypeError, "ECE is computed from Predictions, but got Forecasts"),
    ],
)
def test_bad_settings_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build(calibrated_normals(5))
