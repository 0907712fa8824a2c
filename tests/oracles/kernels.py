"""Kernel calibration errors by their definitions, with a loop for every sum."""

import itertools

import numpy as np


def h_by_four_expectations(k, p, y, q, z):
    """k((p, y), (q, z)) minus its expectations over a class drawn from p, from q, and from both."""
    classes = range(len(p))
    over_p = sum(p[a] * k((p, a), (q, z)) for a in classes)
    over_q = sum(q[b] * k((p, y), (q, b)) for b in classes)
    over_both = sum(p[a] * q[b] * k((p, a), (q, b)) for a in classes for b in classes)
    return k((p, y), (q, z)) - over_p - over_q + over_both


def skce_by_definition(k, probs, labels, *, unbiased=True, blocksize=None):
    """The mean over complete blocks of the mean of h over pairs i < j, or over all i, j."""
    m = blocksize or len(probs)
    blocks = []
    for start in range(0, len(probs) - m + 1, m):
        rows = range(start, start + m)
        pairs = itertools.combinations(rows, 2) if unbiased else itertools.product(rows, rows)
        values = [h_by_four_expectations(k, probs[i], labels[i], probs[j], labels[j]) for i, j in pairs]
        blocks.append(np.mean(values))
    return np.mean(blocks)


def tensor(k_predictions, k_targets):
    """The product of two functions as a function of two pairs."""
    return lambda a, b: k_predictions(a[0], b[0]) * k_targets(a[1], b[1])


def total_variation(p, q):
    return 0.5 * sum(abs(a - b) for a, b in zip(p, q, strict=True))


def euclidean(p, q):
    return sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) ** 0.5


def white(y, z):
    return float(y == z)


PROFILES = {
    "exponential": lambda u, _: np.exp(-u),
    "gaussian": lambda u, _: np.exp(-(u**2) / 2),
    "gamma-exponential": lambda u, a: np.exp(-(u**a)),
    "matern32": lambda u, _: (1 + 3**0.5 * u) * np.exp(-(3**0.5) * u),
    "matern52": lambda u, _: (1 + 5**0.5 * u + 5 * u**2 / 3) * np.exp(-(5**0.5) * u),
    "rational-quadratic": lambda u, a: (1 + u**2 / (2 * a)) ** -a,
}
