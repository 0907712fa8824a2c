"""Tails of sums of events, against all outcomes written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core.laws import expit
from calibrant.groups.event_sums import EXACT_ROWS, EventSum, count_law
from naming import each
from properties import examples

probabilities = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8)


def all_outcomes(probs):
    """Yield every outcome of independent events with its probability: the definition."""
    for outcome in product((0, 1), repeat=len(probs)):
        yield np.array(outcome), float(np.prod([p if y else 1 - p for p, y in zip(probs, outcome, strict=True)]))


@examples(30)
@given(probabilities)
def test_the_law_of_a_count_is_that_of_all_outcomes(probs):
    expected = np.zeros(len(probs) + 1)
    for outcome, chance in all_outcomes(probs):
        expected[outcome.sum()] += chance
    np.testing.assert_allclose(count_law(np.array(probs)), expected, rtol=1e-12)


@examples(30)
@given(probabilities, st.integers(0, 8))
def test_the_pvalue_is_twice_the_smaller_tail(probs, total):
    total = min(total, len(probs))
    upper = sum(chance for outcome, chance in all_outcomes(probs) if outcome.sum() >= total)
    lower = sum(chance for outcome, chance in all_outcomes(probs) if outcome.sum() <= total)
    tail = upper if total > np.sum(probs) else lower
    assert EventSum(np.array(probs), None, float(total)).pvalue == pytest.approx(min(1.0, 2 * tail), rel=1e-9)


def test_small_probabilities_are_exact_far_in_the_tail():
    """Of 40 fair coins all heads: 2^-40 to the last digits."""
    assert count_law(np.full(40, 0.5))[-1] == pytest.approx(2.0**-40, rel=1e-13)
    assert EventSum(np.full(40, 0.5), None, 40.0).upper() == pytest.approx(2.0**-40, rel=1e-12)


@st.composite
def counts_and_shifts(draw):
    """Return log-odds of rows, from all alike to nearly certain ones of both kinds, a count, and a shift."""
    n = draw(st.integers(1, EXACT_ROWS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    log_odds = np.clip(rng.normal(draw(st.floats(-30, 30)), draw(st.sampled_from([0.0, 1.0, 5.0, 20.0])), n), -34, 34)
    return log_odds, draw(st.integers(0, n)), draw(st.floats(-40, 40))


@given(counts_and_shifts())
def test_one_law_gives_the_tail_at_every_shift(case):
    """Against the law of the shifted probabilities, as far in the tail as that one has digits."""
    log_odds, total, shift = case
    events = EventSum(expit(log_odds), None, float(total))
    exact = float(count_law(expit(events._log_odds + shift))[total:].sum())
    assert events.upper(shift) == pytest.approx(min(exact, 1.0), rel=1e-10, abs=1e-290)


def test_one_law_serves_a_whole_search_of_limits(monkeypatch):
    from calibrant.groups import event_sums

    laws = []
    monkeypatch.setattr(event_sums, "count_law", lambda probs: laws.append(len(probs)) or count_law(probs))
    probs = np.random.default_rng(0).uniform(0.01, 0.3, 400)
    low, high = EventSum(probs, None, 70.0).shift_limits(0.05)
    assert laws == [400, 400]  # One for each end.
    log_odds = np.log(probs / (1 - probs))
    assert count_law(expit(log_odds + low))[70:].sum() == pytest.approx(0.025, rel=1e-4)
    assert count_law(expit(log_odds + high))[:71].sum() == pytest.approx(0.025, rel=1e-4)


@each("mean, sd", [(-4.0, 1.0), (0.0, 1.0), (1.0, 2.0)])
@each("z", [-5.0, -3.0, 2.0, 4.0, 6.0])
def test_the_saddlepoint_agrees_with_the_exact_law(mean, sd, z):
    rng = np.random.default_rng(0)
    probs = 1 / (1 + np.exp(-rng.normal(mean, sd, 3000)))
    spread = np.sqrt(np.sum(probs * (1 - probs)))
    total = round(probs.sum() + z * spread)
    law = count_law(probs)
    exact = law[total:].sum() if z > 0 else law[: total + 1].sum()
    assert EventSum(probs, None, float(total)).pvalue == pytest.approx(2 * exact, rel=0.01)


def test_a_normal_law_would_be_wrong_by_orders_of_magnitude_where_the_saddlepoint_is_right():
    from calibrant._core.laws import normal_tail

    probs = np.full(3000, 0.0025)
    total = 22.0
    exact = count_law(probs)[22:].sum()
    z = (total - 0.5 - 7.5) / np.sqrt(np.sum(probs * (1 - probs)))
    assert normal_tail(z) < exact / 50
    assert EventSum(probs, None, total).upper() == pytest.approx(exact, rel=0.01)


def test_weighted_sums_agree_with_all_outcomes():
    rng = np.random.default_rng(1)
    probs, weights = rng.uniform(0.2, 0.8, 14), rng.uniform(0.5, 2.0, 14)
    sums, chances = zip(*((float(weights @ outcome), chance) for outcome, chance in all_outcomes(probs)), strict=True)
    sums, chances = np.array(sums), np.array(chances)
    for level in (0.9, 0.99, 0.999):
        order = np.argsort(sums)
        total = sums[order][np.searchsorted(np.cumsum(chances[order]), level)]
        exact = chances[sums >= total - 1e-12].sum()
        assert EventSum(probs, weights, float(total)).upper() == pytest.approx(exact, rel=0.1)
    assert EventSum(probs, weights, float(weights.sum())).upper() == pytest.approx(np.prod(probs), rel=1e-9)


@pytest.mark.parametrize("n", [60, 2000])
def test_limits_are_where_a_tail_has_half_of_the_level(n):
    rng = np.random.default_rng(n)
    probs = rng.uniform(0.1, 0.9, n)
    law = EventSum(probs, None, float(round(probs.sum() + 10)))
    low, high = law.shift_limits(0.01)
    assert law.upper(low) == pytest.approx(0.005, rel=1e-3)
    assert 1 - law.upper(high) < 0.01
    assert EventSum(probs, None, float(n)).shift_limits(0.05)[1] == np.inf
    assert EventSum(probs, None, 0.0).shift_limits(0.05)[0] == -np.inf


def test_an_impossible_event_is_very_unlikely_and_no_error():
    assert 0 < EventSum(np.zeros(10), None, 1.0).pvalue < 1e-12
