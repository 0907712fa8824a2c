"""Data with groups that are known: the seeded example, and worlds in which one cell, or none, is off."""

import numpy as np

from calibrant import Predictions


def logistic(x):
    return 1 / (1 + np.exp(-x))


def seeded_example():
    """Return predictions, labels and features: fine on all rows, off by one unit of log-odds in two cells."""
    rng, n = np.random.default_rng(21), 6000
    g, h, x, e = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.standard_normal(n), rng.uniform(size=n)
    odds = -0.5 + x
    truth = odds + ((g == 2) & (h == 1)) - 1.0 * ((g == 2) & (h == 0))
    return logistic(odds), (e < logistic(truth)).astype(int), {"g": g, "h": h, "x": x}


def world(n, shift, rng):
    """Return predictions and four columns with 4, 3, 2 and 5 levels; an eighth of the rows is off by the shift."""
    features = {f"x{j}": rng.integers(0, k, n) for j, k in enumerate((4, 3, 2, 5))}
    odds = rng.normal(-0.5, 1.0, n)
    bad = (features["x0"] == 1) & (features["x2"] == 0)
    return Predictions(logistic(odds), (rng.random(n) < logistic(odds + shift * bad)).astype(int)), features
