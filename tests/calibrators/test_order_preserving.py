"""Order-preserving maps: derivatives, a general solver, nesting, recovery, and the order itself."""

import warnings
from copy import copy

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from calibrant import InputError
from calibrant.calibrators import OrderPreserving, TemperatureScaling, calibrate
from calibrant.calibrators.fitting.segments import (
    Segments,
    SlopesLikelihood,
    rank_knots,
    rank_roughness,
    rank_segments,
    roughness,
    weighted_quantiles,
)
from calibrant.calibrators.multiclass.order_preserving import SMALLEST_SLOPE
from calibrant.exceptions import DataWarning
from calibrant.metrics import NLL
from naming import each
from order_cases import bent, families
from simulate import calibrated, draw_labels


def by_definition(z, knots, slopes, family):
    """The map of one row, gap by gap."""
    order = np.argsort(-z, kind="stable")
    ordered = z[order]
    if family == "oi":
        low, high = np.split(slopes, 2)
        confidence = np.exp(ordered[0])
        of_segment = (1 - confidence) * low + confidence * high
        gaps = of_segment[np.searchsorted(knots, np.arange(1, len(z))) - 1] * -np.diff(ordered)
        result = -np.append(0, np.cumsum(gaps))
    else:

        def line(x):
            return -sum(
                s * (top - max(x, bottom))
                for s, top, bottom in zip(slopes, knots[:-1], knots[1:], strict=True)
                if x < top
            )

        result = np.array([line(x) for x in ordered])
    back = np.empty(len(z))
    back[order] = result
    return back


def penalty(u, family):
    if family == "diag":
        return np.sum(np.diff(u) ** 2)
    low, high = np.split(u, 2)
    return np.sum(np.diff(low) ** 2) + np.sum(np.diff(high) ** 2) + np.sum((low - high) ** 2)


def objective(p, fitted, u):
    """What the documentation says is minimised, for slopes that are multiples of the inverse temperature."""
    logits = np.array([by_definition(z, fitted.knots_, u / fitted.temperature_, fitted.family) for z in p.log_probs])
    losses = np.logaddexp.reduce(logits, axis=1) - logits[np.arange(p.n_samples), p.labels]
    total = p.weights.sum()
    return p.weights @ losses / total + fitted.smoothness / total * penalty(u, fitted.family)


@families
class TestFit:
    @each("k", [2, 3, 12])
    def test_the_map_is_its_definition(self, family, k):
        p = bent(k=k, n=150)
        fitted = OrderPreserving(family, segments=5, smoothness=0.1).fit(p.probs, p.labels)
        logits = np.array([by_definition(z, fitted.knots_, fitted.slopes_, family) for z in p.log_probs])
        expected = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        assert fitted.predict_proba(p.probs) == pytest.approx(expected, abs=1e-12)

    @each("smoothness", [0.01, 10.0])
    @each("k", [2, 3])
    def test_a_general_solver_finds_nothing_better(self, family, smoothness, k):
        p = bent(n=12, k=k)
        fitted = OrderPreserving(family, segments=3, smoothness=smoothness).fit(p.probs, p.labels, p.weights)
        u = fitted.slopes_ * fitted.temperature_
        value = objective(p, fitted, u)
        bounds = [(SMALLEST_SLOPE, None)] * len(u)
        options = {"ftol": 1e-15, "gtol": 1e-9}
        solver = minimize(lambda x: objective(p, fitted, x), np.ones_like(u), bounds=bounds, options=options)
        assert value <= solver.fun + 1e-11
        assert value == pytest.approx(solver.fun, abs=1e-6)

    def test_convergence_is_reported(self, family):
        p = bent()
        fitted = OrderPreserving(family).fit(p.probs, p.labels)
        assert fitted.converged_ is True
        assert fitted.gradient_norm_ < 1e-10
        assert 1 <= fitted.n_iter_ < 20
        with pytest.warns(ConvergenceWarning, match="OrderPreserving stopped after 1 step "):
            stopped = OrderPreserving(family, smoothness=1e-3, max_iter=1).fit(p.probs, p.labels)
        assert stopped.converged_ is False

    @each("k", [2, 3, 10])
    @each("smoothness", [0.0, 1.0, 100.0])
    def test_it_is_never_worse_than_temperature_scaling(self, family, k, smoothness):
        for seed in range(2):
            p = bent(n=100, k=k, seed=seed)
            fitted = OrderPreserving(family, smoothness=smoothness).fit(p.probs, p.labels, p.weights)
            ts = TemperatureScaling().fit(p.probs, p.labels, p.weights)
            assert NLL()(calibrate(fitted, p)) <= NLL()(calibrate(ts, p)) + 1e-10

    @pytest.mark.filterwarnings("ignore:the scores point away:calibrant.DataWarning")
    def test_a_search_that_begins_at_a_fit_of_another_temperature_finds_the_same(self, family):
        # Of one class only: the best temperature of all rows is finite, that of a part has no bound.
        log_probs = np.log(np.random.default_rng(3).dirichlet(np.ones(2), 30))
        labels, part = np.ones(30, dtype=int), np.arange(30) % 10 != 0
        near = OrderPreserving(family).learn(log_probs, labels, np.ones(30))
        again = copy(near).learn_again(log_probs[part], labels[part], np.ones(27))
        alone = OrderPreserving(family).learn(log_probs[part], labels[part], np.ones(27))
        assert not 0.5 < near.temperature_ / alone.temperature_ < 2
        assert again.converged_
        assert again.transform(log_probs) == pytest.approx(alone.transform(log_probs), abs=1e-6)

    def test_a_stiff_map_is_temperature_scaling(self, family):
        p = bent()
        stiff = OrderPreserving(family, smoothness=1e7).fit(p.probs, p.labels)
        ts = TemperatureScaling().fit(p.probs, p.labels)
        assert stiff.predict_proba(p.probs) == pytest.approx(ts.predict_proba(p.probs), abs=1e-6)

    def test_slopes_stay_above_the_smallest(self, family):
        p = bent(n=30, k=6)
        fitted = OrderPreserving(family, segments=20, smoothness=0.0).fit(p.probs, p.labels)
        assert fitted.slopes_.min() >= SMALLEST_SLOPE / fitted.temperature_ * (1 - 1e-12)

    def test_perfectly_right_predictions_have_a_finite_map(self, family):
        p = calibrated(n=50)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fitted = OrderPreserving(family).fit(p.probs, p.probs.argmax(axis=1))
        assert np.isfinite(fitted.slopes_).all()
        # By the rule of succession, as for temperature scaling.
        assert fitted.predict_proba(p.probs).max(axis=1).mean() == pytest.approx(51 / 52, abs=1e-9)

    @each(
        "setting", [{"segments": 0}, {"segments": 2.5}, {"smoothness": -1.0}, {"smoothness": np.nan}, {"max_iter": 0}]
    )
    def test_bad_settings_are_refused(self, family, setting):
        with pytest.raises(InputError, match=next(iter(setting))):
            OrderPreserving(family, **setting).fit([0.2, 0.7], [0, 1])


class TestRecovery:
    def test_a_bent_line_is_found(self):
        rng = np.random.default_rng(0)
        z = np.log(rng.dirichlet(np.full(4, 0.4), 40_000) + 1e-9)
        z -= logsumexp(z, axis=1, keepdims=True)
        true_logits = np.where(z > -1, 0.3 * z, -0.3 + 1.2 * (z + 1))
        truth = np.exp(true_logits - logsumexp(true_logits, axis=1, keepdims=True))
        labels = draw_labels(truth, rng)
        fitted = OrderPreserving(segments=12, smoothness=0.1, scores="logits").fit(z, labels)
        found = fitted.predict_proba(z)
        ts = TemperatureScaling(scores="logits").fit(z, labels).predict_proba(z)
        assert np.abs(found - truth).mean() < 0.005
        assert np.abs(ts - truth).mean() > 0.015

    def test_weights_of_gaps_are_found(self):
        rng = np.random.default_rng(0)
        z = np.log(rng.dirichlet(np.full(4, 0.7), 100_000) + 1e-6)
        z -= logsumexp(z, axis=1, keepdims=True)
        slopes = np.array([0.6, 0.9, 0.5, 1.4, 0.9, 0.5])
        logits = rank_segments(z, rank_knots(4, 3)).logits(slopes.reshape(2, 3))
        truth = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
        labels = draw_labels(truth, rng)
        fitted = OrderPreserving("oi", smoothness=0.0, scores="logits").fit(z, labels)
        assert fitted.slopes_ == pytest.approx(slopes, abs=0.15)
        assert np.abs(fitted.predict_proba(z) - truth).max() < 0.03


class TestDiagonal:
    def test_one_segment_is_temperature_scaling(self):
        p = bent()
        one = OrderPreserving(segments=1).fit(p.probs, p.labels)
        ts = TemperatureScaling().fit(p.probs, p.labels)
        assert one.predict_proba(p.probs) == pytest.approx(ts.predict_proba(p.probs), abs=1e-9)

    def test_knots_share_the_curvature_evenly(self):
        p = bent(n=2000)
        fitted = OrderPreserving(segments=5).fit(p.probs, p.labels)
        tempered = TemperatureScaling().fit(p.probs, p.labels).predict_proba(p.probs)
        curvature = (tempered * (1 - tempered)).ravel()
        assert (fitted.knots_[0], fitted.knots_[-1]) == (0, -np.inf)
        shares = np.histogram(p.log_probs.ravel(), fitted.knots_[::-1], weights=curvature / curvature.sum())[0]
        assert shares == pytest.approx(np.full(5, 0.2), abs=0.01)

    def test_few_distinct_numbers_make_few_segments(self):
        probs = np.repeat([[0.7, 0.3], [0.3, 0.7]], 20, axis=0)
        fitted = OrderPreserving().fit(probs, [0] * 15 + [1] * 25)
        assert len(fitted.knots_) <= 4
        assert fitted.knots_[1:-1] == pytest.approx(np.log([0.7, 0.3]))

    def test_certain_predictions_have_no_knots(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fitted = OrderPreserving().fit(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0])
        assert fitted.knots_.tolist() == [0, -np.inf]


@each("seed", range(3))
def test_quantiles_are_those_of_the_copied_values(seed):
    rng = np.random.default_rng(seed)
    values = np.round(-(rng.exponential(3.0, 3000) ** 2), 2)
    masses, shares = rng.integers(1, 9, 3000), np.arange(1, 16) / 16
    copies = np.sort(np.repeat(values, masses))
    expected = copies[np.ceil(shares * len(copies)).astype(int) - 1]
    assert weighted_quantiles(values, masses.astype(float), shares).tolist() == np.unique(expected).tolist()


class TestRanks:
    @each("k", [2, 3, 9, 100, 1000])
    @each("segments", [1, 2, 8, 2000])
    def test_segments_reach_from_the_first_to_the_last_rank(self, k, segments):
        ranks = rank_knots(k, segments)
        assert len(ranks) == min(segments, k - 1) + 1
        assert (ranks[0], ranks[-1]) == (0, k - 1)
        assert np.diff(ranks).min() >= 1

    def test_parameters_are_counted(self):
        assert OrderPreserving("oi", segments=3).n_parameters == "2 min(3, K - 1)"
        assert OrderPreserving("diag", segments=3).n_parameters == "3"

    def test_another_family_is_refused(self):
        with pytest.raises(InputError, match='family must be "diag" or "oi", but is \'op\''):
            OrderPreserving("op").fit([0.2, 0.7], [0, 1])


@families
def test_derivatives_agree_with_differences(family):
    p = bent(n=40, k=5)
    if family == "oi":
        segments, rough = rank_segments(p.log_probs, rank_knots(5, 3)), rank_roughness(3)
    else:
        knots = np.array([0.0, -0.4, -1.5, -np.inf])
        segments, rough = Segments(p.log_probs, knots[:, None, None], np.ones((1, 1))), roughness(3)
    function = SlopesLikelihood(segments, p.labels, p.weights, unit=0.7, penalty=0.3 * rough)
    x = np.random.default_rng(0).uniform(0.3, 2.0, len(rough))
    _, gradient, hessian = function(x)
    steps = 1e-5 * np.eye(len(x))
    assert gradient == pytest.approx([(function(x + h)[0] - function(x - h)[0]) / 2e-5 for h in steps], abs=1e-9)
    columns = [(function(x + h)[1] - function(x - h)[1]) / 2e-5 for h in steps]
    assert hessian == pytest.approx(np.array(columns), abs=1e-9)
