"""Log-odds with labels that follow known maps, for tests."""

import numpy as np
from scipy.special import expit

TRUTHS = {
    "over-confident": lambda x: 0.3 + 0.6 * x,
    "reversed": lambda x: -0.8 * x,
    "only high scores matter": lambda x: np.where(x > 0, 2 * x, -0.4 * x),
    "bent": lambda x: 1 - 0.3 * x**2 + 0.5 * x,
}


def draw(n=80, seed=0, truth=lambda x: 0.3 + 0.6 * x):
    """Log-odds, labels that follow the truth, and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * 2
    return x, rng.random(n) < expit(truth(x)), rng.random(n) + 0.2


def log_loss(scores, targets, weights):
    return float(np.average(np.logaddexp(0, scores) - targets * scores, weights=weights))
