"""Binary predictions for the tests of calibration tests."""

import numpy as np
from scipy.special import expit, logit

from calibrant import Predictions

PUBLISHED_SLOPE = 0.9942499557748269
PUBLISHED_INTERCEPT = -0.04497652296600376


def published(sharpness=1.0):
    """The simulated data of the calzone project, and its sharpened version (log-odds times 2).

    Drawn as its documentation says, with NumPy's legacy generator, whose stream is frozen; the statistics that the
    project prints for it are reproduced to the last digit, so the rows are the same.
    """
    rng = np.random.RandomState(123)
    probs = rng.beta(0.5, 0.5, size=5000)
    labels = rng.binomial(1, probs)
    return Predictions(expit(sharpness * logit(probs)), labels)


def binary(n=500, seed=0, sharpness=1.0, shift=0.0, weighted=False):
    """Labels drawn from uniform probabilities, and predictions with other log-odds."""
    rng = np.random.default_rng(seed)
    probs = rng.random(n)
    labels = (rng.random(n) < probs).astype(int)
    weights = rng.exponential(3.0, size=n) if weighted else None
    return Predictions(expit(sharpness * logit(probs) + shift), labels, weights)
