"""What the tests of ensembles share."""

import numpy as np
import pytest

from calibrant import Predictions
from calibrant.metrics import NLL, Brier
from simulate import calibrated, sharpened

losses = pytest.mark.parametrize("loss", ["nll", "brier"])
LOSSES = {"nll": NLL(), "brier": Brier()}


def mixed_loss(loss, p, members):
    rows, onehot = np.arange(p.n_samples), np.eye(p.n_classes)[p.labels]
    share = p.weights / p.weights.sum()
    if loss == "nll":
        return lambda w: -share @ np.log(np.tensordot(w, members, 1)[rows, p.labels] + 1e-300)
    return lambda w: share @ ((np.tensordot(w, members, 1) - onehot) ** 2).sum(axis=1)


def over_confident(n=500, k=4, seed=0):
    """Over-confident predictions, of which one in seven is a guess."""
    p = sharpened(calibrated(n=n, k=k, seed=seed), 0.5)
    rng = np.random.default_rng(seed)
    guesses = rng.random(n) < 1 / 7
    return Predictions(p.probs, np.where(guesses, rng.integers(0, k, n), p.labels), rng.integers(1, 4, n))
