"""Dirichlet calibration and structured scaling."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from calibrant import InputError
from calibrant.calibrators import (
    DirichletCalibration,
    LaplaceGuard,
    MatrixScaling,
    StructuredScaling,
    TemperatureScaling,
    VectorScaling,
)
from calibrant.exceptions import DataWarning
from naming import each
from scaling_cases import affine_loss, forest_like, general_minimum, guarded, in_sample, log_loss, overconfident


class TestDirichlet:
    @each("penalty", ["odir", "l2"])
    @each("normalisation", ["sum", "mean"])
    def test_it_finds_the_minimum(self, penalty, normalisation):
        probs, labels = overconfident(n=150, k=3)
        scores = np.log(probs)

        def objective(x):
            squares = x[:9].reshape(3, 3) ** 2
            penalised = squares[~np.eye(3, dtype=bool)] if penalty == "odir" else squares.ravel()
            combine = np.sum if normalisation == "sum" else np.mean
            return (
                affine_loss(x, scores, labels, diagonal=False) + 0.02 * combine(penalised) + 0.5 * combine(x[9:] ** 2)
            )

        best = general_minimum(objective, np.r_[np.eye(3).ravel(), np.zeros(3)])
        fitted = DirichletCalibration(penalty, 0.02, 0.5, normalisation).fit(probs, labels)
        x = np.r_[fitted.coef_.ravel(), fitted.intercept_]
        assert objective(x) <= best.fun + 1e-12
        assert x == pytest.approx(best.x, abs=1e-4)

    def test_the_two_normalisations_differ_by_the_number_of_squares(self):
        probs, labels = overconfident(k=4)
        by_sum = DirichletCalibration(strength=0.01, intercept_strength=0.03).fit(probs, labels)
        by_mean = DirichletCalibration(strength=0.12, intercept_strength=0.12, normalisation="mean").fit(probs, labels)
        assert by_sum.coef_ == pytest.approx(by_mean.coef_, abs=1e-9)

    def test_without_penalty_it_is_matrix_scaling(self):
        probs, labels = overconfident(k=3)
        free = DirichletCalibration(strength=0.0).fit(probs, labels).predict_proba(probs)
        assert free == pytest.approx(MatrixScaling().fit(probs, labels).predict_proba(probs), abs=1e-8)

    def test_a_strong_penalty_leaves_the_diagonal_or_nothing(self):
        probs, labels = overconfident(k=3)
        odir = DirichletCalibration("odir", 1e6).fit(probs, labels)
        assert odir.coef_ - np.diag(np.diag(odir.coef_)) == pytest.approx(np.zeros((3, 3)), abs=1e-5)
        assert np.diag(odir.coef_).min() > 0.2
        l2 = DirichletCalibration("l2", 1e6).fit(probs, labels)
        assert l2.predict_proba(probs) == pytest.approx(np.full(probs.shape, 1 / 3), abs=1e-4)

    @each(
        "settings, message",
        [
            ({"penalty": "lasso"}, 'penalty must be "odir" or "l2"'),
            ({"normalisation": "max"}, 'normalisation must be "sum" or "mean"'),
            ({"strength": -1.0}, "strength must be a finite number of at least 0"),
            ({"strength": np.nan}, "strength must be a finite number of at least 0"),
            ({"intercept_strength": np.inf}, "intercept_strength must be a finite number"),
        ],
    )
    def test_settings_are_checked(self, settings, message):
        probs, labels = overconfident(n=50)
        with pytest.raises(InputError, match=message):
            DirichletCalibration(**settings).fit(probs, labels)


def best_temperature(log_probs, labels):
    def loss(log_temperature):
        log_q = log_softmax(log_probs / np.exp(log_temperature), axis=1)
        return -log_q[np.arange(len(labels)), labels].mean()

    return np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded", options={"xatol": 1e-10}).x)


def features_of(probs, temperature, rows, n):
    """The definition, slowly: tempered and guarded probabilities, times what normalises the tempered ones."""
    powers = probs ** (1 / temperature)
    z = powers.sum(axis=1, keepdims=True)
    return np.log(guarded(powers / z, rows, n) * z)


both = pytest.mark.parametrize("structure", ["vector", "matrix"])


class TestStructured:
    @each("rows", [0.01, 1.0, 0.0])
    @both
    def test_it_finds_the_minimum_of_its_definition(self, structure, rows):
        n, k = 150, 3
        probs, labels = overconfident(n=n, k=k)
        scores = features_of(probs, best_temperature(np.log(probs), labels), rows, n)
        diagonal = structure == "vector"

        def objective(x):
            matrix = np.diag(x[:k]) if diagonal else x[: k * k].reshape(k, k)
            delta = matrix - np.eye(k)
            own = np.sum(np.diag(delta) ** 2)
            penalty = k / n * np.sum(x[-k:] ** 2) + k / n * own + k * (k - 1) / n * (np.sum(delta**2) - own)
            return affine_loss(x, scores, labels, diagonal=diagonal) + penalty

        best = general_minimum(objective, np.r_[np.ones(k) if diagonal else np.eye(k).ravel(), np.zeros(k)])
        fitted = StructuredScaling(structure, guard=rows).fit(probs, labels)
        x = np.r_[fitted.coef_.ravel(), fitted.intercept_]
        assert objective(x) <= best.fun + 1e-12
        assert x == pytest.approx(best.x, abs=1e-5)
        scores = features_of(probs, fitted.temperature_scaling_.temperature_, rows, n)
        expected = softmax(scores @ (np.diag(x[:k]) if diagonal else x[: k * k].reshape(k, k)).T + x[-k:], axis=1)
        assert fitted.predict_proba(probs) == pytest.approx(expected, abs=1e-12)

    def test_the_defaults_are_the_published_penalties_and_a_small_guard(self):
        assert StructuredScaling().get_params() == {
            "structure": "matrix", "diagonal": 1.0, "off_diagonal": 1.0, "intercept": 1.0, "guard": 0.01,
            "max_iter": 100, "scores": "probs",
        }  # fmt: skip

    def test_each_penalty_has_a_factor(self):
        probs, labels = overconfident(n=200, k=3)
        free = StructuredScaling().fit(probs, labels)
        own = np.eye(3, dtype=bool)
        assert abs(StructuredScaling(intercept=1e9).fit(probs, labels).intercept_).max() < 1e-6
        assert abs(StructuredScaling(diagonal=1e9).fit(probs, labels).coef_[own] - 1).max() < 1e-6
        assert abs(StructuredScaling(off_diagonal=1e9).fit(probs, labels).coef_[~own]).max() < 1e-6
        for part in (free.intercept_, free.coef_[own] - 1, free.coef_[~own]):
            assert abs(part).max() > 1e-3

    @each("rows", [0.01, 1.0])
    @both
    def test_infinitely_penalised_it_is_temperature_scaling_and_guard(self, structure, rows):
        probs, labels = overconfident(n=200)
        tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
        expected = LaplaceGuard(rows).fit(tempered, labels).predict_proba(tempered)
        pulled = StructuredScaling(structure, 1e9, 1e9, 1e9, guard=rows).fit(probs, labels)
        assert pulled.predict_proba(probs) == pytest.approx(expected, abs=1e-8)

    @both
    def test_infinitely_penalised_without_guard_it_is_temperature_scaling(self, structure):
        probs, labels = overconfident(n=200)
        tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
        pulled = StructuredScaling(structure, 1e9, 1e9, 1e9, guard=0.0).fit(probs, labels)
        assert pulled.predict_proba(probs) == pytest.approx(tempered, abs=1e-8)

    def test_without_penalty_it_is_as_likely_as_vector_scaling(self):
        probs, labels = overconfident(n=500)
        free = in_sample(StructuredScaling("vector", 0.0, 0.0, 0.0, guard=0.0), probs, labels)
        assert free == pytest.approx(in_sample(VectorScaling(), probs, labels), abs=1e-10)

    @both
    def test_it_is_never_worse_than_what_it_starts_from(self, structure):
        for seed in range(3):
            probs, labels = overconfident(n=60, seed=seed)
            tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
            start = LaplaceGuard(rows=0.01).fit(tempered, labels).predict_proba(tempered)
            assert in_sample(StructuredScaling(structure), probs, labels) <= log_loss(start, labels) + 1e-10

    def test_it_beats_matrix_scaling_on_new_rows_when_data_are_few(self):
        rows = slice(0, 150), slice(150, 4000)
        probs, labels = overconfident(n=4000, k=10)
        losses = [
            log_loss(build().fit(probs[rows[0]], labels[rows[0]]).predict_proba(probs[rows[1]]), labels[rows[1]])
            for build in (StructuredScaling, MatrixScaling)
        ]
        assert losses[0] < losses[1] - 0.1

    @both
    def test_an_integer_weight_is_as_many_rows(self, structure):
        probs, labels = forest_like(n=80)
        weights = np.random.default_rng(1).integers(0, 4, 80)
        weighted = StructuredScaling(structure).fit(probs, labels, weights)
        repeated = StructuredScaling(structure).fit(np.repeat(probs, weights, axis=0), np.repeat(labels, weights))
        assert weighted.zeros_.share_ == pytest.approx(1 / (weights.sum() + 1), rel=1e-14)
        assert weighted.guard_.share_ == pytest.approx(0.01 / (weights.sum() + 0.01), rel=1e-14)
        assert weighted.predict_proba(probs) == pytest.approx(repeated.predict_proba(probs), abs=1e-9)

    @both
    def test_single_precision_gives_the_same(self, structure):
        for probs, labels in (overconfident(n=300), forest_like(n=300)):
            fitted = StructuredScaling(structure).fit(probs, labels).predict_proba(probs)
            single = probs.astype(np.float32)
            found = StructuredScaling(structure).fit(single, labels).predict_proba(single)
            assert found == pytest.approx(fitted, abs=1e-5)

    @both
    def test_predictions_that_are_always_right_converge_with_very_small_temperatures(self, structure):
        # ln Z is near -1e4 here, far below the logarithm of any number.
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 3, 200)
        probs = np.full((200, 3), 0.3333) + np.where(np.eye(3, dtype=bool)[labels], 1e-4, 0.0)
        probs /= probs.sum(axis=1, keepdims=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # Every row is right.
            fitted = StructuredScaling(structure).fit(probs, labels)
        assert fitted.converged_
        assert fitted.temperature_scaling_.temperature_ < 1e-4
        assert np.array_equal(fitted.predict(probs), labels)
        assert fitted.predict_proba(probs).max(axis=1).min() > 0.95

    def test_settings_are_checked(self):
        probs, labels = overconfident(n=50)
        with pytest.raises(InputError, match='structure must be "vector" or "matrix"'):
            StructuredScaling("tensor").fit(probs, labels)
        with pytest.raises(InputError, match="off_diagonal must be a finite number of at least 0"):
            StructuredScaling(off_diagonal=-1.0).fit(probs, labels)

    @each("guard", [True, False, -0.1, np.nan, np.inf, "1", None])
    def test_a_guard_that_is_no_number_of_rows_is_refused(self, guard):
        probs, labels = overconfident(n=50)
        with pytest.raises(InputError, match=f"guard must be a finite number of at least 0, but is {guard!r}"):
            StructuredScaling(guard=guard).fit(probs, labels)
