"""Ensembles: weights against a general solver, certificates, nesting and recovery."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from calibrant import InputError
from calibrant.calibrators import (
    Ensemble,
    Identity,
    TemperatureScaling,
    Uniform,
    VectorScaling,
    calibrate,
    irm,
    irova,
)
from calibrant.calibrators.fitting.mixtures import least_nll, least_square, warn_unless_converged
from calibrant.calibrators.fitting.newton import minimise_nonnegative
from ensemble_cases import LOSSES, losses, mixed_loss, over_confident
from naming import each
from simulate import calibrated, draw_labels


def by_slsqp(loss, m):
    """The smallest loss over the simplex, by a general solver from several starts."""
    starts = [np.full(m, 1 / m), *(0.9 * np.eye(m) + 0.1 / m)]
    constraint = {"type": "eq", "fun": lambda w: w.sum() - 1}
    found = [
        minimize(loss, w, method="SLSQP", bounds=[(0, 1)] * m, constraints=constraint, options={"ftol": 1e-15})
        for w in starts
    ]
    return min(found, key=lambda f: f.fun)


def outputs(ensemble, p):
    return np.stack([calibrate_inner(member, p) for member in ensemble.calibrators_])


def calibrate_inner(member, p):
    return np.exp(member.transform(p.log_probs))


def member_list():
    return [TemperatureScaling(), VectorScaling(), irm(), Identity(), Uniform()]


class TestWeights:
    @losses
    @each("seed", range(3))
    def test_a_general_solver_finds_nothing_better(self, loss, seed):
        p = over_confident(n=150, seed=seed)
        fitted = Ensemble(member_list(), loss).fit(p.probs, p.labels, p.weights)
        value = mixed_loss(loss, p, outputs(fitted, p))
        solver = by_slsqp(value, 5)
        assert value(fitted.weights_) <= solver.fun + 1e-12
        assert value(fitted.weights_) == pytest.approx(solver.fun, abs=1e-7)
        assert LOSSES[loss](calibrate(fitted, p)) == pytest.approx(value(fitted.weights_), abs=1e-12)

    @losses
    def test_weights_lie_on_the_simplex_and_report_convergence(self, loss):
        p = over_confident()
        fitted = Ensemble(member_list(), loss).fit(p.probs, p.labels)
        assert fitted.weights_.min() >= 0
        assert fitted.weights_.sum() == pytest.approx(1, abs=1e-14)
        assert fitted.converged_ is True
        assert 0 <= fitted.gradient_norm_ < 1e-10

    def test_the_certificate_of_the_likelihood_is_its_definition(self):
        p = over_confident()
        fitted = Ensemble(member_list()).fit(p.probs, p.labels, p.weights)
        likelihoods = outputs(fitted, p)[:, np.arange(p.n_samples), p.labels]
        ratios = likelihoods / (fitted.weights_ @ likelihoods)
        gap = (ratios @ p.weights / p.weights.sum()).max() - 1
        assert gap < 1e-10
        assert fitted.gradient_norm_ == pytest.approx(gap, abs=1e-12)

    def test_the_certificate_bounds_the_loss_of_bad_weights(self):
        rng = np.random.default_rng(0)
        logs, shares = np.log(rng.dirichlet(np.ones(4), 200)), np.full(200, 1 / 200)
        best = least_nll(logs, shares)
        for w in rng.dirichlet(np.ones(4), 50):
            loss = -shares @ np.log(np.exp(logs) @ w)
            bound = (shares @ (np.exp(logs) / (np.exp(logs) @ w)[:, None])).max() - 1
            assert 0 <= loss - best.loss <= bound

    def test_extreme_likelihoods_do_not_underflow(self):
        # In every row one member is impossible but for a hair, and the other even less likely.
        logs = np.array([[-700.0, -708.0], [-708.0, -700.0], [-708.0, -700.0], [-1.0, -1.0]])
        found = least_nll(logs, np.full(4, 0.25))
        assert found.weights == pytest.approx([1 / 3, 2 / 3], abs=1e-3)
        assert found.converged

    def test_the_least_square_solution_has_a_closed_form_for_two(self):
        products = np.array([[2.0, 0.5], [0.5, 1.0]])
        # The derivative of (w, 1 - w) A (w, 1 - w) vanishes at (A22 - A12) / (A11 + A22 - 2 A12).
        assert least_square(products).weights == pytest.approx([0.25, 0.75], abs=1e-14)
        assert least_square(np.array([[1.0, 2.0], [2.0, 5.0]])).weights.tolist() == [1.0, 0.0]

    def test_scale_of_the_errors_does_not_matter(self):
        products = np.array([[2.0, 0.5], [0.5, 1.0]])
        assert least_square(1e-12 * products).weights == pytest.approx([0.25, 0.75], abs=1e-12)
        assert least_square(np.zeros((3, 3))).weights.sum() == pytest.approx(1)

    @losses
    def test_members_that_agree_do_no_harm(self, loss):
        p = over_confident()
        once = Ensemble([TemperatureScaling(), Uniform()], loss).fit(p.probs, p.labels)
        twice = Ensemble([TemperatureScaling(), TemperatureScaling(), Uniform()], loss).fit(p.probs, p.labels)
        assert twice.predict_proba(p.probs) == pytest.approx(once.predict_proba(p.probs), abs=1e-9)

    @losses
    def test_the_weights_that_made_the_data_are_found(self, loss):
        rng = np.random.default_rng(0)
        probs = rng.dirichlet(np.full(5, 0.2), 50_000)
        labels = draw_labels(0.7 * probs + 0.3 / 5, rng)
        fitted = Ensemble([Identity(), Uniform()], loss).fit(probs, labels)
        assert fitted.weights_ == pytest.approx([0.7, 0.3], abs=0.02)


class TestEnsemble:
    @losses
    def test_no_member_is_better_on_the_rows_of_the_fit(self, loss):
        for seed in range(5):
            p = over_confident(seed=seed)
            fitted = Ensemble(member_list(), loss).fit(p.probs, p.labels, p.weights)
            best = min(LOSSES[loss](calibrate(m.fit(p.probs, p.labels, p.weights), p)) for m in member_list())
            assert LOSSES[loss](calibrate(fitted, p)) <= best + 1e-10

    def test_argmax_is_preserved_if_every_member_preserves_it(self):
        assert Ensemble([TemperatureScaling(), irm(), Uniform()]).preserves_argmax
        assert not Ensemble([TemperatureScaling(), irova()]).preserves_argmax

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_argmax_is_kept(self, dtype):
        p = over_confident()
        fitted = Ensemble([TemperatureScaling(), irm(), Uniform()]).fit(p.probs, p.labels)
        probs = np.random.default_rng(1).dirichlet(np.full(4, 0.1), 5000).astype(dtype)
        assert np.array_equal(fitted.predict(probs), probs.argmax(axis=1))

    def test_metadata_come_from_the_members(self):
        ensemble = Ensemble([TemperatureScaling(), VectorScaling()])
        assert ensemble.kind == "ensemble"
        assert ensemble.n_parameters == "1 + 2K + 1"
        assert ensemble.data_efficiency == "medium"
        assert ensemble.expressiveness == "medium"

    def test_impossible_labels_leave_the_weights_to_the_other_rows(self):
        probs = np.array([[0.9, 0.1, 0.0]] * 5)
        fitted = Ensemble([Identity(), Identity()]).fit(probs, [0, 0, 0, 1, 2])
        assert np.isfinite(fitted.weights_).all()
        assert fitted.predict_proba(probs) == pytest.approx(probs, abs=1e-14)

    @pytest.mark.parametrize("setting", [{"loss": "mse"}, {"calibrators": []}])
    def test_bad_settings_are_refused(self, setting):
        with pytest.raises(InputError, match=next(iter(setting))):
            Ensemble(**{"calibrators": [Identity()], **setting}).fit([0.2, 0.7], [0, 1])

    @each("calibrators", [[Identity(), "ts"], "ts", None])
    def test_other_things_than_calibrators_are_refused(self, calibrators):
        with pytest.raises(TypeError, match="calibrators must"):
            Ensemble(calibrators).fit([0.2, 0.7], [0, 1])

    def test_a_search_without_end_is_warned_of(self):
        with pytest.warns(ConvergenceWarning, match=r"Ensemble has not converged.*at a rate of 0\.5"):
            warn_unless_converged(False, 0.5, "Ensemble")


class TestUniform:
    def test_every_class_is_equally_probable_and_the_predicted_one_stays(self):
        p = calibrated(k=4)
        fitted = Uniform().fit(p.probs, p.labels)
        assert fitted.predict_proba(p.probs) == pytest.approx(np.full(p.probs.shape, 0.25), abs=1e-15)
        assert np.array_equal(fitted.predict(p.probs), p.probs.argmax(axis=1))


class TestMinimiseNonnegative:
    def test_a_quadratic_function_is_minimised_in_one_step(self):
        hessian, linear = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, 1.0])
        found = minimise_nonnegative(
            lambda x: (float(x @ hessian @ x / 2 + linear @ x), hessian @ x + linear, hessian), np.ones(2)
        )
        # At (1/2, 0) the gradient is (0, 3/2).
        assert found.x == pytest.approx([0.5, 0], abs=1e-9)
        assert found.x[1] == 0
        assert found.converged
        assert found.gradient_norm < 1e-9

    def test_too_few_steps_are_reported(self):
        found = minimise_nonnegative(
            lambda x: (float(np.exp(x[0]) - 30 * x[0]), np.exp(x) - 30, np.diag(np.exp(x))), np.zeros(1), max_iter=2
        )
        assert not found.converged
        assert found.gradient_norm > 1e-3
