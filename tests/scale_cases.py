"""Shapes of predictions that a sketch must bear: smooth, rare, overconfident float32, a forest's ties, float16."""

import numpy as np


def expit(x):
    return 1 / (1 + np.exp(-x))


def smooth(n, rng):
    x = rng.normal(0, 1.5, n)
    return expit(x), rng.random(n) < expit(0.9 * x)


def rare(n, rng):
    x = rng.normal(-8, 1.5, n)
    return expit(x), rng.random(n) < expit(0.9 * x)


def sure(n, rng):
    x = rng.normal(0, 6, n)
    return expit(x).astype(np.float32), rng.random(n) < expit(x / 2)


def forest(n, rng):
    p = rng.binomial(100, rng.beta(0.5, 0.8, n)) / 100
    return p, rng.random(n) < 0.9 * p + 0.03


def half(n, rng):
    x = rng.normal(0, 1.5, n)
    return expit(x).astype(np.float16).astype(np.float64), rng.random(n) < expit(0.9 * x)


SHAPES = {"smooth": smooth, "rare": rare, "sure": sure, "forest": forest, "half": half}


def classes(n, k, rng):
    """Probabilities of k classes, labels drawn from others that are less sure."""
    logits = rng.normal(0, 2, (n, k))
    odds = np.exp(logits)
    flat = np.exp(0.7 * logits)
    flat /= flat.sum(axis=1, keepdims=True)
    labels = (flat.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return odds / odds.sum(axis=1, keepdims=True), np.minimum(labels, k - 1)


def weights_of(n, rng):
    """Weights that are multiples of 2^-20, so that nothing is rounded; some are 0 and some 1."""
    found = np.rint(rng.exponential(size=n) * 2**20) / 2**20
    found[rng.random(n) < 0.05] = 0
    found[rng.random(n) < 0.05] = 1
    return found
