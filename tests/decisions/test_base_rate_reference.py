"""Base rates of new rows, where the old one is known from labelled rows of the same model."""

from pathlib import Path

import numpy as np
import pytest

from calibrant import InputError, Predictions
from calibrant.decisions import estimate_base_rate, estimate_base_rates
from naming import each

Z = 1.959963984540054


def scored(rng, n, rate, old, factor=1.0):
    """Rows of a base rate, with probabilities that are right at the old one."""
    y = rng.random(n) < rate
    logits = 1.5 * (rng.standard_normal(n) + 1.5 * y) - 1.125 + np.log(old / (1 - old))
    return 1 / (1 + np.exp(-factor * logits)), y.astype(int)


def moved_limits(new, p):
    """Return the limits of two classes by definition: errors of the new rows and of the old mean, as in a triangle."""
    error = Z * p.std() / np.sqrt(len(p))
    own, below, above = (estimate_base_rate(new, p.mean() + step) for step in (0, -error, error))
    left = max(own.value - min(below.value, above.value), own.low - min(below.low, above.low))
    right = max(max(below.value, above.value) - own.value, max(below.high, above.high) - own.high)
    low, high = own.value - np.hypot(own.value - own.low, left), own.value + np.hypot(own.high - own.value, right)
    return max(low, 0), min(high, 1)


@each("seed", range(3))
def test_two_classes_by_definition(seed):
    rng = np.random.default_rng(seed)
    p, y = scored(rng, 200, 0.3, 0.3)
    new, _ = scored(rng, 800, 0.1, 0.3)
    found = estimate_base_rates(new, Predictions(p, y))
    assert found.trained_rate[1] == pytest.approx(p.mean())
    assert found.value[1] == pytest.approx(estimate_base_rate(new, p.mean()).value, abs=1e-7)
    assert (found.low[1], found.high[1]) == pytest.approx(moved_limits(new, p), abs=1e-6)
    assert (found.low[0], found.high[0]) == pytest.approx((1 - found.high[1], 1 - found.low[1]), abs=1e-6)
    assert (found.n_samples, found.n_trained) == (800, 200)


def test_limits_cover_what_those_of_a_known_rate_do_not():
    """With few rows of the old base rate, most of the error is theirs; the committed table has more runs."""
    rng, runs, hits, known = np.random.default_rng(0), 16, 0, 0
    for _ in range(runs):
        p, y = scored(rng, 300, 0.3, 0.3)
        new, _ = scored(rng, 2000, 0.1, 0.3)
        found = estimate_base_rates(new, Predictions(p, y))
        hits += found.low[1] <= 0.1 <= found.high[1]
        plain = estimate_base_rate(new, float(y.mean()))
        known += plain.low <= 0.1 <= plain.high
    assert abs(hits / runs - 0.95) < 3 * np.sqrt(0.05 * 0.95 / runs)
    assert known / runs < 0.75


def test_the_committed_table_shows_the_same_of_rates_near_and_far():
    """Shares of 250 runs, within three standard errors of 95 %."""
    text = (Path(__file__).parents[2] / "docs" / "validity" / "decisions.md").read_text(encoding="utf-8")
    section = text.split("beside rows with the old base rate", maxsplit=1)[1].split("## ", maxsplit=1)[0]
    rows = [line.split(" | ") for line in section.splitlines() if " to " in line]
    assert len(rows) == 6
    covered, known, counted = np.array([[float(share) for share in row[3:6]] for row in rows]).T
    assert np.all(np.abs(covered - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 250))
    assert np.all(known < 0.8)
    assert np.all(counted < known)


def test_most_of_an_offset_of_all_log_odds_cancels():
    """As the mean of the predictions has it too; the share of the labels has not."""
    rng = np.random.default_rng(1)
    p, y = scored(rng, 50_000, 0.3, 0.3)
    new, _ = scored(rng, 50_000, 0.1, 0.3)
    p, new = (q * np.e**0.3 / (1 - q + q * np.e**0.3) for q in (p, new))
    error = abs(estimate_base_rates(new, Predictions(p, y)).value[1] - 0.1)
    assert error < abs(estimate_base_rate(new, float(y.mean())).value - 0.1) / 3


def test_limits_of_several_classes_cover():
    rng, runs, old, new = np.random.default_rng(2), 8, np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    centres = 2.0 * np.eye(3)
    hits, known = np.zeros(3), np.zeros(3)

    def draw(n, shares):
        x = rng.standard_normal((n, 3)) + centres[rng.choice(3, n, p=shares)]
        heights = np.exp(x @ centres.T) * old
        return heights / heights.sum(axis=1, keepdims=True)

    for _ in range(runs):
        here = draw(40, old)
        found = estimate_base_rates(there := draw(800, new), Predictions(here, rng.integers(0, 3, 40)))
        hits += (found.low <= new) & (new <= found.high)
        plain = estimate_base_rates(there, here.mean(axis=0))
        known += (plain.low <= new) & (new <= plain.high)
        assert found.value == pytest.approx(plain.value, abs=1e-9)
    assert np.all(np.abs(hits / runs - 0.95) < 3 * np.sqrt(0.05 * 0.95 / runs))
    assert known.mean() / runs < 0.85


def test_weighted_rows_of_the_old_rate_count_by_their_weights():
    rng = np.random.default_rng(3)
    p, y = scored(rng, 200, 0.3, 0.3)
    new, _ = scored(rng, 500, 0.1, 0.3)
    w = np.where(p > 0.5, 2.0, 1.0)
    found = estimate_base_rates(new, Predictions(p, y, w))
    assert found.trained_rate[1] == pytest.approx(np.average(p, weights=w))
    same, seven = (estimate_base_rates(new, Predictions(p, y, v)) for v in (np.ones(200), np.full(200, 7.0)))
    assert same.low == pytest.approx(seven.low, abs=1e-9)


def test_other_classes_are_refused():
    with pytest.raises(InputError, match="the classes of probs, 3, but its rows have 2"):
        estimate_base_rates(np.full((4, 3), 1 / 3), Predictions([0.2, 0.7], [0, 1]))


def test_a_share_at_zero_has_a_limit_that_holds_the_chance_of_the_old_one():
    rng = np.random.default_rng(4)
    p, y = scored(rng, 300, 0.3, 0.3)
    new, _ = scored(rng, 300, 1e-9, 0.3)
    found = estimate_base_rates(np.minimum(new, 0.3), Predictions(p, y))
    assert found.value[1] == 0
    assert found.high[1] > estimate_base_rate(np.minimum(new, 0.3), p.mean()).high
