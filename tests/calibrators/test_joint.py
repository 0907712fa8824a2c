"""Joint scaling: derivatives, the minimum against a general solver, its limits, and what it gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from calibrant import InputError, Predictions
from calibrant.calibrators import JointScaling, TemperatureScaling, calibrate, parse
from calibrant.calibrators.fitting.softmax import PenalisedLikelihood
from calibrant.calibrators.multiclass.joint import Joint
from calibrant.metrics import NLL
from naming import each
from properties import examples
from simulate import calibrated, draw_labels, sharpened


def by_definition(found, probs):
    """The map, row by row and class by class."""
    share, k = found.guard_.share_, probs.shape[1]
    result = []
    for row in probs:
        v = np.log((1 - share) * row + share / k)
        factor = np.interp(v.mean(), found.row_knots_, found.row_factors_)
        logits = []
        for c in range(k):
            fall = 0.0
            for top, bottom, slope in zip(found.knots_, found.knots_[1:], found.slopes_, strict=False):
                fall += slope * max(0.0, top - max(v[c], bottom))
            logits.append(-fall + factor * v[c] + found.coef_[c] @ v + found.intercept_[c])
        result.append(np.exp(log_softmax(logits)))
    return np.array(result)


def objective(found, p, weights, smoothness, strength):
    """What is minimised, by definition."""
    own = by_definition(found, p.probs)[np.arange(p.n_samples), p.labels]
    k, delta = p.n_classes, found.coef_
    off = delta - np.diag(np.diag(delta))
    penalty = smoothness * (np.diff(found.slopes_) ** 2).sum() + smoothness * (np.diff(found.row_factors_) ** 2).sum()
    penalty += 0.1 * (((found.slopes_ - 1) ** 2).sum() + (found.row_factors_**2).sum())
    penalty += strength * k * ((np.diag(delta) ** 2).sum() + (found.intercept_**2).sum() + (k - 1) * (off**2).sum())
    return (-weights @ np.log(own) + penalty) / weights.sum()


@examples(25)
@given(st.integers(1, 40), st.integers(2, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_derivatives_agree_with_differences(n, k, m, seed):
    rng = np.random.default_rng(seed)
    scores, shared = rng.normal(size=(n, k)), rng.normal(size=(m, n, k))
    size = m + k * (k + 1)
    root = rng.normal(size=(m, m))
    function = PenalisedLikelihood(
        Joint(lambda _: shared, scores, m),  # So few rows are one block.
        rng.integers(k, size=n),
        rng.uniform(0.5, 2.0, n),
        penalty=rng.uniform(size=size),
        target=rng.normal(size=size),
        bends=root @ root.T,
    )
    x, direction = rng.normal(size=size), rng.normal(size=size)
    steps = 1e-5 * np.eye(size)
    gradient = [(function(x + h)[0] - function(x - h)[0]) / 2e-5 for h in steps]
    columns = np.array([(function(x + h)[1] - function(x - h)[1]) / 2e-5 for h in steps])
    assert function(x)[1] == pytest.approx(np.array(gradient), abs=1e-6)
    assert function.hessian() == pytest.approx(columns, abs=1e-6)
    assert function.diagonal() == pytest.approx(np.diag(columns), abs=1e-6)
    assert function.product(direction) == pytest.approx(columns @ direction, abs=1e-5)


def test_the_map_and_the_minimum_are_those_of_the_definition():
    p = sharpened(calibrated(n=150, k=3, seed=1), 0.6)
    weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    found = JointScaling(segments=3, row_knots=3, smoothness=2.0, matrix=0.5).fit(p.probs, p.labels, weights)
    assert found.predict_proba(p.probs) == pytest.approx(by_definition(found, p.probs), abs=1e-12)
    g, h = len(found.slopes_), len(found.row_factors_)

    def value(x):
        trial = JointScaling()
        trial.guard_, trial.knots_, trial.row_knots_ = found.guard_, found.knots_, found.row_knots_
        trial.slopes_, trial.row_factors_ = x[:g], x[g : g + h]
        matrix = x[g + h :].reshape(3, 4)
        trial.coef_, trial.intercept_ = matrix[:, :3], matrix[:, 3]
        return objective(trial, p, weights, 2.0, 0.5)

    at = found.parameters()
    best = value(at)
    assert found.converged_
    # The objective is convex: a point is its minimum if nothing falls in any direction from it.
    slopes = approx_fprime(at, value, 1e-7)
    assert np.abs(slopes).max() < 1e-5 * (1 + abs(best))
    assert best < value(np.concatenate([np.ones(g), np.zeros(h + 12)]))


def test_many_parameters_have_the_same_minimum():
    p = sharpened(calibrated(n=400, k=13, seed=1), 0.6)  # Above 150 parameters the Hessian is not written down.
    found = JointScaling().fit(p.probs, p.labels)
    assert found.converged_
    assert found.gradient_norm_ < 1e-6


def test_strong_penalties_leave_a_temperature():
    p = sharpened(calibrated(n=2000, k=4, seed=1), 0.5)
    found = JointScaling(smoothness=1e5, matrix=1e5, guard=0.0).fit(p.probs, p.labels)
    tempered = TemperatureScaling().fit(p.probs, p.labels)
    assert found.predict_proba(p.probs) == pytest.approx(tempered.predict_proba(p.probs), abs=1e-3)


def needy(n, seed, k=5):
    """Classes differ, and how far confidence is too large depends on the row."""
    rng = np.random.default_rng(seed)
    logits = 2.5 * rng.normal(size=(n, k))
    z = log_softmax(logits, axis=1)
    sharp = np.where(z.mean(axis=1, keepdims=True) < -3, 2.5, 1.0)
    return Predictions.from_logits(sharp * z, draw_labels(np.exp(log_softmax(z + np.linspace(-1, 1, k), axis=1)), rng))


def test_it_does_what_one_map_and_a_matrix_do_not():
    known, new = needy(4000, 0), needy(20000, 1)
    rows = {
        name: NLL().per_row(calibrate(parse(name).fit(known.probs, known.labels), new))
        for name in ("joint", "sms", "iop-diag", "sms>iop-diag")
    }
    for name in ("sms", "iop-diag", "sms>iop-diag"):
        gain = rows[name] - rows["joint"]
        assert gain.mean() > max(0.01, 4 * gain.std() / np.sqrt(len(gain))), name


def test_where_nothing_is_wrong_it_costs_little():
    known, new = calibrated(n=2000, k=5, seed=0), calibrated(n=20000, k=5, seed=1)
    after = calibrate(parse("iop-diag>joint").fit(known.probs, known.labels), new)
    # Without penalties, every one of 8 + 8 + 6 + 30 parameters would cost 1 / (2 n).
    assert NLL()(after) - NLL()(new) < 0.75 * 52 / 4000


def test_labels_called_impossible_are_made_possible():
    probs = np.array([[1.0, 0.0, 0.0]] * 50 + [[0.2, 0.3, 0.5]] * 50)
    labels = [0] * 49 + [1] + [0, 1, 2, 2, 1] * 10
    found = JointScaling().fit(probs, labels)
    assert found.guard_.share_ == pytest.approx(1 / 101)
    assert found.predict_proba(probs).min() > 0


def test_the_number_of_parameters_follows_the_settings():
    assert JointScaling().n_parameters == "K^2 + K + 14"
    assert JointScaling(segments=3, row_knots=2).n_parameters == "K^2 + K + 5"


@each("setting", [{"segments": 0}, {"row_knots": 1.5}, {"smoothness": -1.0}, {"guard": -1.0}])
def test_bad_settings_are_refused(setting):
    with pytest.raises((InputError, TypeError), match=next(iter(setting))):
        JointScaling(**setting).fit([0.2, 0.7], [0, 1])
