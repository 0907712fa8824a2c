"""Derivatives of the likelihood of a softmax: the compiled routines and their twins against the definition."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant._core import softmax
from calibrant._core.softmax import n_pairs, pair_sums, pair_sums_in_numpy, residuals_in_numpy, residuals_of
from calibrant.calibrators import CALIBRATORS
from cores import LEVELS, core
from properties import examples
from simulate import calibrated


def simulate(n, k, m=3, *, seed=0, spread=3.0, weighted=True, last=None):
    """Logits, labels, which are below `last`, weights and features of rows."""
    rng = np.random.default_rng(seed)
    share = rng.exponential(size=(n, 1)) if weighted else np.full((n, 1), 1 / n)
    labels = rng.integers(0, k if last is None else last, n)
    return spread * rng.standard_normal((n, k)), labels, share, rng.standard_normal((n, m))


def definition(logits, labels, share):
    """Probabilities, residuals and loss of one row after another."""
    probs, residuals, loss = np.empty(logits.shape), np.empty(logits.shape), 0.0
    for i, row in enumerate(logits):
        powers = np.exp(row - row.max())
        probs[i] = powers / powers.sum()
        observed = np.arange(len(row)) == labels[i]
        residuals[i] = share[i] * (probs[i] - observed)
        loss += share[i, 0] * (np.log(powers.sum()) + row.max() - row[labels[i]])
    return probs, residuals, loss


def check_residuals(function, logits, labels, share):
    probs = np.empty(logits.shape)
    residuals, loss = function(logits.copy(), labels, share, probs)
    expected_probs, expected, expected_loss = definition(logits, labels, share)
    np.testing.assert_allclose(probs, expected_probs, rtol=2e-14, atol=1e-300)
    np.testing.assert_allclose(residuals, expected, rtol=1e-13, atol=1e-15 * share.max())
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", [*LEVELS, "numpy"])
@pytest.mark.parametrize("n, k", [(1, 1), (1, 2), (40, 2), (33, 3), (50, 10), (7, 1000)])
def test_residuals_at_every_level(name, n, k):
    with core(name):
        check_residuals(residuals_of, *simulate(n, k)[:3])


@examples(60)
@given(st.integers(1, 70), st.integers(1, 19), st.sampled_from([0.1, 3.0, 200.0]), st.booleans(), st.integers(0, 999))
def test_residuals(n, k, spread, weighted, seed):
    # Without the last class among the labels.
    logits, labels, share, _ = simulate(n, k, seed=seed, spread=spread, weighted=weighted, last=max(1, k - 1))
    check_residuals(residuals_of, logits, labels, share)
    check_residuals(residuals_in_numpy, logits, labels, share)


def test_rows_of_weight_zero_and_large_offsets_change_nothing():
    logits, labels, share, _ = simulate(30, 4)
    share[::3] = 0.0
    check_residuals(residuals_of, logits, labels, share)
    moved = logits + np.linspace(-1e4, 1e4, 30)[:, None]
    found, other = np.empty((2, 30, 4))
    _, loss = residuals_of(logits.copy(), labels, share, found)
    _, same = residuals_of(moved, labels, share, other)
    np.testing.assert_allclose(other, found, atol=1e-11)
    np.testing.assert_allclose(same, loss, rtol=1e-11)


@pytest.mark.parametrize("name", [*LEVELS, "numpy"])
def test_an_impossible_class_has_probability_zero(name):
    probs = np.empty((1, 3))
    with core(name):
        residuals, loss = residuals_of(np.array([[0.0, -np.inf, 0.0]]), np.array([2]), np.ones((1, 1)), probs)
    assert probs.tolist() == [[0.5, 0.0, 0.5]]
    assert residuals.tolist() == [[0.5, 0.0, -0.5]]
    assert loss == pytest.approx(np.log(2))


@pytest.mark.parametrize("name", [*LEVELS, "numpy"])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("k", [2, 3, 9])
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_no_number_has_no_loss(name, odd, k, place):
    """A search for the minimum refuses such a step: no comparison with NaN holds."""
    logits = np.zeros((3, k))
    logits[1, place] = odd
    probs = np.empty((3, k))
    with core(name):
        residuals, loss = residuals_of(logits, np.zeros(3, dtype=np.int64), np.ones((3, 1)), probs)
    assert np.isnan(loss)
    assert np.isnan(residuals[1]).any()
    np.testing.assert_allclose(probs[[0, 2]], 1 / k)


def test_parts_of_matrices():
    logits, labels, share, features = simulate(60, 5)
    expected = definition(logits[::2], labels[::2], share[::2])
    probs = np.empty((60, 5))[::2]
    residuals, loss = residuals_of(logits.copy()[::2], labels[::2], share[::2], probs)
    for found, known in zip((probs, residuals, loss), expected, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12)
    probs = np.asfortranarray(expected[0])
    np.testing.assert_allclose(
        pair_sums(probs, share[::2], features[::2, ::-1]),
        sums_by_definition(probs, share[::2], features[::2, ::-1]),
        rtol=1e-12,
        atol=1e-14,
    )


def sums_by_definition(probs, share, features):
    """One sum after another."""
    k, m = probs.shape[1], features.shape[1]
    products = [features[:, a] * features[:, b] for a in range(m) for b in range(a, m)]
    factors = [probs[:, j] for j in range(k)]
    factors += [-probs[:, j] * probs[:, other] for j in range(k) for other in range(j, k)]
    return np.array([[np.sum(share[:, 0] * factor * product) for product in products] for factor in factors])


def check_sums(function, n, k, m, seed):
    logits, labels, share, features = simulate(n, k, m, seed=seed)
    probs = definition(logits, labels, share)[0]
    found = function(probs, share, features)
    assert found.shape == (k + n_pairs(k), n_pairs(m))
    size = share.sum() * np.abs(features).max() ** 2
    np.testing.assert_allclose(found, sums_by_definition(probs, share, features), rtol=1e-12, atol=1e-15 * size)


@pytest.mark.parametrize("name", [*LEVELS, "numpy"])
@pytest.mark.parametrize("n, k, m", [(1, 1, 1), (1, 2, 3), (31, 2, 3), (32, 3, 4), (33, 3, 4), (100, 10, 11)])
def test_sums_of_pairs_at_every_level(name, n, k, m):
    with core(name):
        check_sums(pair_sums, n, k, m, seed=n)


@examples(40)
@given(st.integers(1, 70), st.integers(1, 7), st.integers(1, 8), st.integers(0, 999))
def test_sums_of_pairs(n, k, m, seed):
    check_sums(pair_sums, n, k, m, seed)
    check_sums(pair_sums_in_numpy, n, k, m, seed)


def test_sums_of_many_classes():
    logits, labels, share, features = simulate(3, 1000, 2)
    probs = definition(logits, labels, share)[0]
    expected = pair_sums_in_numpy(probs, share, features)
    np.testing.assert_allclose(pair_sums(probs, share, features), expected, rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("level", LEVELS)
def test_the_order_of_rows_changes_the_loss_by_rounding_only(level):
    # Newton's method compares losses to four units in the last place; a plain sum differs by dozens.
    logits, labels, share, _ = simulate(20_000, 3, weighted=False)
    losses = []
    with core(level):
        for seed in range(5):
            rows = np.random.default_rng(seed).permutation(len(labels))
            losses.append(residuals_of(logits[rows], labels[rows], share, np.empty(logits.shape))[1])
    assert np.ptp(losses) <= 4 * np.finfo(float).eps * np.mean(losses)


@pytest.mark.parametrize("name", ["vs", "ms", "svs", "sms", "dirichlet"])
def test_fits_do_not_depend_on_what_computes_the_likelihood(name):
    p = calibrated(n=1000, k=5)
    probs = p.probs**1.5 / np.sum(p.probs**1.5, axis=1, keepdims=True)
    compiled = CALIBRATORS[name]().fit(probs, p.labels).predict_proba(probs)
    with patch.object(softmax, "library", lambda: None):
        in_numpy = CALIBRATORS[name]().fit(probs, p.labels).predict_proba(probs)
    np.testing.assert_allclose(compiled, in_numpy, rtol=0, atol=1e-12)
