"""Synthetic predictions with known calibration, for tests."""

import numpy as np

from calibrant import Predictions


def draw_labels(probs, rng):
    """Draw one label from every row."""
    cumulative = probs.cumsum(axis=1)
    return (rng.random((len(probs), 1)) >= cumulative[:, :-1]).sum(axis=1)


def calibrated(n=400, k=3, seed=0, concentration=1.0):
    """Probabilities from a Dirichlet law, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(k, concentration), size=n)
    return Predictions(probs, draw_labels(probs, rng))


def sharpened(predictions, temperature):
    """The same labels with probabilities raised to 1 / temperature and normalised."""
    powers = predictions.probs ** (1 / temperature)
    return Predictions(powers / powers.sum(axis=1, keepdims=True), predictions.labels, predictions.weights)


def at_least(needed, total, outcomes):
    """Whether at least so many of the outcomes are true; those that cannot change the answer are not computed."""
    held = 0
    for done, outcome in enumerate(outcomes, start=1):
        held += bool(outcome)
        if held >= needed or held + total - done < needed:
            break
    return held >= needed
