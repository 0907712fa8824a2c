"""Over-confident data, and minima found without knowing the problem, for the tests of the scaling methods."""

import numpy as np
from scipy.optimize import minimize

from simulate import calibrated, sharpened


def overconfident(n=600, k=4, seed=0, temperature=0.5):
    p = sharpened(calibrated(n=n, k=k, seed=seed), temperature)
    return p.probs, p.labels


def log_loss(probs, labels, weights=None):
    return float(np.average(-np.log(probs[np.arange(len(labels)), labels]), weights=weights))


def in_sample(estimator, probs, labels):
    return log_loss(estimator.fit(probs, labels).predict_proba(probs), labels)


def affine_loss(x, scores, labels, *, diagonal):
    """Mean negative log-likelihood of an affine map, matrix first, written from the definition."""
    k = scores.shape[1]
    coef = np.diag(x[:k]) if diagonal else x[: k * k].reshape(k, k)
    z = scores @ coef.T + x[-k:]
    return np.mean(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(labels)), labels])


def general_minimum(objective, start):
    """Minimum by quasi-Newton steps with numerical derivatives: slow, and knows nothing of the problem."""
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return minimize(objective, found.x, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})


def guarded(probs, rows, n):
    return (n * probs + rows / probs.shape[1]) / (n + rows)


def forest_like(n=300, k=4, votes=7, seed=0):
    """Shares of a few votes: many of them exactly 0."""
    rng = np.random.default_rng(seed)
    probs, _ = overconfident(n=n, k=k, seed=seed, temperature=0.8)
    shares = np.array([rng.multinomial(votes, row) for row in probs]) / votes
    return shares, np.array([rng.choice(k, p=row) for row in probs])
