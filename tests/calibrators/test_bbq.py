"""Bayesian binning into quantiles against a slow definition."""

import numpy as np
import pytest
from scipy.special import gammaln

from calibrant import InputError
from calibrant.binning import EqualMass
from calibrant.calibrators import BBQ
from naming import each


def slow_bbq(probs, labels, new, spread=10.0, strength=2.0):
    """One histogram after another, each bin by the formulas of the paper."""
    n = len(probs)
    least = max(1, int(np.floor(n ** (1 / 3) / spread + 1e-12)))
    most = max(least, min(int(np.ceil(n / 5)), int(np.ceil(spread * n ** (1 / 3) - 1e-12))))
    scores, predictions = [], []
    for size in range(least, most + 1):
        index = EqualMass(size).cut(probs, np.ones(n)).index
        bins = np.unique(index)
        tops = [probs[index == b].max() for b in bins]
        bottoms = [probs[index == b].min() for b in bins]
        edges = [0.0, *((np.array(tops[:-1]) + np.array(bottoms[1:])) / 2), 1.0]
        score, means = 0.0, []
        for j, b in enumerate(bins):
            hits, count = labels[index == b].sum(), (index == b).sum()
            middle, share = (edges[j] + edges[j + 1]) / 2, strength / len(bins)
            alpha, beta = share * middle, share * (1 - middle)
            score += gammaln(share) - gammaln(count + share)
            score += gammaln(hits + alpha) - gammaln(alpha)
            score += gammaln(count - hits + beta) - gammaln(beta)
            means.append((hits + alpha) / (count + share))
        scores.append(score)
        predictions.append(np.array(means)[np.searchsorted(edges[1:-1], new, side="left")])
    weights = np.exp(np.array(scores) - max(scores))
    return np.average(predictions, axis=0, weights=weights)


@each("n", [1, 7, 60, 400])
@each("decimals", [1, 2, 8])
def test_bbq_equals_the_slow_definition(n, decimals):
    rng = np.random.default_rng(n)
    probs = rng.random(n).round(decimals)
    labels = (rng.random(n) < probs**2).astype(int)
    new = np.concatenate([probs, [0.0, 0.123456, 0.5, 1.0]])
    found = BBQ().fit(probs, labels, classes=[0, 1]).predict_proba(new)[:, 1]
    assert found == pytest.approx(slow_bbq(probs, labels, new), abs=1e-10)


def test_other_settings_reach_the_model():
    rng = np.random.default_rng(0)
    probs = rng.random(200)
    labels = (rng.random(200) < probs).astype(int)
    new = np.linspace(0, 1, 31)
    found = BBQ(spread=2.0, strength=6.0).fit(probs, labels).predict_proba(new)[:, 1]
    assert found == pytest.approx(slow_bbq(probs, labels, new, 2.0, 6.0), abs=1e-10)
    assert found != pytest.approx(slow_bbq(probs, labels, new), abs=1e-3)


def test_the_published_range_of_bins_is_used():
    rng = np.random.default_rng(1)
    probs = rng.random(5000)
    fitted = BBQ().fit(probs, rng.random(5000) < probs)
    assert fitted.n_bins_[[0, -1]].tolist() == [1, 171]
    assert fitted.model_weights_.sum() == pytest.approx(1)


def test_a_jump_is_found():
    rng = np.random.default_rng(2)
    probs = rng.random(20_000)
    truth = np.where(probs < 0.5, 0.2, 0.7)
    fitted = BBQ().fit(probs, rng.random(20_000) < truth)
    new = np.array([0.1, 0.25, 0.4, 0.6, 0.75, 0.9])
    assert fitted.predict_proba(new)[:, 1] == pytest.approx(np.where(new < 0.5, 0.2, 0.7), abs=0.03)


def test_no_probability_is_certain():
    fitted = BBQ().fit(np.repeat([0.0, 0.5, 1.0], 50), np.repeat([0, 1, 1], 50))
    probs = fitted.predict_proba([0.0, 0.5, 1.0])
    assert ((probs > 0) & (probs < 1)).all()


@each(
    "settings, message",
    [
        ({"spread": 0.5}, "spread must be at least 1, but is 0.5"),
        ({"spread": np.nan}, "spread must be at least 1"),
        ({"strength": 0.0}, "strength must be a positive number, but is 0.0"),
        ({"strength": np.nan}, "strength must be a positive number"),
        ({"strength": np.inf}, "strength must be a positive number"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        BBQ(**settings).fit([0.2, 0.8], [0, 1])
