"""Ensemble temperature scaling: nesting, joint fits against a general solver, recovery."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from calibrant import InputError, Predictions
from calibrant.calibrators import (
    Ensemble,
    EnsembleTemperatureScaling,
    Identity,
    TemperatureScaling,
    Uniform,
    calibrate,
)
from calibrant.exceptions import DataWarning
from calibrant.metrics import NLL
from ensemble_cases import LOSSES, losses, mixed_loss, over_confident
from naming import each
from simulate import calibrated, draw_labels, sharpened


class TestEnsembleTemperatureScaling:
    @each("weights", [(1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.3, 0.2)])
    def test_probabilities_too_small_to_be_written_down_have_logarithms(self, weights):
        p = over_confident()
        ets = EnsembleTemperatureScaling().fit(p.probs, p.labels)
        ets.temperature_, ets.weights_ = 0.5, np.array(weights)
        z = np.array([[0.0, -1500.0, -700.0], [np.log(0.5), np.log(0.5), -np.inf], [0.0, -3.0, -5.0]])
        z -= np.log(np.exp(z).sum(axis=1, keepdims=True))
        tempered = 2 * z - np.log(np.exp(2 * z).sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            a, b, c = np.log(weights)
        expected = np.logaddexp(np.logaddexp(tempered + a, z + b), c - np.log(3))
        assert ets.transform(z) == pytest.approx(expected, abs=1e-12)

    @each("loss", ["nll", "brier"])
    @each("joint", [False, True])
    def test_predictions_that_are_always_right_have_the_temperature_of_their_rule(self, loss, joint):
        rows = np.tile([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], (20, 1))
        ets = EnsembleTemperatureScaling(loss, joint).fit(rows, [0, 2] * 20)
        assert ets.temperature_ == TemperatureScaling().fit(rows, [0, 2] * 20).temperature_
        assert 0.01 < ets.temperature_ < 1

    def test_as_published_it_is_the_ensemble_of_three(self):
        p = over_confident()
        ets = EnsembleTemperatureScaling().fit(p.probs, p.labels, p.weights)
        three = Ensemble([TemperatureScaling(), Identity(), Uniform()]).fit(p.probs, p.labels, p.weights)
        assert ets.weights_ == pytest.approx(three.weights_, abs=1e-9)
        assert ets.predict_proba(p.probs) == pytest.approx(three.predict_proba(p.probs), abs=1e-12)
        assert ets.temperature_ == three.calibrators_[0].temperature_

    @each("joint", [False, True])
    @each("k", [2, 3, 10])
    def test_it_is_never_worse_than_what_it_contains(self, joint, k):
        for seed in range(4):
            p = over_confident(n=80, k=k, seed=seed)
            fitted = EnsembleTemperatureScaling(joint=joint).fit(p.probs, p.labels, p.weights)
            ts = TemperatureScaling().fit(p.probs, p.labels, p.weights)
            assert NLL()(calibrate(fitted, p)) <= min(NLL()(p), NLL()(calibrate(ts, p))) + 1e-10

    @losses
    @each("seed", range(3))
    def test_jointly_it_is_at_least_as_good_and_stationary(self, loss, seed):
        p = over_confident(n=200, seed=seed)
        apart = EnsembleTemperatureScaling(loss).fit(p.probs, p.labels, p.weights)
        joint = EnsembleTemperatureScaling(loss, joint=True).fit(p.probs, p.labels, p.weights)
        assert joint.converged_
        assert joint.gradient_norm_ < 1e-9
        value = LOSSES[loss](calibrate(joint, p))
        assert value <= LOSSES[loss](calibrate(apart, p)) + 1e-12

        def loss_at(x):
            w = np.append(x[1:], 1 - x[1:].sum())
            tempered = p.probs ** np.exp(x[0])
            tempered /= tempered.sum(axis=1, keepdims=True)
            members = np.stack([tempered, p.probs, np.full(p.probs.shape, 1 / p.n_classes)])
            return mixed_loss(loss, p, members)(w)

        start = np.append(-np.log(joint.temperature_), joint.weights_[:2])
        inside = {"type": "ineq", "fun": lambda x: 1 - x[1:].sum()}
        bounds = [(-5, 5), (0, 1), (0, 1)]
        solver = minimize(loss_at, start, method="SLSQP", bounds=bounds, constraints=inside, options={"ftol": 1e-15})
        assert loss_at(start) == pytest.approx(value, abs=1e-10)
        assert solver.fun >= value - 1e-8

    def test_the_published_temperature_minimises_the_squared_error(self):
        p = sharpened(calibrated(n=600, k=4), 0.5)
        fitted = EnsembleTemperatureScaling("brier").fit(p.probs, p.labels)

        def brier(log_temperature):
            powers = p.probs ** np.exp(-log_temperature)
            return np.mean(((powers / powers.sum(axis=1, keepdims=True) - np.eye(4)[p.labels]) ** 2).sum(axis=1))

        grid = np.linspace(-1, 2, 3001)
        assert np.log(fitted.temperature_) == pytest.approx(grid[np.argmin([brier(t) for t in grid])], abs=1e-3)
        assert fitted.converged_

    def test_temperature_and_weights_that_made_the_data_are_found(self):
        rng = np.random.default_rng(0)
        truth = rng.dirichlet(np.full(5, 0.3), 30_000)
        labels = draw_labels(0.8 * truth + 0.2 / 5, rng)
        probs = sharpened(Predictions(truth, labels), 0.5).probs
        fitted = EnsembleTemperatureScaling(joint=True).fit(probs, labels)
        assert fitted.temperature_ == pytest.approx(2, rel=0.1)
        assert fitted.weights_ == pytest.approx([0.8, 0, 0.2], abs=0.04)

    def test_zeros_become_possible_by_the_uniform_share_only(self):
        p = over_confident()
        fitted = EnsembleTemperatureScaling().fit(p.probs, p.labels)
        assert fitted.weights_[2] > 0
        zero = fitted.predict_proba([[1.0, 0.0, 0.0, 0.0]])
        assert zero[0, 1:] == pytest.approx(np.full(3, fitted.weights_[2] / 4), abs=1e-15)

    @losses
    @each("joint", [False, True])
    def test_scores_that_point_away_give_nearly_uniform_probabilities(self, loss, joint):
        p = calibrated(k=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fitted = EnsembleTemperatureScaling(loss, joint).fit(p.probs, p.probs.argmin(axis=1))
        assert fitted.predict_proba(p.probs) == pytest.approx(np.full(p.probs.shape, 1 / 3), abs=1e-5)
        assert np.array_equal(fitted.predict(p.probs), p.probs.argmax(axis=1))

    def test_settings_are_checked_and_cloned(self):
        with pytest.raises(InputError, match='loss must be "nll" or "brier", but is \'ece\''):
            EnsembleTemperatureScaling("ece").fit([0.2, 0.7], [0, 1])
        assert clone(EnsembleTemperatureScaling("brier", joint=True)).get_params() == {
            "loss": "brier",
            "joint": True,
            "scores": "probs",
        }
