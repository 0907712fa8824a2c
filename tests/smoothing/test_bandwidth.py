"""Rules of thumb, and the search for the bandwidth that predicts best."""

import math
from unittest.mock import patch

import numpy as np
import pytest

from calibrant._core.line.boxes import Line
from calibrant._core.line.sums import KernelSums
from calibrant.smoothing.bandwidth import HeldOutLoss, choose_bandwidth, minimise
from calibrant.smoothing.sample import Sample
from naming import each
from oracles.lines import kernel_matrix, leave_one_out_by_loops


def sample(seed, n):
    rng = np.random.default_rng(seed)
    c = rng.beta(2, 1, n)
    return Sample.of(c, (rng.random(n) < c**2).astype(float), rng.exponential(size=n))


def unweighted(positions, outcomes=None):
    positions = np.asarray(positions, dtype=float)
    return Sample.of(positions, np.ones(len(positions)) if outcomes is None else outcomes, np.ones(len(positions)))


def test_the_loss_of_all_other_rows_equals_the_definition():
    s = sample(1, 80)
    c, y, w = s.positions, s.outcomes, s.weights
    N, D = leave_one_out_by_loops(c, np.column_stack([w * y, w]), 0.07, "gaussian", True).T
    p = np.clip(N / D, 1e-6, 1 - 1e-6)
    expected = -np.sum(w * (y * np.log(p) + (1 - y) * np.log(1 - p))) / w.sum()
    assert HeldOutLoss(s)(KernelSums(Line.of(c), 0.07)) == pytest.approx(expected, rel=1e-12)


def test_the_loss_of_other_folds_equals_fitting_and_predicting_fold_by_fold():
    s = sample(2, 300)
    c, y, w = s.positions, s.outcomes, s.weights
    folds = np.random.default_rng(2).permutation(300) % 5
    losses = np.empty(300)
    for fold in range(5):
        test = folds == fold
        K = kernel_matrix(c[test], c[~test], 0.05, "triweight", reflect=True)
        p = np.clip(K @ (w * y)[~test] / (K @ w[~test]), 1e-6, 1 - 1e-6)
        losses[test] = -np.log(np.where(y[test] == 1, p, 1 - p))
    found = HeldOutLoss(s, folds)(KernelSums(Line.of(c), 0.05, "triweight"))
    assert found == pytest.approx(np.average(losses, weights=w), rel=1e-10)


def test_rows_without_neighbours_are_predicted_by_the_base_rate_of_the_others():
    c, y, w = np.array([0.1, 0.5, 0.9]), np.array([1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0])
    # The others of each: 3 of 5, 4 of 4, 1 of 3.
    expected = -(1 * math.log(3 / 5) + 2 * math.log(1e-6) + 3 * math.log(1 / 3)) / 6
    assert HeldOutLoss(Sample(c, y, w))(KernelSums(Line.of(c), 0.01)) == pytest.approx(expected, rel=1e-6)


def test_a_single_row_is_predicted_by_one_half():
    loss = HeldOutLoss(unweighted([0.3]))
    assert loss(KernelSums(Line.of(np.array([0.3])), 0.1)) == pytest.approx(math.log(2))


@each("best", [0.0025, 0.013, 0.11, 0.4])
def test_the_minimum_of_a_parabola_is_found_exactly(best):
    assert minimise(lambda h: 3 + math.log(h / best) ** 2, 0.002, 0.5, 16) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("slope", "end"), [(1, 0.002), (-1, 0.5)])
def test_a_loss_that_falls_towards_an_end_gives_that_end(slope, end):
    assert minimise(lambda h: slope * math.log(h), 0.002, 0.5, 16) == pytest.approx(end)


def test_of_equally_good_bandwidths_the_largest_is_taken():
    assert minimise(lambda _: 1.0, 0.002, 0.5, 16) == pytest.approx(0.5)


@each("rule", ["cv", "loo"])
@each("kernel", ["gaussian", "triweight", "epanechnikov"])
def test_the_chosen_bandwidth_is_nearly_as_good_as_the_best_of_a_fine_grid(rule, kernel):
    s = sample(3, 3000)
    line = Line.of(s.positions)
    loss = HeldOutLoss(s, np.arange(3000) % 5 if rule == "cv" else None)
    fine = min(loss(KernelSums(line, h, kernel)) for h in np.geomspace(0.002, 1.5, 30))
    chosen = choose_bandwidth(s, rule, kernel, "reflect")
    # The loss has small waves of its own; its standard error is thirty times this.
    assert loss(KernelSums(line, chosen, kernel)) <= fine + 3e-4


@each("kernel", ["gaussian", "triweight", "epanechnikov", "beta"])
def test_the_choice_does_not_depend_on_the_order_of_rows(kernel):
    rng = np.random.default_rng(4)
    c, w = np.round(rng.random(200), 2), rng.integers(0, 3, 200).astype(float)
    y, shuffle = rng.integers(0, 2, 200).astype(float), rng.permutation(200)
    for rule in ("cv", "loo", "silverman", "silverman-robust", "mix-n-match"):
        one = choose_bandwidth(Sample.of(c, y, w), rule, kernel, "reflect")
        assert choose_bandwidth(Sample.of(c[shuffle], y[shuffle], w[shuffle]), rule, kernel, "reflect") == one


def test_rules_of_thumb_by_hand():
    # Standard deviation of 0, 0.2, ..., 0.8: sqrt(0.1); quartiles 0.2 and 0.6.
    s = unweighted([0.0, 0.2, 0.4, 0.6, 0.8], np.array([0.0, 0, 0, 1, 1]))
    narrow = 5**-0.2
    assert choose_bandwidth(s, "silverman", "gaussian", "reflect") == pytest.approx(1.06 * math.sqrt(0.1) * narrow)
    robust = 0.9 * 0.4 / 1.34 * narrow
    assert choose_bandwidth(s, "silverman-robust", "gaussian", "reflect") == pytest.approx(robust)
    assert choose_bandwidth(s, "mix-n-match", "gaussian", "reflect") == pytest.approx(0.1 * 10**-0.2)


def test_rules_of_thumb_are_for_the_standard_deviation_of_the_kernel():
    s = sample(5, 200)
    h = {k: choose_bandwidth(s, "silverman", k, "reflect") for k in ("gaussian", "triweight", "epanechnikov", "beta")}
    u = np.linspace(-1, 1, 200_001)
    for kernel, power in (("triweight", 3), ("epanechnikov", 1)):
        deviation = math.sqrt(np.average(u**2, weights=(1 - u**2) ** power))
        assert h[kernel] * deviation == pytest.approx(h["gaussian"], rel=1e-6)
    spread = np.average(s.positions * (1 - s.positions), weights=s.weights)
    assert h["beta"] * spread == pytest.approx(h["gaussian"] ** 2)


def test_the_robust_rule_falls_back_to_the_deviation_when_half_of_the_rows_are_alike():
    s = unweighted([1.0] * 80 + [0.5] * 20)
    deviation = math.sqrt(0.2 * 0.8 * 0.25 * 100 / 99)
    assert choose_bandwidth(s, "silverman-robust", "gaussian", "reflect") == pytest.approx(0.9 * deviation * 100**-0.2)


@each("rule", ["silverman", "silverman-robust", "mix-n-match"])
@pytest.mark.parametrize("positions", [[0.7], [0.7] * 30], ids=["one_row", "all_equal"])
def test_rules_of_thumb_have_a_floor_when_there_is_no_spread(rule, positions):
    assert choose_bandwidth(unweighted(positions), rule, "gaussian", "reflect") == pytest.approx(1e-4)


def test_without_a_single_event_the_published_rule_takes_the_floor():
    s = unweighted([0.2, 0.4, 0.9], np.zeros(3))
    assert choose_bandwidth(s, "mix-n-match", "gaussian", "reflect") == pytest.approx(1e-4)


def test_equal_weights_of_any_size_change_nothing():
    c, y = np.linspace(0, 1, 40) ** 2, np.arange(40.0) % 2
    for rule in ("silverman", "silverman-robust", "mix-n-match", "cv"):
        one, many = (
            choose_bandwidth(Sample.of(c, y, np.full(40, w)), rule, "gaussian", "reflect") for w in (1.0, 1e200)
        )
        assert many == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize(("kernel", "power"), [("gaussian", 0.2), ("beta", 0.4)])
def test_many_rows_are_searched_in_a_part_and_the_bandwidth_narrowed(kernel, power):
    s = sample(6, 3000)
    with patch("calibrant.smoothing.bandwidth._MOST_SEARCHED", 1000):
        found = choose_bandwidth(s, "loo", kernel, "reflect")
    part = choose_bandwidth(s.thinned(1000), "loo", kernel, "reflect")
    assert found == pytest.approx(part * 3**-power)
