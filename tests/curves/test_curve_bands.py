"""Bands around curves: exact by construction, and in simulations that could show otherwise."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.curves import isotonic_curve, kernel_curve
from calibrant.curves.bands import least_resamples, pointwise_limits, simultaneous_limits, wilson
from naming import each
from simulate import calibrated

REPETITIONS = 120
LEVEL = 0.9
BOUND = 4 * (LEVEL * (1 - LEVEL) / REPETITIONS) ** 0.5
"""Four standard errors of a simulated rate at the level: chance exceeds it once in 16 000 times.

With 19 redraws, or 39, the bands hold the level exactly, so more of them would not show more; nor would more rows.
"""


def draws(n, repetitions=REPETITIONS, seed=0):
    """The same uniform predictions with fresh labels drawn from them, again and again."""
    rng = np.random.default_rng(seed)
    probs = np.sort(rng.random(n))
    for _ in range(repetitions):
        yield Predictions._trusted(
            np.column_stack([1 - probs, probs]), (rng.random(n) < probs).astype(np.int64), np.ones(n), (0, 1)
        )


def inside(curve):
    return (curve.low <= curve.observed) & (curve.observed <= curve.high)


@pytest.fixture(scope="module")
def pointwise():
    curves = (isotonic_curve(p, level=LEVEL, n_resamples=19, rng=seed) for seed, p in enumerate(draws(n=300, seed=1)))
    return np.array([inside(curve) for curve in curves])


class TestConsistencyBand:
    def test_a_pointwise_band_holds_the_calibrated_curve_at_the_nominal_rate_at_every_point(self, pointwise):
        rate = pointwise.mean(axis=0)
        assert rate.min() > LEVEL - BOUND
        # Away from the ends, where the curve hardly ever takes the same value twice, the rate is not above it either.
        assert rate[75:225].mean() < LEVEL + 0.03

    def test_a_pointwise_band_does_not_hold_the_whole_curve_at_that_rate(self, pointwise):
        assert pointwise.all(axis=1).mean() < 0.5

    @pytest.mark.parametrize("n_resamples", [20, 39])
    def test_a_simultaneous_band_holds_the_whole_curve_at_the_nominal_rate(self, n_resamples):
        whole = [
            inside(isotonic_curve(p, level=LEVEL, n_resamples=n_resamples, simultaneous=True, rng=seed)).all()
            for seed, p in enumerate(draws(n=100, seed=2))
        ]
        least = np.ceil(LEVEL * (n_resamples // 2 + 1)) / (n_resamples // 2 + 1)
        assert least - BOUND < np.mean(whole) < least + BOUND

    def test_both_hold_the_curve_of_tied_and_weighted_rows(self):
        rng = np.random.default_rng(3)
        probs, weights = rng.integers(1, 20, 200) / 20, rng.integers(1, 4, 200)
        whole, points = [], []
        for seed in range(REPETITIONS):
            p = Predictions(probs, (rng.random(200) < probs).astype(int), weights)
            settings = {"level": LEVEL, "n_resamples": 19, "rng": seed}
            points.append(inside(isotonic_curve(p, **settings)))
            whole.append(inside(isotonic_curve(p, simultaneous=True, **settings)).all())
        assert np.mean(points, axis=0).min() > LEVEL - BOUND
        assert np.mean(whole) > LEVEL - BOUND

    def test_a_thinned_band_holds_the_whole_curve_too(self, monkeypatch):
        monkeypatch.setattr("calibrant.curves.isotonic.MAX_POINTS", 20)
        whole = [
            inside(isotonic_curve(p, level=LEVEL, n_resamples=19, simultaneous=True, rng=seed)).all()
            for seed, p in enumerate(draws(n=100, seed=4))
        ]
        assert np.mean(whole) > LEVEL - BOUND

    def test_an_overconfident_model_leaves_both_bands(self):
        p = calibrated(n=2000, k=2, seed=5)
        odds = (p.positive / (1 - p.positive)) ** 2
        sharp = Predictions(odds / (1 + odds), p.labels)
        for simultaneous in (False, True):
            curve = isotonic_curve(sharp, n_resamples=199, simultaneous=simultaneous, rng=0)
            assert (curve.observed > curve.high)[curve.predicted < 0.2].any()
            assert (curve.observed < curve.low)[curve.predicted > 0.8].any()

    def test_a_simultaneous_band_is_wider_and_holds_the_diagonal(self):
        p = next(draws(n=500))
        narrow, wide = (isotonic_curve(p, n_resamples=399, simultaneous=s, rng=0) for s in (False, True))
        assert np.all((wide.low <= wide.predicted) & (wide.predicted <= wide.high))
        middle = slice(50, 450)
        assert np.all((wide.high - wide.low)[middle] > (narrow.high - narrow.low)[middle])


class TestConfidenceBand:
    def test_it_lies_around_the_curve_and_holds_the_truth_away_from_the_ends(self):
        rng = np.random.default_rng(6)
        probs = np.linspace(0.01, 0.99, 500)
        truth = 0.25 + probs / 2
        hits = []
        for seed in range(100):
            p = Predictions(probs, (rng.random(500) < truth).astype(int))
            curve = isotonic_curve(p, level=LEVEL, n_resamples=39, band="confidence", rng=seed)
            hits.append((curve.low <= truth) & (truth <= curve.high))
        assert curve.band == "confidence"
        assert np.mean(hits, axis=0)[100:400].min() > 0.8
        assert np.mean((probs < curve.low) | (probs > curve.high)) > 0.5

    def test_a_simultaneous_one_holds_the_curve_itself(self):
        curve = isotonic_curve(next(draws(n=300)), n_resamples=99, band="confidence", simultaneous=True, rng=0)
        assert inside(curve).all()


class TestKernelBand:
    def test_it_holds_the_calibrated_curve_at_the_nominal_rate_at_every_grid_point(self):
        settings = {"grid": 11, "bandwidth": 0.1, "level": LEVEL, "n_resamples": 19}
        hits = [inside(kernel_curve(p, rng=seed, **settings)) for seed, p in enumerate(draws(n=200, seed=7))]
        rate = np.mean(hits, axis=0)
        assert rate.min() > LEVEL - BOUND
        assert rate.max() < LEVEL + BOUND


class TestLimits:
    def test_pointwise_limits_are_order_statistics(self):
        values = np.random.default_rng(0).permutation(np.arange(1.0, 1000.0))[:, None]
        assert [limit.tolist() for limit in pointwise_limits(values, 0.95)] == [[25.0], [975.0]]
        assert [limit.tolist() for limit in pointwise_limits(values, 0.9)] == [[50.0], [950.0]]

    @each("level, alone, together", [(0.95, 39, 38), (0.9, 19, 18), (0.5, 3, 2), (0.99, 199, 198)])
    def test_the_fewest_redraws_are_those_whose_extremes_reach_the_level(self, level, alone, together):
        assert least_resamples(level, simultaneous=False) == alone
        assert least_resamples(level, simultaneous=True) == together
        curves = np.sort(np.random.default_rng(1).random((alone, 3)), axis=1)
        low, high = pointwise_limits(curves, level)
        assert (low.tolist(), high.tolist()) == (curves.min(axis=0).tolist(), curves.max(axis=0).tolist())

    def test_a_simultaneous_band_by_hand(self):
        """The first half spans centre - 0.1 to centre + 0.2; of the second half, one curve in three needs more."""
        centre = np.array([0.3, 0.6])
        steps = [[-0.1, -0.1], [0.2, 0.2], [0.0, 0.0], [0.0, 0.1], [-0.15, 0.0], [0.3, -0.05]]
        low, high = simultaneous_limits(centre + np.array(steps), centre, 0.75)
        assert low == pytest.approx(centre - 0.15, abs=1e-12)
        assert high == pytest.approx(centre + 0.3, abs=1e-12)
        low, high = simultaneous_limits(centre + np.array(steps), centre, 0.25)
        assert low == pytest.approx(centre - 0.05, abs=1e-12)
        assert high == pytest.approx(centre + 0.1, abs=1e-12)

    def test_one_sided_curves_take_the_width_of_the_next_point_that_has_both_sides(self):
        centre = np.array([0.1, 0.5])
        curves = np.array([[0.0, 0.4], [0.0, 0.6], [0.0, 0.5]] * 2)
        low, high = simultaneous_limits(curves, centre, 0.75)
        assert (low.tolist(), high.tolist()) == ([0.0, 0.4], [0.6, 0.6])

    def test_wilson_limits_agree_with_scipy(self):
        from scipy.stats import binomtest

        for hits, trials in ((0, 10), (3, 10), (10, 10), (50, 1000)):
            low, high = wilson(np.array([hits / trials]), np.array([float(trials)]), 0.9)
            expected = binomtest(hits, trials).proportion_ci(0.9, method="wilson")
            assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
