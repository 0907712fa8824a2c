"""Spline calibration."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit

from calibrant import InputError
from calibrant.calibrators import PlattScaling, SplineCalibration
from logistic_cases import TRUTHS, draw, log_loss
from naming import each


def test_the_spline_minimises_its_objective():
    x, hits, weights = draw(150, truth=lambda x: x - 0.4 * np.sin(2 * x))
    fitted = SplineCalibration(n_knots=5, smoothing=0.7, prior_weight=3.0, monotone=False).fit_line(x, hits, weights)
    knots = fitted.knots_

    def curve(values, s):
        spline = CubicSpline(knots, values, bc_type="natural")
        inside = np.clip(s, knots[0], knots[-1])
        return spline(inside) + spline(inside, 1) * (s - inside)

    def objective(values):
        spline = CubicSpline(knots, values, bc_type="natural")
        rough = sum(quad(lambda s: spline(s, 2) ** 2, *ends)[0] for ends in pairwise(knots))
        data = log_loss(curve(values, x), hits, weights) * weights.sum()
        return data + log_loss(curve(values, knots), expit(knots), np.ones(5)) * 3.0 + 0.7 * rough / 2

    oracle = minimize(objective, knots, method="BFGS", options={"gtol": 1e-6})
    assert objective(fitted.values_) <= oracle.fun + 1e-7
    assert fitted.values_ == pytest.approx(oracle.x, abs=1e-3)
    assert fitted.log_odds(np.array([-9.0, 0.3, 9.0])) == pytest.approx(curve(oracle.x, [-9.0, 0.3, 9.0]), abs=1e-2)


def test_much_smoothing_makes_a_straight_line_and_little_data_too():
    x, hits, weights = draw(300)
    stiff = SplineCalibration(smoothing=1e9, prior_weight=1e-6).fit_line(x, hits, weights)
    platt = PlattScaling().fit_line(x, hits, weights)
    assert stiff.log_odds(x) == pytest.approx(platt.log_odds(x), abs=1e-4)
    bends = np.diff(SplineCalibration().fit_line(x, hits, weights).log_odds(np.linspace(-4, 4, 9)), 2)
    assert np.abs(bends).max() < 0.1


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@each("score, events", [(0.3, 90), (0.9, 75), (0.5, 105), (0.0, 3), (1.0, 140)])
def test_equal_scores_treat_both_classes_alike_and_keep_the_order(score, events):
    probs, labels = np.tile([1 - score, score], (150, 1)), (np.arange(150) < events).astype(int)
    others = np.column_stack([1 - np.linspace(0.01, 0.99, 9), np.linspace(0.01, 0.99, 9)])
    one = SplineCalibration().fit(probs, labels, classes=[0, 1])
    swapped = SplineCalibration().fit(probs[:, ::-1], 1 - labels, classes=[0, 1])
    mapped = one.predict_proba(others)
    assert swapped.predict_proba(others[:, ::-1])[:, ::-1] == pytest.approx(mapped, abs=1e-7)
    assert (np.diff(mapped[:, 1]) >= 0).all()
    assert one.predict_proba(probs[:1])[0, 1] == pytest.approx(events / 150, abs=0.015)


def test_the_spline_finds_a_curve():
    x, hits, weights = draw(30_000, truth=lambda x: x + np.sin(x))
    fitted = SplineCalibration().fit_line(x, hits, weights)
    line = np.linspace(-3.5, 3.5, 41)
    assert fitted.log_odds(line) == pytest.approx(line + np.sin(line), abs=0.25)
    assert log_loss(fitted.log_odds(x), hits, weights) < log_loss(
        PlattScaling().fit_line(x, hits, weights).log_odds(x), hits, weights
    )


@each("truth", TRUTHS)
def test_a_monotone_spline_never_falls(truth):
    x, hits, weights = draw(2000, truth=truth)
    line = np.linspace(-50, 50, 2001)
    assert (np.diff(SplineCalibration().fit_line(x, hits, weights).log_odds(line)) >= -1e-12).all()
    free = SplineCalibration(monotone=False).fit_line(x, hits, weights)
    assert truth is TRUTHS["over-confident"] or (np.diff(free.log_odds(line)) < 0).any()


def test_a_monotone_spline_of_reversed_scores_is_the_base_rate():
    x, hits, weights = draw(2000, truth=TRUTHS["reversed"])
    fitted = SplineCalibration(prior_weight=1e-6).fit_line(x, hits, weights)
    assert expit(fitted.log_odds(np.array([-3.0, 3.0]))) == pytest.approx(np.average(hits, weights=weights), abs=1e-6)


@each(
    "settings, message",
    [
        ({"n_knots": 0}, "n_knots must be a whole number"),
        ({"prior_weight": 0.0}, "prior_weight must be a positive number"),
        ({"smoothing": "cv"}, 'smoothing must be "reml"'),
        ({"smoothing": -1.0}, 'smoothing must be "reml"'),
        ({"smoothing": np.inf}, 'smoothing must be "reml" or a positive, finite number'),
    ],
)
def test_impossible_settings_of_the_spline_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        SplineCalibration(**settings).fit([0.2, 0.8], [0, 1])
