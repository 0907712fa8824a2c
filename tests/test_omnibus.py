"""The omnibus test: its parts and its rule against slow definitions, its level by enumeration, what it must find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Predictions
from calibrant.hypotest import OmnibusTest
from calibrant.hypotest.minimum_p import smallest_pvalue

pytestmark = pytest.mark.filterwarnings("ignore::calibrant.DataWarning")


def slow_smallest(statistics):
    """The rule by loops: rank p-values, their minimum, the furthest of those that tie, and its place in the pool."""
    m, n = statistics.shape
    counts = [[sum(statistics[s][k] >= statistics[s][j] for k in range(n)) for j in range(n)] for s in range(m)]
    spread = [np.std(row) for row in statistics]
    keys = []
    for j in range(n):
        fewest = min(counts[s][j] for s in range(m))
        depths = [
            (statistics[s][j] - np.mean(statistics[s])) / spread[s] if spread[s] > 0 else 0.0
            for s in range(m)
            if counts[s][j] == fewest
        ]
        keys.append((fewest, -max(depths)))
    extreme = [
        k for k in range(n) if keys[k][0] < keys[0][0] or (keys[k][0] == keys[0][0] and keys[k][1] <= keys[0][1] + 1e-9)
    ]
    return len(extreme) / n, np.array(counts) / n


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_rule_is_its_definition(seed, m, n, ties):
    statistics = np.random.default_rng(seed).normal(size=(m, n))
    statistics = np.abs(statistics.round(0) if ties else statistics)
    pvalue, pvalues = slow_smallest(statistics)
    found = smallest_pvalue(statistics)
    assert found.pvalue == pytest.approx(pvalue)
    assert found.pvalues == pytest.approx(pvalues)
    assert found.pvalues[found.part, 0] == found.pvalues[:, 0].min()


def score(levers, outcomes, probs, weights):
    """Sum of w x (y - p) in standard deviations, by a loop."""
    total = sum(w * x * (y - p) for w, x, y, p in zip(weights, levers, outcomes, probs, strict=True))
    variance = sum((w * x) ** 2 * p * (1 - p) for w, x, p in zip(weights, levers, probs, strict=True))
    return total / np.sqrt(variance) if variance > 0 else 0.0


def centred_log_odds(probs, weights):
    odds = np.log(np.clip(probs, 1e-12, 1 - 1e-12) / (1 - np.clip(probs, 1e-12, 1 - 1e-12)))
    variances = weights**2 * probs * (1 - probs)
    return odds - (np.average(odds, weights=variances) if variances.sum() > 0 else 0.0)


def running_range(outcomes, probs, weights):
    path = [0.0] + [
        sum(w * (y - p) for w, y, p in zip(weights, outcomes, probs, strict=True) if p <= value)
        for value in np.unique(probs)
    ]
    return (max(path) - min(path)) / np.sqrt(sum(weights**2 * probs * (1 - probs)))


def line_definitions(outcomes, probs, weights):
    return {
        "bias": abs(score(np.ones(len(probs)), outcomes, probs, weights)),
        "slope": abs(score(centred_log_odds(probs, weights), outcomes, probs, weights)),
        "spiegelhalter": abs(score(1 - 2 * probs, outcomes, probs, weights)),
        "ecce": running_range(outcomes, probs, weights),
    }


def random_predictions(seed, n, k, *, weighted):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(k), n).round(2)
    probs /= probs.sum(axis=1, keepdims=True)
    weights = rng.exponential(size=n) + 0.01 if weighted else None
    return Predictions(probs, rng.integers(0, k, n), weights)


def parts_of(p, n_resamples=3):
    return OmnibusTest(n_resamples)(p, rng=0).details["parts"]


@given(st.integers(0, 10**6), st.integers(2, 30), st.booleans())
@settings(max_examples=40, deadline=None)
def test_two_classes_are_measured_by_the_definitions(seed, n, weighted):
    p = random_predictions(seed, n, 2, weighted=weighted)
    found = parts_of(p)
    for name, value in line_definitions(p.labels, p.positive, p.weights).items():
        assert found[name]["statistic"] == pytest.approx(value, rel=1e-9, abs=1e-9)
