"""Parametric maps and histograms of two classes; degenerate data for all maps of two classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from calibrant import DataWarning, InputError
from calibrant._core import logistic
from calibrant.binning import EqualMass, EqualWidth
from calibrant.calibrators import (
    CALIBRATORS,
    BetaCalibration,
    HistogramBinning,
    PlattScaling,
    QuadraticScaling,
    SplineCalibration,
    TemperatureScaling,
)
from calibrant.counts import LaplaceCorrection, MEstimate
from logistic_cases import TRUTHS, draw, log_loss
from naming import each

ROWS = [
    *("platt", "quadratic", "beta", "histogram", "bbq", "isotonic"),
    *("centred-isotonic", "rocch", "irm", "irova", "venn-abers", "spline"),
]
PARAMETRIC = {
    "platt": PlattScaling(),
    "quadratic": QuadraticScaling(monotone=False),
    "monotone": QuadraticScaling(monotone=True),
    "abm": BetaCalibration("abm"),
    "am": BetaCalibration("am"),
    "ab": BetaCalibration("ab"),
    "spline": SplineCalibration(),
}


def solve(loss, start, **constraints):
    """The best of a general solver's runs: it is the oracle, so it may take its time."""
    found = minimize(loss, start, method="SLSQP", options={"maxiter": 2000, "ftol": 1e-15}, **constraints)
    return minimize(loss, found.x, method="SLSQP", options={"maxiter": 2000, "ftol": 1e-16}, **constraints)


@each("truth", TRUTHS)
@each("parameters", ["abm", "am", "ab"])
def test_beta_equals_a_general_solver_with_bounds(parameters, truth):
    x, hits, weights = draw(truth=truth)
    s = expit(x)

    def log_odds(theta):
        a, b, c = {"abm": theta, "am": theta[[0, 0, 1]], "ab": [*theta, np.log(2) * (theta[0] - theta[1])]}[parameters]
        return c + a * np.log(s) - b * np.log1p(-s)

    start = np.ones(len(parameters))
    bounds = [(0, None)] * 2 if parameters == "ab" else [*[(0, None)] * (len(parameters) - 1), (None, None)]
    oracle = solve(lambda theta: log_loss(log_odds(theta), hits, weights), start, bounds=bounds)
    fitted = BetaCalibration(parameters).fit_line(x, hits, weights)
    assert min(fitted.a_, fitted.b_) >= 0
    assert log_loss(fitted.log_odds(x), hits, weights) == pytest.approx(oracle.fun, abs=1e-9)
    assert fitted.log_odds(x) == pytest.approx(log_odds(oracle.x), abs=2e-3)
    assert fitted.converged_
    assert fitted.gradient_norm_ < 1e-7


@each("truth", TRUTHS)
@each("monotone", [False, True])
def test_quadratic_scaling_equals_a_general_solver(monotone, truth):
    x, hits, weights = draw(truth=truth)
    slopes = [{"type": "ineq", "fun": lambda t, e=e: t[1] + 2 * t[2] * e} for e in (x.min(), x.max())]
    oracle = solve(
        lambda t: log_loss(t[0] + t[1] * x + t[2] * x**2, hits, weights),
        np.array([0.0, 1.0, 0.0]),
        constraints=slopes if monotone else (),
    )
    fitted = QuadraticScaling(monotone=monotone).fit_line(x, hits, weights)
    assert log_loss(fitted.log_odds(x), hits, weights) == pytest.approx(oracle.fun, abs=1e-9)
    assert fitted.coef_ == pytest.approx(oracle.x, abs=2e-3)
    line = fitted.log_odds(np.linspace(-40, 40, 801))
    assert not monotone or (np.diff(line) >= -1e-12).all()


@each("smooth", [False, True])
@each("scale", [1.0, 1e6, 1e-6])
def test_platt_equals_a_general_solver_on_any_scale(smooth, scale):
    x, hits, weights = draw(truth=lambda x: 1 - 0.7 * x)
    targets = hits.astype(float)
    if smooth:
        ones, zeros = weights[hits].sum(), weights[~hits].sum()
        targets = np.where(hits, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    oracle = solve(lambda t: log_loss(t[0] + t[1] * x, targets, weights), np.zeros(2))
    fitted = PlattScaling(smooth, scores="raw").fit(x * scale, hits, weights)
    assert [fitted.intercept_, fitted.slope_ * scale] == pytest.approx(oracle.x, abs=1e-5)
    assert fitted.gradient_norm_ < 1e-7


def test_parameters_are_recovered():
    x, hits, weights = draw(60_000, truth=lambda x: -0.4 + 0.7 * x + 0.1 * x**2)
    free = QuadraticScaling(monotone=False).fit_line(x, hits, weights)
    assert free.coef_ == pytest.approx([-0.4, 0.7, 0.1], abs=0.05)
    x, hits, weights = draw(60_000, truth=lambda x: 0.5 + 1.7 * x)
    platt = PlattScaling().fit_line(x, hits, weights)
    assert [platt.intercept_, platt.slope_] == pytest.approx([0.5, 1.7], abs=0.06)
    x, hits, weights = draw(60_000, truth=lambda x: 0.2 - 0.5 * np.logaddexp(0, -x) + 2.0 * np.logaddexp(0, x))
    beta = BetaCalibration().fit_line(x, hits, weights)
    assert [beta.a_, beta.b_, beta.c_] == pytest.approx([0.5, 2.0, 0.2], abs=0.15)


def test_larger_families_are_never_worse_on_the_fitted_rows():
    for seed in range(3):
        x, hits, weights = draw(seed=seed)
        scores = [x]
        ts = TemperatureScaling(scores="logits").fit(x, hits.astype(int), weights)
        scores += [x / ts.temperature_, PlattScaling().fit_line(x, hits, weights).log_odds(x)]
        scores += [QuadraticScaling().fit_line(x, hits, weights).log_odds(x)]
        losses = [log_loss(s, hits, weights) for s in scores]
        assert (np.diff(losses) <= 1e-10).all()
        narrow, wide = (BetaCalibration(f).fit_line(x, hits, weights).log_odds(x) for f in ("am", "abm"))
        assert log_loss(wide, hits, weights) <= log_loss(narrow, hits, weights) + 1e-10


def test_raw_scores_whose_slope_would_overflow_are_refused_by_platt():
    scores = 1e-320 * np.arange(1.0, 9.0)
    with pytest.raises(InputError, match="raw scores must be large enough for a finite slope, but none exceeds"):
        PlattScaling(scores="raw").fit(scores, [0, 1, 0, 0, 1, 0, 1, 1])


def test_infinite_raw_scores_are_refused_by_platt():
    with pytest.raises(InputError, match="scores must be finite for PlattScaling, but row 1 is infinite"):
        PlattScaling(scores="raw").fit([0.0, np.inf], [0, 1])


@each("name", ["quadratic", "beta", "histogram", "bbq", "spline"])
def test_methods_that_need_a_scale_refuse_raw_scores(name):
    with pytest.raises(InputError, match='needs scores="probs" or scores="logits"'):
        CALIBRATORS[name](scores="raw").fit([-3.0, 4.0], [0, 1])


def test_beta_counts_its_free_parameters():
    assert [BetaCalibration(free).n_parameters for free in ("abm", "am", "ab")] == ["3", "2", "2"]


def test_unknown_parameters_of_beta_are_refused():
    with pytest.raises(InputError, match='parameters must be "abm", "am" or "ab"'):
        BetaCalibration("abc").fit([0.2, 0.8], [0, 1])


def test_constant_scores_keep_their_slope_and_take_the_base_rate():
    labels = [0, 1, 1, 0, 0, 0, 0, 0]
    for name, calibrator in PARAMETRIC.items():
        if name == "ab":  # Both its features move with the score 1/2 fixed.
            continue
        probs = calibrator.fit([0.6] * 8, labels).predict_proba([0.6])
        assert probs[0, 1] == pytest.approx(0.25, abs=0.13 if name == "spline" else 1e-6), name
    assert PlattScaling().fit([0.6] * 8, labels).slope_ == pytest.approx(1.0)
    assert PlattScaling(scores="raw").fit([3.0] * 8, labels).slope_ == pytest.approx(0.0)


DEGENERATE = {
    "one row": ([0.3], [1]),
    "one class": ([0.3, 0.5, 0.9], [1, 1, 1]),
    "the other class": ([0.3, 0.5, 0.9], [0, 0, 0]),
    "constant": ([0.3] * 6, [0, 1, 1, 0, 0, 0]),
    "exact 0 and 1": ([0, 0, 1, 1, 0.5, 0.2], [0, 1, 1, 0, 1, 0]),
    "decisions": ([0, 0, 1, 1, 1, 0], [0, 1, 1, 0, 1, 0]),
    "right decisions": ([0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 1, 0]),
    "separable": ([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [0, 0, 0, 1, 1, 1]),
    "reversed": ([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [1, 1, 1, 0, 0, 0]),
    "extreme": ([1e-300, 1e-200, 1 - 1e-16, 0.5], [0, 1, 1, 0]),
}


@pytest.mark.filterwarnings("ignore::calibrant.DataWarning")
@each("name", ROWS)
@each("probs, labels", DEGENERATE)
def test_degenerate_data_has_finite_results(name, probs, labels):
    with np.errstate(all="raise"):
        fitted = CALIBRATORS[name]().fit(probs, labels, classes=[0, 1])
        result = fitted.predict_proba([*probs, 0.0, 1.0, 0.5, 1e-12])
    assert np.isfinite(result).all()
    assert result.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert getattr(fitted, "converged_", True)


@each("name", ROWS)
def test_classes_without_a_row_are_kept(name):
    probs = np.array([[1.0, 0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4, 0], [0.2, 0.2, 0.2, 0.2, 0.2]])
    with pytest.warns(DataWarning):
        fitted = CALIBRATORS[name]().fit(probs, [4, 0, 0], classes=list("abcde"))
    result = fitted.predict_proba(np.vstack([probs, np.eye(5)]))
    assert result.shape == (8, 5)
    assert np.isfinite(result).all()
    assert result.sum(axis=1) == pytest.approx(1, abs=1e-12)


@each("name", ROWS)
@each("k", [2, 3])
def test_single_precision_gives_the_same_answer(name, k):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(k), 300)
    labels = (rng.random((300, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    double = CALIBRATORS[name]().fit(probs, labels).predict_proba(probs)
    single = CALIBRATORS[name]().fit(probs.astype(np.float32), labels).predict_proba(probs.astype(np.float32))
    assert single == pytest.approx(double, abs=1e-5)


def test_an_optimiser_that_stops_early_says_so(monkeypatch):
    monkeypatch.setattr(logistic, "MAX_ITERATIONS", 1)
    x, hits, weights = draw()
    with pytest.warns(ConvergenceWarning, match="PlattScaling did not converge"):
        fitted = PlattScaling().fit_line(x * 5, hits, weights)
    assert not fitted.converged_


def test_histograms_predict_the_share_of_their_bin():
    fitted = HistogramBinning(EqualWidth(4)).fit([0.1, 0.25, 0.3, 0.9], [0, 1, 0, 1])
    assert fitted.predict_proba([0.0, 0.25, 0.26, 0.6, 1.0])[:, 1] == pytest.approx([0.5, 0.5, 0, 0.625, 1])
    masses = HistogramBinning(EqualMass(2)).fit([0.1, 0.2, 0.3, 0.9], [0, 1, 1, 1])
    assert masses.edges_ == pytest.approx([0, 0.25, 1])
    assert masses.predict_proba([0.24, 0.26])[:, 1] == pytest.approx([0.5, 1])


def test_smoothing_reaches_the_bins_even_empty_ones():
    laplace = HistogramBinning(EqualWidth(4), LaplaceCorrection()).fit([0.1, 0.25, 0.3, 0.9], [0, 1, 0, 1])
    assert laplace.probabilities_ == pytest.approx([2 / 4, 1 / 3, 1 / 2, 2 / 3])
    prior = HistogramBinning(EqualWidth(4), MEstimate(4, prior=[0.9, 0.1])).fit([0.1, 0.9], [0, 1])
    assert prior.probabilities_ == pytest.approx([0.4 / 5, 0.1, 0.1, 1.4 / 5])
    nothing = HistogramBinning(EqualWidth(4), MEstimate(0)).fit([0.1, 0.9], [0, 1])
    assert nothing.probabilities_ == pytest.approx([0, 0.375, 0.625, 1])


def test_bins_must_be_a_binning():
    with pytest.raises(TypeError, match="bins must be a binning"):
        HistogramBinning(bins=15).fit([0.1, 0.9], [0, 1])


def test_a_parabola_that_few_rows_bend_does_not_turn_beyond_them():
    # All extreme scores but one are right; that one bends the free parabola so that higher scores mean class 0.
    x = np.r_[np.linspace(-4.0, 4.0, 81), 6.0]
    hits = np.r_[np.linspace(-4.0, 4.0, 81) > 0.05, False]
    hits[[30, 35, 45, 50]] = ~hits[[30, 35, 45, 50]]
    free, safe = (QuadraticScaling(monotone=m).fit_line(x, hits, np.ones(82)) for m in (False, True))
    assert free.log_odds(np.array([20.0]))[0] < -10
    assert safe.log_odds(np.array([20.0]))[0] > 0
