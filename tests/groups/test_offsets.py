"""The number by which the log-odds of a group are moved, and what that is worth, against general optimisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit

from calibrant import Predictions
from calibrant.groups import tested
from calibrant.groups.rows import Rows, offset, saved
from calibrant.groups.subjects import Classes
from naming import each
from properties import examples

CLIP = 1e-15


def loss(shift, rows):
    """Return the weighted log loss of moved log-odds, term by term."""
    moved = logit(np.clip(rows.probs, CLIP, 1 - CLIP)) + shift
    return rows.weights @ np.logaddexp(0, np.where(rows.events == 1, -moved, moved))


def fitted(rows):
    """Return the most likely shift, where both outcomes occur."""
    return minimize_scalar(lambda shift: loss(shift, rows), bounds=(-80, 80), method="bounded").x


def drawn(seed, n=60, centre=0.0, spread=1.0, shift=0.0, *, weighted=False):
    rng = np.random.default_rng(seed)
    odds = rng.normal(centre, spread, n)
    events = (rng.random(n) < expit(odds + shift)).astype(float)
    events[:2] = 0, 1
    return Rows(expit(odds), events, rng.gamma(0.5, size=n) + 1e-3 if weighted else np.ones(n))


@each("weighted", [False, True])
@each(
    "centre, spread, shift",
    [(0, 1, 0), (2.3, 0.4, -1.2), (-9, 0.2, 9), (9, 0.2, -12), (0, 6, 2), (-4, 3, 12), (0, 15, -3)],
)
def test_the_offset_is_the_most_likely_one(centre, spread, shift, weighted):
    """Among them groups in which one Newton step from 0 overshoots by a factor of thousands."""
    for seed in range(5):
        rows = drawn(seed, centre=centre, spread=spread, shift=shift, weighted=weighted)
        found, slow = offset(rows), fitted(rows)
        assert loss(found, rows) <= loss(slow, rows) * (1 + 1e-9)
        assert found == pytest.approx(slow, abs=1e-3)
        assert rows.weights @ expit(logit(rows.probs) + found) == pytest.approx(rows.weights @ rows.events, rel=1e-6)


def test_predictions_of_exactly_0_and_1_are_very_unlikely_to_be_wrong():
    rows = Rows(np.array([0.0, 0, 0, 0, 1, 1]), np.array([1.0, 1, 0, 0, 1, 1]), np.ones(6))
    assert loss(offset(rows), rows) <= loss(fitted(rows), rows) * (1 + 1e-6)
    right = Rows(np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1]), np.ones(4))
    assert saved(right, offset(right)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("event", [0, 1])
def test_of_outcomes_all_alike_half_a_row_counts_as_the_other(event):
    probs = np.random.default_rng(event).uniform(0.2, 0.8, 30)
    rows = Rows(probs, np.full(30, float(event)), np.ones(30))
    total = 29.5 if event else 0.5
    expected = brentq(lambda shift: expit(logit(probs) + shift).sum() - total, -20, 20, xtol=1e-12)
    assert offset(rows) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("event", [0, 1])
def test_outcomes_all_alike_never_move_predictions_away_from_them(event):
    sure = 0.9999 if event else 0.0001
    assert offset(Rows(np.full(30, sure), np.full(30, float(event)), np.ones(30))) == 0
    assert offset(Rows(np.full(30, float(event)), np.full(30, float(event)), np.ones(30))) == 0


def test_no_rows_move_nothing():
    assert offset(Rows(np.empty(0), np.empty(0), np.empty(0))) == 0


@examples(40)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 1), st.floats(0.01, 100)),
        min_size=1,
        max_size=12,
    )
)
def test_an_offset_never_raises_the_loss_of_the_rows_it_was_learnt_from(rows):
    probs, events, weights = (np.array(each, dtype=float) for each in zip(*rows, strict=True))
    some = Rows(probs, events, weights)
    shift = offset(some)
    assert np.isfinite(shift)
    assert saved(some, shift) >= -1e-9 * (1 + loss(0, some))
    if 0 < events.mean() < 1:
        assert loss(shift, some) <= loss(fitted(some), some) * (1 + 1e-6) + 1e-6


@each("weighted", [False, True])
@each("both", [False, True])
def test_the_worth_is_the_fall_of_the_mean_loss_on_other_rows(both, weighted):
    """Of a group predicted at 91% of which 77% happen, the fix of one half makes the other better."""
    rows = drawn(4, n=400, centre=2.3, spread=0.4, shift=-1.2, weighted=weighted)
    rng = np.random.default_rng(0)
    inside, half = rng.random(400) < 0.7, rng.random(400) < 0.5
    gains, mass = [], 0.0
    for learnt in (half, ~half) if both else (half,):
        judged = rows.take(inside & ~learnt)
        gains.append(loss(0, judged) - loss(fitted(rows.take(inside & learnt)), judged))
        mass += rows.weights[~learnt].sum()
    subject = Classes({"1": Predictions(rows.probs, rows.events.astype(int), rows.weights)}, None)
    group = tested.Tested(0, "", (), "cell" if both else "leaf", inside, None if both else ~half, 0.0, 1.0)
    found = subject.worth(group, half)
    assert found == pytest.approx(sum(gains) / mass, abs=1e-6)
    assert found > 0.005


def test_an_explained_group_has_the_mean_that_was_observed():
    rows = drawn(2, n=200, centre=3, spread=1, shift=-3, weighted=True)
    inside = np.arange(200) < 90
    after = rows.explained(inside)
    assert after.residuals[inside].sum() == pytest.approx(0, abs=1e-6)
    assert (after.probs[~inside] == rows.probs[~inside]).all()
