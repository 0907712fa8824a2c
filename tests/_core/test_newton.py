"""The loss of logistic regressions and the steps of Newton's method against their definitions."""

import numpy as np
import pytest

from calibrant._core.blocks import BLOCK
from calibrant._core.logistic import LAST_DECREMENT, LogisticLoss
from calibrant._core.newton import descend, newton_step
from naming import each


def problem(n_coefficients, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.uniform(0.1, 1.0, n_rows)
    counts /= counts.sum()
    events = counts * rng.choice([0.0, 0.3, 1.0], n_rows)
    design = rng.normal(size=(n_coefficients, n_rows))
    return LogisticLoss(design, events, counts, rng.normal(size=n_rows), penalty=1e-3, target=0.25), rng


@each("n_coefficients, n_rows", [(1, 7), (2, 50), (3, 40), (2, BLOCK)])
def test_the_loss_and_its_derivatives_are_those_of_the_formula(n_coefficients, n_rows):
    loss, rng = problem(n_coefficients, n_rows)
    x = rng.normal(size=n_coefficients)
    scores = (loss.offset + x @ loss.design).astype(np.longdouble)
    away = x - loss.target
    fitted = 1 / (1 + np.exp(-scores))
    value, gradient, hessian = loss(x)
    wanted = loss.counts @ np.log1p(np.exp(scores)) - loss.events @ scores + loss.penalty * away @ away / 2
    assert value == pytest.approx(float(wanted), rel=1e-13)
    wanted = loss.design @ (loss.counts * fitted - loss.events) + loss.penalty * away
    assert gradient == pytest.approx(wanted.astype(float), rel=1e-11, abs=1e-15)
    wanted = (loss.design * loss.counts * fitted * (1 - fitted)) @ loss.design.T + loss.penalty * np.eye(n_coefficients)
    assert hessian == pytest.approx(wanted.astype(float), rel=1e-12)


@each("score", [-800.0, -40.0, 40.0, 800.0])
def test_scores_that_are_far_from_0_keep_their_digits(score):
    rare = LogisticLoss(np.ones((1, 2)), np.array([0.0, 0.5]), np.full(2, 0.5), np.full(2, score))
    value, gradient, _ = rare(np.zeros(1))
    assert value == pytest.approx(abs(score) / 2, rel=1e-15)
    assert gradient[0] == pytest.approx(0.5 * np.sign(score), rel=1e-15)
    surely = LogisticLoss(np.ones((1, 1)), np.array([float(score > 0)]), np.ones(1), np.full(1, score))
    assert surely(np.zeros(1))[1][0] == pytest.approx(-np.sign(score) * np.exp(-abs(score)), rel=1e-14)


@each("n_coefficients", [1, 2, 3])
def test_a_step_solves_the_equations(n_coefficients):
    loss, rng = problem(n_coefficients, 30, seed=n_coefficients)
    x = rng.normal(size=n_coefficients)
    found = loss(x)
    assert found[2] @ newton_step(x, found) == pytest.approx(-found[1], rel=1e-12)


@each(
    "hessian, wanted",
    [
        ([[4.0]], [-0.5]),
        ([[0.0]], [np.nan]),
        ([[1.0, 1.0], [1.0, 1.0]], [np.nan, np.nan]),
        ([[0.0, 0.0], [0.0, 0.0]], None),
    ],
)
def test_a_model_without_a_minimum_has_no_step(hessian, wanted):
    gradient = np.array([2.0, 3.0])[: len(hessian)]
    found = newton_step(np.zeros(len(hessian)), (0.0, gradient, np.array(hessian)))
    assert found == pytest.approx(np.full(len(hessian), np.nan) if wanted is None else wanted, nan_ok=True)


def test_nearly_parallel_rows_are_left_to_the_general_solution():
    hessian = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-11]])
    wanted = np.array([3.0, -2.0])
    found = newton_step(np.zeros(2), (0.0, -hessian @ wanted, hessian))
    assert hessian @ found == pytest.approx(hessian @ wanted, rel=1e-13)


def test_the_last_step_is_taken_without_a_look():
    loss, _ = problem(2, 200)
    seen = []

    def watched(x):
        seen.append(x)
        return loss(x)

    looked = descend(watched, newton_step, np.zeros(2), last=LAST_DECREMENT, max_iter=50)
    with_look = len(seen)
    seen.clear()
    found = descend(watched, newton_step, np.zeros(2), last=LAST_DECREMENT, max_iter=50, look=False)
    assert len(seen) == with_look - 1
    assert found.converged
    assert found.n_iter == looked.n_iter
    assert found.x == pytest.approx(looked.x, rel=1e-15)
    assert np.abs(loss(found.x)[1]).max() < LAST_DECREMENT
