"""Temperature scaling, and what every calibrator promises."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import InputError, Predictions
from calibrant.calibrators import CALIBRATORS, TemperatureScaling, calibrate
from calibrant.metrics import NLL
from simulate import calibrated, draw_labels, sharpened

every_calibrator = pytest.mark.parametrize("build", CALIBRATORS.values(), ids=CALIBRATORS)


@every_calibrator
@pytest.mark.parametrize("k", [2, 4])
class TestEveryCalibrator:
    def test_rows_sum_to_one_and_nothing_is_changed(self, build, k):
        p = sharpened(calibrated(k=k), 0.5)
        probs = p.probs.copy()
        fitted = build().fit(probs, p.labels)
        result = fitted.predict_proba(probs)
        assert result.shape == p.probs.shape
        assert result.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert np.array_equal(probs, p.probs)

    def test_fit_returns_the_estimator_and_clone_forgets(self, build, k):
        p = calibrated(k=k)
        estimator = build()
        assert estimator.fit(p.probs, p.labels) is estimator
        with pytest.raises(NotFittedError):
            clone(estimator).predict_proba(p.probs)
        with pytest.raises(NotFittedError):
            calibrate(clone(estimator), p)

    def test_weights_equal_copies(self, build, k):
        p = sharpened(calibrated(k=k), 0.5)
        weights = np.random.default_rng(0).integers(0, 4, p.n_samples)
        rows = np.repeat(np.arange(p.n_samples), weights)
        weighted = build().fit(p.probs, p.labels, weights).predict_proba(p.probs)
        copied = build().fit(p.probs[rows], p.labels[rows]).predict_proba(p.probs)
        assert weighted == pytest.approx(copied, abs=1e-9)

    def test_argmax_is_kept_where_promised(self, build, k):
        p = sharpened(calibrated(k=k), 0.5)
        estimator = build().fit(p.probs, p.labels)
        assert estimator.preserves_argmax
        assert np.array_equal(estimator.predict(p.probs), p.predicted)

    def test_logits_equal_probabilities(self, build, k):
        p = sharpened(calibrated(k=k), 0.5)
        logits = np.log(p.probs) + 17.0
        from_logits = build(scores="logits").fit(logits, p.labels).predict_proba(logits)
        assert from_logits == pytest.approx(build().fit(p.probs, p.labels).predict_proba(p.probs), abs=1e-9)

    def test_another_number_of_classes_is_refused(self, build, k):
        p = calibrated(k=k)
        estimator = build().fit(p.probs, p.labels)
        with pytest.raises(InputError, match=f"scores must have the {k} classes"):
            estimator.predict_proba(np.full((2, k + 1), 1 / (k + 1)))

    def test_a_second_fit_forgets_the_first(self, build, k):
        first, second = sharpened(calibrated(k=k), 0.3), calibrated(k=k, seed=1)
        twice = build().fit(first.probs, first.labels).fit(second.probs, second.labels)
        once = build().fit(second.probs, second.labels)
        assert np.array_equal(twice.predict_proba(first.probs), once.predict_proba(first.probs))

    def test_scores_are_never_guessed(self, build, k):
        p = calibrated(k=k)
        with pytest.raises(InputError, match="Are these logits"):
            build().fit(np.log(p.probs) * 3 + 1, p.labels)
        with pytest.raises(InputError, match='scores must be "probs" or "logits"'):
            build(scores="odds").fit(p.probs, p.labels)


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("distortion", [0.3, 1.0, 2.5])
def test_temperature_minimises_the_log_loss(k, distortion):
    p = sharpened(calibrated(n=600, k=k), distortion)
    logits = np.log(p.probs)

    def loss(log_temperature):
        return -log_softmax(logits / np.exp(log_temperature), axis=1)[np.arange(600), p.labels].mean()

    best = minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    fitted = TemperatureScaling().fit(p.probs, p.labels)
    assert np.log(fitted.temperature_) == pytest.approx(best.x, abs=1e-5)
    assert loss(np.log(fitted.temperature_)) <= best.fun + 1e-14
    assert abs(fitted.gradient_) < 1e-8


def test_a_known_temperature_is_recovered():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(5), 40_000)
    labels = draw_labels(probs, rng)
    fitted = TemperatureScaling(scores="logits").fit(3.0 * np.log(probs), labels)
    assert fitted.temperature_ == pytest.approx(3.0, rel=0.03)


def test_calibrate_keeps_everything_but_the_probabilities():
    p = sharpened(calibrated(), 0.4)
    weighted = Predictions(p.probs, p.labels, np.arange(400.0), classes=["a", "b", "c"])
    result = calibrate(TemperatureScaling().fit(p.probs, p.labels), weighted)
    assert result.classes == ("a", "b", "c")
    assert np.array_equal(result.weights, weighted.weights)
    assert NLL()(result) < NLL()(weighted)


@pytest.mark.parametrize(
    "probs, labels, temperature",
    [
        ([[0.9, 0.1], [0.2, 0.8]], [0, 1], np.exp(-8)),
        ([[0.9, 0.1], [0.2, 0.8]], [1, 0], np.exp(8)),
        ([[0.5, 0.5], [0.5, 0.5]], [1, 0], 1.0),
    ],
    ids=["always right", "always wrong", "uniform"],
)
def test_temperatures_at_the_ends_are_defined(probs, labels, temperature):
    assert TemperatureScaling().fit(probs, labels).temperature_ == pytest.approx(temperature)


def test_exact_zeros_stay_finite():
    probs = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7], [0.6, 0.4]])
    fitted = TemperatureScaling().fit(probs, [0, 0, 1, 0])
    assert np.isfinite(fitted.predict_proba(probs)).all()
