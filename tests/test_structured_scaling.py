"""Dirichlet calibration and structured scaling."""

import numpy as np
import pytest
from scipy.special import softmax

from calibrant import InputError
from calibrant.calibrators import (
    DirichletCalibration,
    LaplaceGuard,
    MatrixScaling,
    StructuredScaling,
    TemperatureScaling,
    VectorScaling,
)
from scaling_cases import affine_loss, general_minimum, in_sample, log_loss, overconfident


class TestDirichlet:
    @pytest.mark.parametrize("penalty", ["odir", "l2"])
    @pytest.mark.parametrize("normalisation", ["sum", "mean"])
    def test_it_finds_the_minimum(self, penalty, normalisation):
        probs, labels = overconfident(n=300, k=3)
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

    @pytest.mark.parametrize(
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


class TestStructured:
    @pytest.mark.parametrize("structure", ["vector", "matrix"])
    def test_it_finds_the_minimum_of_the_published_objective(self, structure):
        n, k = 300, 3
        probs, labels = overconfident(n=n, k=k)
        temperature = TemperatureScaling().fit(probs, labels).temperature_
        q = softmax(np.log(probs) / temperature, axis=1)
        scores = np.log((1 - 1 / (n + 1)) * q + 1 / (n + 1) / k)
        diagonal = structure == "vector"

        def objective(x):
            matrix = np.diag(x[:k]) if diagonal else x[: k * k].reshape(k, k)
            delta = matrix - np.eye(k)
            own = np.sum(np.diag(delta) ** 2)
            penalty = k / n * np.sum(x[-k:] ** 2) + k / n * own + k * (k - 1) / n * (np.sum(delta**2) - own)
            return affine_loss(x, scores, labels, diagonal=diagonal) + penalty

        best = general_minimum(objective, np.r_[np.ones(k) if diagonal else np.eye(k).ravel(), np.zeros(k)])
        fitted = StructuredScaling(structure, intercept=1.0).fit(probs, labels)
        x = np.r_[fitted.coef_.ravel(), fitted.intercept_]
        assert objective(x) <= best.fun + 1e-12
        assert x == pytest.approx(best.x, abs=1e-5)
        expected = softmax(scores @ (np.diag(x[:k]) if diagonal else x[: k * k].reshape(k, k)).T + x[-k:], axis=1)
        assert fitted.predict_proba(probs) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("structure", ["vector", "matrix"])
    def test_infinitely_penalised_it_is_temperature_scaling_and_guard(self, structure):
        probs, labels = overconfident(n=200)
        tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
        guarded = LaplaceGuard().fit(tempered, labels).predict_proba(tempered)
        pulled = StructuredScaling(structure, 1e9, 1e9, 1e9).fit(probs, labels)
        assert pulled.predict_proba(probs) == pytest.approx(guarded, abs=1e-8)

    @pytest.mark.parametrize("structure", ["vector", "matrix"])
    def test_infinitely_penalised_without_guard_it_is_temperature_scaling(self, structure):
        probs, labels = overconfident(n=200)
        tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
        pulled = StructuredScaling(structure, 1e9, 1e9, 1e9, guard=False).fit(probs, labels)
        assert pulled.predict_proba(probs) == pytest.approx(tempered, abs=1e-8)

    def test_an_impossible_class_is_finite_without_guard(self):
        probs = np.repeat([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], 10, axis=0)
        labels = np.repeat([0, 1, 2], 10)
        labels[[3, 13, 23]] = [1, 2, 0]
        fitted = StructuredScaling("vector", guard=False).fit(probs, labels)
        assert np.isfinite(fitted.coef_).all()
        assert np.isfinite(fitted.predict_proba(probs)).all()

    def test_without_penalty_it_is_as_likely_as_vector_scaling(self):
        probs, labels = overconfident(n=500)
        free = in_sample(StructuredScaling("vector", 0.0, 0.0, 0.0), probs, labels)
        tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
        guarded = LaplaceGuard().fit(tempered, labels).predict_proba(tempered)
        assert free == pytest.approx(in_sample(VectorScaling(), guarded, labels), abs=1e-10)

    @pytest.mark.parametrize("structure", ["vector", "matrix"])
    def test_it_is_never_worse_than_what_it_starts_from(self, structure):
        for seed in range(5):
            probs, labels = overconfident(n=60, seed=seed)
            tempered = TemperatureScaling().fit(probs, labels).predict_proba(probs)
            guarded = LaplaceGuard().fit(tempered, labels).predict_proba(tempered)
            assert in_sample(StructuredScaling(structure), probs, labels) <= log_loss(guarded, labels) + 1e-10

    def test_it_beats_matrix_scaling_on_new_rows_when_data_are_few(self):
        rows = slice(0, 150), slice(150, 4000)
        probs, labels = overconfident(n=4000, k=10)
        losses = [
            log_loss(build().fit(probs[rows[0]], labels[rows[0]]).predict_proba(probs[rows[1]]), labels[rows[1]])
            for build in (StructuredScaling, MatrixScaling)
        ]
        assert losses[0] < losses[1] - 0.1

    def test_settings_are_checked(self):
        probs, labels = overconfident(n=50)
        with pytest.raises(InputError, match='structure must be "vector" or "matrix"'):
            StructuredScaling("tensor").fit(probs, labels)
        with pytest.raises(InputError, match="off_diagonal must be a finite number of at least 0"):
            StructuredScaling(off_diagonal=-1.0).fit(probs, labels)
