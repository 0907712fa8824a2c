"""Costs of decisions, and the threshold of predictions that are not calibrated."""

import numpy as np
import pytest

from calibrant import InputError, Predictions, interval
from calibrant.decisions import Costs, best_threshold, cost_difference, expected_cost
from calibrant.metrics import ExpectedCost
from decision_cases import cancer
from naming import each


def example(n=2000, seed=0, slope=1.0, shift=0.0):
    """Predictions whose recalibrated log-odds are (z - shift) / slope."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.0, 1.5, n)
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    return Predictions.from_logits(slope * z + shift, y.astype(int))


def test_the_published_costs_of_one_to_twenty():
    y, _, p = cancer()
    found = expected_cost(y, p, costs=Costs(1, 20))
    assert found.threshold == 1 / 21
    assert found.shares["false_positive"] * 750 == pytest.approx(328)
    assert found.shares["false_negative"] * 750 == pytest.approx(9)
    assert found.cost.value == pytest.approx(0.677333, abs=1e-6)
    assert (found.treat_all, found.treat_none) == pytest.approx((0.86, 2.8))
    assert found.over_all.value == pytest.approx(0.677333 - 0.86, abs=1e-6)
    assert found.cost.low < found.cost.value < found.cost.high


def test_no_threshold_is_cheaper_in_expectation():
    """By brute force: with the true probabilities, the expected cost has its minimum at t, for any cost matrix."""
    p = np.random.default_rng(0).beta(1, 3, 5000)
    for costs in (Costs(1, 20), Costs(3, 1), Costs(3, 10, true_positive=4, true_negative=1), Costs(5, 2, -1, 1)):
        cuts = np.linspace(0.001, 0.999, 999)
        acting = p * costs.true_positive + (1 - p) * costs.false_positive
        resting = p * costs.false_negative + (1 - p) * costs.true_negative
        expected = [np.where(p >= t, acting, resting).mean() for t in cuts]
        best = np.where(p >= costs.threshold, acting, resting).mean()
        assert best <= min(expected) + 1e-15


def test_general_costs_row_by_row():
    p, costs = example(300), Costs(3, 10, true_positive=4, true_negative=1)
    found = expected_cost(p, costs=costs, threshold=0.4)
    acts = p.positive >= 0.4
    rows = [
        {(True, 1): 4, (True, 0): 3, (False, 1): 10, (False, 0): 1}[bool(a), int(y)]
        for a, y in zip(acts, p.labels, strict=True)
    ]
    assert found.cost.value == pytest.approx(np.mean(rows), abs=1e-12)
    assert found.cost.value == pytest.approx(ExpectedCost(costs, 0.4)(p), abs=1e-12)
    assert found.best_if_calibrated == 0.25


def test_costs_of_a_threshold_are_net_benefit_the_other_way_round():
    p = example(300)
    found = expected_cost(p, costs=Costs.at(0.2))
    from calibrant.metrics import NetBenefit

    assert found.threshold == pytest.approx(0.2, abs=1e-15)
    assert found.cost.value == pytest.approx(p.labels.mean() - NetBenefit(0.2)(p), abs=1e-12)


def test_a_known_prevalence_weighs_the_outcomes():
    p = example(500)
    found = expected_cost(p, costs=Costs(1, 20), prevalence=0.02)
    acts, event = p.positive >= 1 / 21, p.labels == 1
    assert found.cost.value == pytest.approx(0.98 * acts[~event].mean() + 0.02 * 20 * (~acts[event]).mean(), abs=1e-12)


def test_differences_are_paired_on_the_rows():
    before, after = example(800, slope=2.0, shift=1.0), example(800)
    costs = Costs(1, 9)
    rows = ExpectedCost(costs).per_row(after) - ExpectedCost(costs, 0.5).per_row(before)
    found = cost_difference(before, after, costs, threshold=0.5)
    assert found.value == pytest.approx(rows.mean(), abs=1e-12)
    assert found.low < found.value < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * rows.std() / np.sqrt(800), rel=0.05)
    same = cost_difference(before, before, costs)
    assert (same.value, same.low, same.reason) == (0.0, None, "too few rows contribute to it")


def test_limits_of_costs_cover():
    costs, runs = Costs(1, 9), 80
    true = ExpectedCost(costs)(example(200_000, seed=77, slope=2.0))
    hits = 0
    for seed in range(runs):
        cost = expected_cost(example(400, seed=seed, slope=2.0), costs=costs).cost
        hits += cost.low <= true <= cost.high
    assert abs(hits / runs - 0.95) < 3 * np.sqrt(0.05 * 0.95 / runs)


@each("seed", range(3))
def test_the_metric_has_limits_by_the_known_formula(seed):
    p = example(1000, seed)
    assert interval(p, ExpectedCost(Costs(1, 4)), rng=0).method == "hall"


@each(
    "costs, words",
    [
        ((0, 1), "false_positive must cost more than true_negative"),
        ((1, -2), "false_negative must cost more than true_positive"),
        ((1, 5, 5), "false_negative must cost more than true_positive, but costs 5 against 5"),
        ((float("nan"), 1), "finite"),
        ((1, float("inf")), "finite"),
        (("1", 1), "finite"),
    ],
)
def test_costs_without_meaning_are_refused(costs, words):
    with pytest.raises(InputError, match=words):
        Costs(*costs)


def test_bad_thresholds_and_wrong_kinds():
    for bad in (0, 1, -0.1, float("nan"), True, "0.5"):
        with pytest.raises(InputError, match="threshold must be a probability"):
            ExpectedCost(Costs(1, 1), bad)
    with pytest.raises(TypeError, match="costs must be Costs"):
        ExpectedCost(0.3)


class TestBestThreshold:
    def test_it_inverts_the_recalibration(self):
        p = example(200_000, slope=2.0, shift=0.7)
        found = best_threshold(p, threshold=0.1)
        z = 2.0 * np.log(0.1 / 0.9) + 0.7
        true = 1 / (1 + np.exp(-z))
        assert found.low < true < found.high
        assert found.high - found.low < 0.01
        fitted = found.intercept + found.slope * np.log(found.value / (1 - found.value))
        assert fitted == pytest.approx(np.log(0.1 / 0.9), abs=1e-9)

    def test_its_error_is_that_of_the_delta_method(self):
        """With the covariance of the coefficients from the textbook's matrix form of the sandwich."""
        p = example(900, slope=2.0, shift=0.7)
        found = best_threshold(p, threshold=0.1)
        z = np.log(p.probs[:, 1] / p.probs[:, 0])
        x = np.column_stack([np.ones(900), z])
        q = 1 / (1 + np.exp(-x @ [found.intercept, found.slope]))
        bread = np.linalg.inv(x.T @ (x * (q * (1 - q))[:, None]))
        covariance = bread @ (x.T @ (x * ((p.labels - q) ** 2)[:, None])) @ bread
        place = np.log(found.value / (1 - found.value))
        slope = np.array([-1, -place]) / found.slope
        reach = 1.959964 * np.sqrt(slope @ covariance @ slope)
        assert np.log(found.low / (1 - found.low)) == pytest.approx(place - reach, abs=1e-5)
        assert np.log(found.high / (1 - found.high)) == pytest.approx(place + reach, abs=1e-5)

    def test_it_is_that_of_statsmodels(self):
        """By Logit(y, [1, log-odds]).fit(cov_type="HC0") of statsmodels 0.15 and the gradient of (logit t - a) / b.

        The jackknife over all rows, each fitted by SciPy's BFGS, has a standard error of 0.2754 there.
        """
        found = best_threshold(example(900, slope=2.0, shift=0.7), threshold=0.1)
        assert (found.intercept, found.slope) == pytest.approx((-0.213985858499, 0.540298639048), abs=1e-9)
        assert (found.value, found.low, found.high) == pytest.approx(
            (0.0248281819, 0.0146280605, 0.0418388329), abs=1e-9
        )
        low, high = (np.log(end / (1 - end)) for end in (found.low, found.high))
        assert (high - low) / (2 * 1.959964) == pytest.approx(0.2754, rel=2e-3)

    def test_its_limits_cover(self):
        true = 1 / (1 + np.exp(-(2.0 * np.log(0.1 / 0.9) + 0.7)))
        runs = 80
        hits = 0
        for seed in range(runs):
            found = best_threshold(example(500, seed=seed, slope=2.0, shift=0.7), threshold=0.1)
            hits += found.low <= true <= found.high
        assert abs(hits / runs - 0.95) < 3 * np.sqrt(0.05 * 0.95 / runs)

    def test_it_is_refused_where_nothing_can_be_told(self):
        few = Predictions([0.2, 0.8, 0.4], [0, 1, 1])
        assert best_threshold(few, threshold=0.5).value is None
        assert "rows must be expected" in best_threshold(few, threshold=0.5).reason
        rng = np.random.default_rng(0)
        noise = Predictions(rng.uniform(0.05, 0.95, 400), rng.integers(0, 2, 400))
        assert "do not clearly depend" in best_threshold(noise, threshold=0.5).reason
