"""Temperature, vector and matrix scaling, and the guard."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator

from calibrant import InputError
from calibrant.calibrators import (
    DirichletCalibration,
    Identity,
    LaplaceGuard,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
    load,
)
from calibrant.exceptions import DataWarning
from naming import each
from scaling_cases import affine_loss, general_minimum, in_sample, log_loss, overconfident
from simulate import calibrated, draw_labels

OLD = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)


class TestTemperature:
    @each("k", [2, 3, 10])
    @each("distortion", [0.3, 1.0, 2.5])
    def test_it_minimises_the_log_loss(self, k, distortion):
        probs, labels = overconfident(k=k, temperature=distortion)
        logits = np.log(probs)

        def loss(log_temperature):
            return -log_softmax(logits / np.exp(log_temperature), axis=1)[np.arange(600), labels].mean()

        best = minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
        fitted = TemperatureScaling().fit(probs, labels)
        assert np.log(fitted.temperature_) == pytest.approx(best.x, abs=1e-5)
        assert loss(np.log(fitted.temperature_)) <= best.fun + 1e-14
        assert fitted.gradient_norm_ < 1e-9
        assert fitted.converged_

    @each("n, k", [(3999, 3), (4000, 3), (9000, 40)])
    def test_the_derivative_vanishes_where_a_bracketing_search_says(self, n, k):
        probs, labels = overconfident(n=n, k=k)
        weights = np.random.default_rng(0).random(n)
        z = np.log(probs)

        def slope(log_beta):
            q = softmax(np.exp(log_beta) * z, axis=1)
            return weights @ ((q * z).sum(axis=1) - z[np.arange(n), labels])

        fitted = TemperatureScaling().fit(probs, labels, weights)
        assert -np.log(fitted.temperature_) == pytest.approx(brentq(slope, -8, 8, xtol=1e-13), abs=1e-9)

    def test_many_rows_are_visited_few_times(self):
        probs, labels = overconfident(n=20_000, k=10)
        assert TemperatureScaling().fit(probs, labels).n_iter_ <= 4

    def test_a_known_temperature_is_recovered(self):
        rng = np.random.default_rng(0)
        probs = rng.dirichlet(np.ones(5), 40_000)
        labels = draw_labels(probs, rng)
        fitted = TemperatureScaling(scores="logits").fit(3.0 * np.log(probs), labels)
        assert fitted.temperature_ == pytest.approx(3.0, rel=0.03)

    @each("factor", [1e-4, 0.1, 7.0, 1e5])
    def test_it_is_proportional_to_the_logits(self, factor):
        probs, labels = overconfident()
        logits = np.log(probs)
        one = TemperatureScaling(scores="logits").fit(logits, labels).temperature_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # Tiny logits look like probabilities.
            other = TemperatureScaling(scores="logits").fit(factor * logits, labels).temperature_
        assert other == pytest.approx(factor * one, rel=1e-8)

    @pytest.mark.skipif(OLD, reason="scikit-learn has no temperature scaling")
    def test_it_agrees_with_scikit_learn(self):
        class Logits(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_ = np.unique(y)
                return self

            def decision_function(self, X):
                return X

            def predict(self, X):
                return X.argmax(axis=1)

        probs, labels = overconfident(n=2000, k=5)
        logits = np.log(probs)
        peer = CalibratedClassifierCV(FrozenEstimator(Logits().fit(logits, labels)), method="temperature")
        theirs = peer.fit(logits, labels).predict_proba(logits)
        fitted = TemperatureScaling(scores="logits").fit(logits, labels)
        assert fitted.predict_proba(logits) == pytest.approx(theirs, abs=1e-6)
        assert log_loss(fitted.predict_proba(logits), labels) <= log_loss(theirs, labels) + 1e-14

    def test_single_precision_is_not_a_reason_to_do_nothing(self):
        probs, labels = overconfident(n=2000, temperature=0.3)
        fitted = TemperatureScaling().fit(probs.astype(np.float32), labels)
        assert fitted.temperature_ == pytest.approx(TemperatureScaling().fit(probs, labels).temperature_, rel=1e-5)
        assert fitted.temperature_ > 2.5

    def test_calibrated_predictions_are_left_nearly_alone(self):
        p = calibrated(n=20_000)
        assert TemperatureScaling().fit(p.probs, p.labels).temperature_ == pytest.approx(1.0, abs=0.03)

    def test_large_logits_do_not_overflow(self):
        rng = np.random.default_rng(0)
        logits = rng.normal(0, 3000.0, (500, 4))
        labels = draw_labels(softmax(logits / 2000.0, axis=1), rng)
        fitted = TemperatureScaling(scores="logits").fit(logits, labels)
        assert fitted.temperature_ == pytest.approx(2000.0, rel=0.2)

    def test_predictions_that_are_always_right_follow_the_rule_of_succession(self):
        rows = np.tile([[0.6, 0.4], [0.3, 0.7]], (20, 1))
        fitted = TemperatureScaling().fit(rows, [0, 1] * 20)
        assert fitted.predict_proba(rows).max(axis=1).mean() == pytest.approx(41 / 42, abs=1e-9)
        assert fitted.converged_

    def test_always_right_and_more_confident_than_the_rows_allow_stays(self):
        assert TemperatureScaling().fit([[0.9, 0.1], [0.2, 0.8]], [0, 1]).temperature_ == 1.0
        assert TemperatureScaling().fit([[1.0, 0.0], [0.0, 1.0], [0.6, 0.4]], [0, 1, 0]).temperature_ == 1.0

    def test_always_right_with_ties_reaches_the_same_share_of_what_ties_allow(self):
        rows = np.tile([[0.4, 0.4, 0.2], [0.2, 0.6, 0.2]], (10, 1))
        fitted = TemperatureScaling().fit(rows, [0, 1] * 10)
        assert fitted.predict_proba(rows).max(axis=1).mean() == pytest.approx(0.75 * 21 / 22, abs=1e-9)

    def test_scores_that_point_away_from_the_labels_give_a_warning(self):
        with pytest.warns(DataWarning, match="the scores point away from the labels"):
            fitted = TemperatureScaling().fit([[0.9, 0.1], [0.2, 0.8]], [1, 0])
        assert fitted.temperature_ == pytest.approx(np.exp(16))
        assert fitted.predict_proba([[0.9, 0.1]]) == pytest.approx(np.array([[0.5, 0.5]]), abs=1e-6)
        assert fitted.predict([[0.9, 0.1], [0.2, 0.8]]).tolist() == [0, 1]

    @pytest.mark.parametrize("n", [2, 5000])
    def test_uniform_rows_leave_the_temperature_at_one(self, n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fitted = TemperatureScaling().fit(np.full((n, 4), 0.25), np.arange(n) % 4)
        assert fitted.temperature_ == 1.0
        assert fitted.gradient_norm_ == 0.0

    @pytest.mark.filterwarnings("ignore:.*observed label of probability 0:calibrant.DataWarning")
    def test_zero_stays_zero_and_an_impossible_label_counts(self):
        probs = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7], [0.6, 0.4]])
        wrong_once = TemperatureScaling().fit(probs, [0, 0, 1, 0])
        assert wrong_once.temperature_ > 100  # The label of probability 0 asks for nearly uniform predictions.
        assert wrong_once.predict_proba(probs)[0].tolist() == [1.0, 0.0]

    def test_a_search_that_begins_far_away_arrives(self):
        # The first thousandth of the rows is all right, the rest is not: the start is no help.
        probs, labels = overconfident(n=8000, k=3)
        labels = labels.copy()
        labels[::8] = probs[::8].argmax(axis=1)
        fitted = TemperatureScaling().fit(probs, labels)
        assert fitted.converged_
        assert fitted.gradient_norm_ < 1e-9


class TestVectorAndMatrix:
    def test_vector_scaling_finds_the_minimum(self):
        probs, labels = overconfident(k=3)
        scores = np.log(probs)
        best = general_minimum(lambda x: affine_loss(x, scores, labels, diagonal=True), np.r_[np.ones(3), np.zeros(3)])
        fitted = VectorScaling().fit(probs, labels)
        x = np.r_[fitted.coef_, fitted.intercept_]
        assert affine_loss(x, scores, labels, diagonal=True) <= best.fun + 1e-12
        assert fitted.coef_ == pytest.approx(best.x[:3], abs=1e-4)
        assert fitted.intercept_ - fitted.intercept_[0] == pytest.approx(best.x[3:] - best.x[3], abs=1e-4)

    def test_matrix_scaling_finds_the_minimum(self):
        probs, labels = overconfident(k=3)
        scores = np.log(probs)
        start = np.r_[np.eye(3).ravel(), np.zeros(3)]
        best = general_minimum(lambda x: affine_loss(x, scores, labels, diagonal=False), start)
        fitted = MatrixScaling().fit(probs, labels)
        x = np.r_[fitted.coef_.ravel(), fitted.intercept_]
        assert affine_loss(x, scores, labels, diagonal=False) <= best.fun + 1e-12
        assert fitted.coef_ - fitted.coef_[0] == pytest.approx(
            best.x[:9].reshape(3, 3) - best.x[:9].reshape(3, 3)[0], abs=1e-3
        )

    @each("k", [2, 3, 5, 12])
    @each("n", [20, 500])
    def test_a_larger_family_is_never_worse_on_the_rows_of_the_fit(self, n, k):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            probs, labels = overconfident(n=n, k=k, seed=k)
            families = [Identity(), TemperatureScaling(), VectorScaling(), MatrixScaling()]
            losses = [in_sample(family, probs, labels) for family in families]
        assert all(larger <= smaller + 1e-10 for smaller, larger in pairwise(losses))
        assert losses[-1] < losses[0]

    def test_known_parameters_are_recovered(self):
        rng = np.random.default_rng(1)
        scores = np.log(rng.dirichlet(np.ones(3), 60_000))
        coef, intercept = np.array([0.5, 1.0, 1.5]), np.array([0.3, -0.3, 0.0])
        labels = draw_labels(softmax(scores * coef + intercept, axis=1), rng)
        fitted = VectorScaling(scores="logits").fit(scores, labels)
        assert fitted.coef_ == pytest.approx(coef, abs=0.05)
        assert fitted.intercept_ - fitted.intercept_.mean() == pytest.approx(intercept, abs=0.05)
        full = MatrixScaling(scores="logits").fit(scores, labels)
        # A number added to a column of the matrix does not matter.
        assert full.coef_ - full.coef_.mean(axis=0) == pytest.approx(
            np.diag(coef) - np.diag(coef).mean(axis=0), abs=0.06
        )

    @pytest.mark.parametrize("build", [VectorScaling, MatrixScaling], ids=["vector", "matrix"])
    def test_class_frequencies_are_met(self, build):
        # The derivative in the intercepts: mean predicted probabilities are the observed frequencies.
        probs, labels = overconfident(k=5)
        fitted = build().fit(probs, labels).predict_proba(probs)
        assert fitted.mean(axis=0) == pytest.approx(np.bincount(labels, minlength=5) / 600, abs=1e-9)

    def test_separable_classes_end_with_finite_parameters(self):
        rng = np.random.default_rng(0)
        probs = rng.dirichlet(np.ones(3), 40)
        labels = np.roll(np.arange(3), 1)[probs.argmax(axis=1)]  # Always the class after the predicted one.
        fitted = MatrixScaling().fit(probs, labels)
        assert fitted.converged_
        assert np.isfinite(fitted.coef_).all()
        assert log_loss(fitted.predict_proba(probs), labels) < 1e-6

    @pytest.mark.parametrize("build", [VectorScaling, MatrixScaling], ids=["vector", "matrix"])
    @each("labelled", ["right", "shifted", "of one class"])
    def test_weights_equal_copies_also_where_classes_are_separable(self, build, labelled):
        rng = np.random.default_rng(3)
        probs = rng.dirichlet(np.ones(3), 40)
        top = probs.argmax(axis=1)
        labels = {"right": top, "shifted": (top + 1) % 3, "of one class": np.zeros(40, dtype=int)}[labelled]
        weights = rng.integers(1, 4, 40)
        copies = np.repeat(np.arange(40), weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            weighted = build().fit(probs, labels, weights)
            copied = build().fit(probs[copies], labels[copies])
        assert weighted.converged_
        assert weighted.coef_ == pytest.approx(copied.coef_, abs=1e-5)
        assert weighted.predict_proba(probs) == pytest.approx(copied.predict_proba(probs), abs=1e-9)

    def test_a_search_that_ends_too_early_says_so(self):
        probs, labels = overconfident()
        with pytest.warns(ConvergenceWarning, match="VectorScaling stopped after 1 step "):
            fitted = VectorScaling(max_iter=1).fit(probs, labels)
        assert not fitted.converged_
        assert fitted.gradient_norm_ > 1e-8

    @each("max_iter", [0, 1.5, True])
    def test_the_number_of_steps_is_checked(self, max_iter):
        probs, labels = overconfident(n=50)
        with pytest.raises(InputError, match="max_iter must be a whole number of at least 1"):
            VectorScaling(max_iter=max_iter).fit(probs, labels)

    def test_a_negative_factor_is_possible(self):
        probs, labels = overconfident(n=300, k=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # The accuracy is below chance.
            fitted = VectorScaling().fit(probs[:, ::-1], labels)
        assert fitted.coef_.sum() < 0
        assert log_loss(fitted.predict_proba(probs[:, ::-1]), labels) < np.log(2)

    @pytest.mark.filterwarnings("ignore:.*observed label of probability 0:calibrant.DataWarning")
    def test_exact_zeros_count_as_the_smallest_number(self):
        probs, labels = overconfident(n=300, k=3)
        probs = probs.copy()
        probs[:50, 2] = 0.0
        probs /= probs.sum(axis=1, keepdims=True)
        tiny = np.where(probs == 0, np.finfo(float).tiny, probs)
        for build in (VectorScaling, MatrixScaling, DirichletCalibration):
            one, other = (build().fit(given, labels).predict_proba(given) for given in (probs, tiny))
            assert one == pytest.approx(other, abs=1e-9)
            assert np.isfinite(one).all()


class TestGuard:
    def test_it_mixes_with_the_uniform_distribution(self):
        fitted = LaplaceGuard().fit(np.full((9, 4), 0.25), np.arange(9) % 4)
        assert fitted.share_ == pytest.approx(0.1)
        assert fitted.predict_proba([[1.0, 0.0, 0.0, 0.0]]) == pytest.approx(np.array([[0.925, 0.025, 0.025, 0.025]]))

    def test_weights_count_as_rows(self):
        assert LaplaceGuard().fit([0.3, 0.6], [0, 1], [4.0, 5.0]).share_ == pytest.approx(0.1)

    def test_the_log_loss_is_bounded(self):
        n, k = 50, 4
        fitted = LaplaceGuard().fit(np.full((n, k), 0.25), np.arange(n) % k)
        worst = fitted.predict_proba(np.eye(k))[0, 1]
        assert -np.log(worst) == pytest.approx(np.log((n + 1) * k))

    @each("rows", [0.01, 2.5, np.float32(0.5), 3])
    def test_the_uniform_distribution_counts_as_so_many_rows(self, rows):
        probs = np.array([[1.0, 0.0, 0.0, 0.0], [0.4, 0.3, 0.2, 0.1]])
        fitted = LaplaceGuard(rows).fit(np.full((9, 4), 0.25), np.arange(9) % 4)
        assert fitted.share_ == pytest.approx(rows / (9 + rows), rel=1e-14)
        assert fitted.predict_proba(probs) == pytest.approx((9 * probs + rows / 4) / (9 + rows), abs=1e-15)

    def test_no_rows_leave_everything_as_it_is(self):
        probs = np.array([[1.0, 0.0, 0.0], [0.5, 1e-320, 0.5], [0.2, 0.2, 0.6]])
        fitted = LaplaceGuard(rows=0).fit(probs, [0, 1, 2])
        assert fitted.share_ == 0
        assert fitted.predict_proba(probs) == pytest.approx(probs, rel=1e-3, abs=0)
        assert np.array_equal(fitted.predict_proba(probs) == 0, probs == 0)

    @each("rows", [-1.0, np.nan, np.inf, True, "1", None])
    def test_what_is_no_number_of_rows_is_refused(self, rows):
        with pytest.raises(InputError, match=f"rows must be a finite number of at least 0, but is {rows!r}"):
            LaplaceGuard(rows).fit([0.3, 0.6], [0, 1])

    def test_a_file_from_before_there_was_a_number_of_rows_is_read(self, tmp_path):
        # Written out so that no change of the code can change it.
        (tmp_path / "c.json").write_text("""\
{"format": 1, "calibrant": "0.1.0",
 "sha256": "66022837af577cecd2799d8481635bcba9a4b3e2a1c43db1f1df6fc12ef8cef8", "details": {},
 "calibrator": {"class": "LaplaceGuard", "params": {"scores": "probs"}, "fitted": {"classes_": {"dtype": "<i8",
 "shape": [2], "data": "AAAAAAAAAAABAAAAAAAAAA=="}, "share_": 0.2}}}
""")
        old = load(tmp_path / "c.json")
        assert old.rows == 1
        assert old.predict_proba([1.0]) == pytest.approx(np.array([[0.1, 0.9]]))
