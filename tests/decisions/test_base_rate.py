"""Base rates: known, unknown, and as a calibrator."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.stats import chi2

from calibrant import InputError, Predictions
from calibrant.calibrators import Compose, PriorShift, TemperatureScaling, load, save
from calibrant.decisions import estimate_base_rate, estimate_base_rates, move_base_rate
from calibrant.metrics import NLL
from naming import each


def by_expectation(p, old, steps=100_000):
    """Return the base rate by expectation and maximisation, as it was published."""
    rate = old
    for _ in range(steps):
        event, other = p * rate / old, (1 - p) * (1 - rate) / (1 - old)
        new = float(np.mean(event / (event + other)))
        if abs(new - rate) < 1e-16:
            break
        rate = new
    return rate


def shifted(rate, n=400, seed=3):
    """Rows of another base rate, with probabilities that are right at one half."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < rate
    s = rng.standard_normal(n) + 1.5 * y
    return 1 / (1 + np.exp(-(1.5 * s - 1.125))), y


class TestKnown:
    @each("p, old, new, expected", [(0.5, 0.5, 0.02, 0.02), (0.8, 0.3, 0.02, 0.16), (0.1, 0.2, 0.5, 0.307692308)])
    def test_reference_values(self, p, old, new, expected):
        shift = PriorShift(new, trained_rate=old).between([0, 1])
        assert shift.predict_proba([p])[0, 1] == pytest.approx(expected, abs=1e-9)

    def test_several_classes_by_bayes_rule(self):
        old, new, p = [0.5, 0.3, 0.2], [0.1, 0.1, 0.8], np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
        odds = p / old * new
        found = PriorShift(new, trained_rate=old).between(["a", "b", "c"])
        assert found.predict_proba(p) == pytest.approx(odds / odds.sum(axis=1, keepdims=True), abs=1e-12)

    def test_the_old_rate_is_that_of_the_labels(self):
        p, y = shifted(0.3)
        fitted = PriorShift(0.02).fit(p, y.astype(int))
        assert fitted.trained_rate_[1] == pytest.approx(y.mean())
        weighted = PriorShift(0.02).fit(p, y.astype(int), np.where(y, 2.0, 1.0))
        assert weighted.trained_rate_[1] == pytest.approx(2 * y.sum() / (2 * y.sum() + (~y).sum()))

    def test_there_and_back_again(self):
        p, _ = shifted(0.3)
        there = PriorShift(0.02, 0.4).between([0, 1]).predict_proba(p)
        back = PriorShift(0.4, 0.02).between([0, 1]).predict_proba(there)
        assert back[:, 1] == pytest.approx(p, abs=1e-12)

    def test_it_is_right_about_new_rows(self):
        """Of rows with another base rate, corrected probabilities have the smaller log loss, and the right mean."""
        p, y = shifted(0.05, n=20_000)
        after = PriorShift(0.05, 0.5).between([0, 1]).predict_proba(p)
        assert NLL()(Predictions(after, y.astype(int))) < NLL()(Predictions(p, y.astype(int))) - 0.1
        assert after[:, 1].mean() == pytest.approx(y.mean(), abs=3 * np.sqrt(0.05 / 20_000))

    def test_it_can_be_saved_and_composed(self, tmp_path):
        p, y = shifted(0.3)
        shift = PriorShift([0.9, 0.1]).fit(p, y.astype(int))
        save(shift, tmp_path / "shift.json")
        assert np.array_equal(load(tmp_path / "shift.json").predict_proba(p), shift.predict_proba(p))
        both = Compose([TemperatureScaling(), PriorShift(0.1)]).fit(p, y.astype(int))
        save(both, tmp_path / "both.json")
        assert load(tmp_path / "both.json").predict_proba(p) == pytest.approx(both.predict_proba(p))

    @each(
        "rate, words",
        [
            (0.0, "above 0 and below 1"),
            (1.5, "above 0 and below 1"),
            (float("nan"), "above 0 and below 1"),
            ([0.2, 0.2, 0.6], "one share, or 2 shares"),
            ([0.5, 0.6], "sum to 1"),
            ("much", "must be one share"),
        ],
    )
    def test_rates_without_meaning_are_refused(self, rate, words):
        with pytest.raises(InputError, match=words):
            PriorShift(rate).fit([0.2, 0.9], [0, 1])

    def test_a_class_without_rows_is_refused(self):
        with pytest.raises(InputError, match="trained_rate must be above 0"):
            PriorShift(0.1).fit([0.2, 0.9], [1, 1])
        with pytest.raises(InputError, match="rows of every class"):
            move_base_rate(Predictions([0.2, 0.9], [1, 1]), 0.1)
        with pytest.raises(InputError, match="trained_rate must be given"):
            PriorShift(0.1).between([0, 1])


class TestMoved:
    def test_calibrated_predictions_stay_calibrated(self):
        """Every class as it is, in other shares: the corrected probabilities have the frequencies of the new rows."""
        rng = np.random.default_rng(0)
        p = rng.beta(2, 2, 200_000)
        moved = move_base_rate(Predictions(p, (rng.random(200_000) < p).astype(int)), 0.1)
        assert np.average(moved.labels, weights=moved.weights) == pytest.approx(0.1, abs=1e-12)
        for low in (0.0, 0.05, 0.1, 0.2, 0.4):
            own = (moved.positive >= low) & (moved.positive < low + 0.05)
            w = moved.weights[own]
            error = np.sqrt(np.sum(w**2) / w.sum() ** 2 / 4)
            seen = np.average(moved.labels[own], weights=w)
            assert seen == pytest.approx(np.average(moved.positive[own], weights=w), abs=4 * error)

    def test_several_classes(self):
        p = Predictions([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]], [0, 2, 1])
        moved = move_base_rate(p, [0.1, 0.1, 0.8])
        assert np.bincount(moved.labels, moved.weights) / moved.weights.sum() == pytest.approx([0.1, 0.1, 0.8])


class TestUnknown:
    def test_reference_values(self):
        p = np.array([0.9, 0.8, 0.6, 0.3, 0.2, 0.1, 0.05, 0.4])
        assert by_expectation(p, 0.5, steps=1) == pytest.approx(0.41875)
        assert by_expectation(p, 0.5, steps=2) == pytest.approx(0.368972366, abs=1e-9)
        assert estimate_base_rate(p, 0.5).value == pytest.approx(0.285064155, abs=1e-9)

    def test_the_reference_interval(self):
        p, y = shifted(0.1)
        assert y.mean() == 0.0875
        found = estimate_base_rate(p, 0.5)
        assert found.value == pytest.approx(0.111237777, abs=1e-9)
        assert (found.low, found.high) == pytest.approx((0.054682556, 0.177840446), abs=1e-9)

    @each("seed", range(3))
    def test_it_is_the_limit_of_expectation_and_maximisation(self, seed):
        p, _ = shifted(0.2, n=60, seed=seed)
        assert estimate_base_rate(p, 0.3).value == pytest.approx(by_expectation(p, 0.3), abs=1e-7)

    def test_no_other_rate_is_more_likely(self):
        p, _ = shifted(0.1)
        grid = np.linspace(0, 1, 10_001)[1:-1]
        heights = np.log(np.outer(grid, p / 0.5) + np.outer(1 - grid, (1 - p) / 0.5)).sum(axis=1)
        found = estimate_base_rate(p, 0.5)
        assert found.value == pytest.approx(grid[heights.argmax()], abs=2e-4)
        kept = grid[2 * (heights.max() - heights) <= 3.841459]
        assert (found.low, found.high) == pytest.approx((kept[0], kept[-1]), abs=2e-4)

    def test_ends_are_legitimate(self):
        low, high = estimate_base_rate([0.1] * 50, 0.5), estimate_base_rate([0.9] * 50, 0.5)
        assert (low.value, low.low) == (0.0, 0.0)
        assert (high.value, high.high) == (1.0, 1.0)
        assert 0 < low.high < 0.3
        flat = estimate_base_rate([0.5] * 50, 0.5)  # Nothing can be told.
        assert (flat.low, flat.high) == (0.0, 1.0)
        certain = estimate_base_rate([0.0] * 10 + [1.0] * 10, 0.5)
        assert certain.value == pytest.approx(0.5)
        assert 0.25 < certain.low < certain.high < 0.75

    def test_weights_are_relative(self):
        p, y = shifted(0.1)
        plain, seven = estimate_base_rate(p, 0.5), estimate_base_rate(p, 0.5, np.full(400, 7.0))
        assert (seven.value, seven.low) == pytest.approx((plain.value, plain.low), abs=1e-12)
        w = np.random.default_rng(0).integers(0, 3, 400).astype(float)
        assert estimate_base_rate(p, 0.5, w).value == pytest.approx(
            estimate_base_rate(np.repeat(p, w.astype(int)), 0.5).value, abs=1e-9
        )
        assert estimate_base_rate(Predictions(p, y.astype(int), w), 0.5).low == pytest.approx(
            estimate_base_rate(p, 0.5, w).low, abs=1e-12
        )

    def test_limits_cover_calibrated_rows_and_only_these(self):
        runs, hits, doubled = 120, 0, 0
        for seed in range(runs):
            p, _ = shifted(0.2, n=300, seed=seed)
            found = estimate_base_rate(p, 0.5)
            hits += found.low <= 0.2 <= found.high
            wrong = estimate_base_rate(p**2 / (p**2 + (1 - p) ** 2), 0.5)
            doubled += wrong.low <= 0.2 <= wrong.high
        assert abs(hits / runs - 0.95) < 3 * np.sqrt(0.05 * 0.95 / runs)
        assert doubled / runs < 0.5

    def test_weighted_limits_cover(self):
        runs, hits = 100, 0
        for seed in range(runs):
            p, _ = shifted(0.2, n=300, seed=seed)
            w = np.random.default_rng(10_000 + seed).uniform(0.1, 3, 300) ** 2
            found = estimate_base_rate(p, 0.5, w)
            hits += found.low <= 0.2 <= found.high
        assert abs(hits / runs - 0.95) < 3 * np.sqrt(0.05 * 0.95 / runs)

    def test_more_classes_are_refused(self):
        with pytest.raises(InputError, match=r"two classes, but there are 3\. Use estimate_base_rates"):
            estimate_base_rate(np.full((4, 3), 1 / 3), 0.5)


def classes_shifted(rates, n=400, seed=0, distance=1.5):
    """Rows of several classes in other shares, with probabilities that are right if all are equally frequent."""
    rng = np.random.default_rng(seed)
    centres = distance * np.eye(len(rates))
    y = rng.choice(len(rates), n, p=rates)
    x = rng.standard_normal((n, len(rates))) + centres[y]
    heights = np.exp(x @ centres.T)
    return heights / heights.sum(axis=1, keepdims=True)


def by_expectation_of_classes(p, old, steps=50_000):
    """Return the shares by expectation and maximisation, as they were published."""
    shares = np.asarray(old, dtype=float)
    for _ in range(steps):
        after = p * shares / old
        new = (after / after.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(new - shares).max() < 1e-16:
            break
        shares = new
    return shares


def profile_limit(p, old, k, best, side):
    """Return a limit of three classes by SciPy: the others maximised by a search on a line, the loss by bisection."""
    ratios = p / old

    def height(share):
        def loss(part):
            return -np.log(ratios @ np.insert((1 - share) * np.array([part, 1 - part]), k, share)).sum()

        return -minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-11}).fun

    top = np.log(ratios @ best).sum()
    return brentq(lambda share: top - height(share) - chi2.ppf(0.95, 1) / 2, *sorted([best[k], side]), xtol=1e-11)


class TestUnknownOfSeveral:
    OLD = np.array([0.5, 0.3, 0.2])

    @each("seed", range(3))
    def test_it_is_the_limit_of_expectation_and_maximisation(self, seed):
        p = classes_shifted([0.6, 0.3, 0.1], 200, seed)
        assert estimate_base_rates(p, self.OLD).value == pytest.approx(by_expectation_of_classes(p, self.OLD), abs=1e-6)

    def test_no_other_shares_are_more_likely(self):
        """Against SciPy's maximiser over all shares of five classes."""
        p, old = classes_shifted([0.4, 0.3, 0.1, 0.1, 0.1], 300), np.full(5, 0.2)
        start = np.full(5, 0.2)
        best = minimize(
            lambda q: -np.log(p / old @ q).sum(),
            start,
            jac=lambda q: -((p / old).T / (p / old @ q)).sum(axis=1),
            bounds=[(0, 1)] * 5,
            constraints=[{"type": "eq", "fun": lambda q: q.sum() - 1}],
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert estimate_base_rates(p, old).value == pytest.approx(best.x, abs=1e-5)

    def test_limits_are_those_of_the_profile(self):
        p = classes_shifted([0.6, 0.3, 0.1])
        found = estimate_base_rates(p, self.OLD)
        for k in range(3):
            assert found.low[k] == pytest.approx(profile_limit(p, self.OLD, k, found.value, 1e-9), abs=1e-7)
            assert found.high[k] == pytest.approx(profile_limit(p, self.OLD, k, found.value, 1 - 1e-9), abs=1e-7)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_two_classes_are_the_case_of_one_rate(self, weighted):
        p, _ = shifted(0.1)
        w = np.random.default_rng(0).uniform(0.1, 3, 400) ** 2 * (1 + 2 * (p > 0.5)) if weighted else None
        one, both = estimate_base_rate(p, 0.4, w), estimate_base_rates(p, 0.4, w)
        assert (both.value[1], both.low[1], both.high[1]) == pytest.approx((one.value, one.low, one.high), abs=1e-7)
        assert (both.low[0], both.high[0]) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-7)

    def test_ends_are_legitimate(self):
        flat = estimate_base_rates(np.tile(self.OLD, (40, 1)), self.OLD)  # Nothing can be told.
        assert (flat.low.tolist(), flat.high.tolist()) == ([0.0] * 3, [1.0] * 3)
        certain = estimate_base_rates(np.repeat(np.eye(3), [30, 20, 0], axis=0), self.OLD)
        assert certain.value == pytest.approx([0.6, 0.4, 0.0], abs=1e-9)
        assert certain.low[2] == 0 < certain.high[2] < 0.1
        # Without any of 50 rows, twice the loss of n ln(1 / (1 - share)) is chi-squared.
        assert certain.high[2] == pytest.approx(1 - np.exp(-chi2.ppf(0.95, 1) / 2 / 50), abs=1e-7)

    def test_weights_are_relative_and_rows_without_any_are_absent(self):
        p = classes_shifted([0.6, 0.3, 0.1])
        plain, seven = estimate_base_rates(p, self.OLD), estimate_base_rates(p, self.OLD, np.full(400, 7.0))
        assert np.array([seven.value, seven.low]) == pytest.approx(np.array([plain.value, plain.low]), abs=1e-9)
        w = (np.arange(400) < 300).astype(float)
        some = estimate_base_rates(Predictions(p, np.arange(400) % 3, w), self.OLD)
        assert some.low == pytest.approx(estimate_base_rates(p[:300], self.OLD).low, abs=1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_limits_cover(self, weighted):
        rates, runs = np.array([0.6, 0.3, 0.1]), 16
        hits = np.zeros(3)
        for seed in range(runs):
            p = classes_shifted(rates, 250, seed)
            w = np.random.default_rng(10_000 + seed).uniform(0.1, 3, 250) ** 2 if weighted else None
            found = estimate_base_rates(p, np.full(3, 1 / 3), w)
            hits += (found.low <= rates) & (rates <= found.high)
        assert np.all(np.abs(hits / runs - 0.95) < 3.5 * np.sqrt(0.05 * 0.95 / runs))

    def test_many_classes_have_a_reason_instead_of_limits(self):
        p = np.random.default_rng(0).dirichlet(np.ones(31), 200)
        found = estimate_base_rates(p, np.full(31, 1 / 31))
        assert found.low is None
        assert found.high is None
        assert "more than 30 classes" in found.reason
        assert found.value.sum() == pytest.approx(1)

    def test_what_does_not_fit_is_refused(self):
        p = classes_shifted([0.6, 0.3, 0.1], 20)
        with pytest.raises(InputError, match="3 shares"):
            estimate_base_rates(p, 0.5)
        with pytest.raises(InputError, match="3 names"):
            estimate_base_rates(p, self.OLD, classes=["a", "b"])
        with pytest.raises(TypeError, match="hold their own classes"):
            estimate_base_rates(Predictions(p, np.arange(20) % 3), self.OLD, classes=["a", "b", "c"])
