"""The omnibus test by its definition: every statistic and the rule of the smallest p-value, by loops."""

import numpy as np


def smallest(statistics):
    """Rank p-values, their minimum, the furthest of those that tie, and its place in the pool."""
    m, n = statistics.shape
    counts = np.array([[sum(row[k] >= row[j] for k in range(n)) for j in range(n)] for row in statistics])
    spread = [np.std(row) for row in statistics]

    def key(j):
        tied = [s for s in range(m) if counts[s, j] == counts[:, j].min()]
        depths = [(statistics[s, j] - statistics[s].mean()) / spread[s] if spread[s] > 0 else 0.0 for s in tied]
        return counts[:, j].min(), max(depths)

    keys = [key(j) for j in range(n)]
    first, depth = keys[0]
    extreme = sum(count < first or (count == first and deep >= depth - 1e-9) for count, deep in keys)
    return extreme / n, counts / n


def score(coefficients, outcomes, probs, weights):
    """Sum of w x (y - p) in standard deviations."""
    rows = list(zip(coefficients, outcomes, probs, weights, strict=True))
    total = sum(w * x * (y - p) for x, y, p, w in rows)
    variance = sum((w * x) ** 2 * p * (1 - p) for x, _, p, w in rows)
    return total / np.sqrt(variance) if variance > 0 else 0.0


def centred_log_odds(probs, weights):
    """Log-odds minus the mean with which their score is uncorrelated with the bias."""
    clipped = np.clip(probs, 1e-12, 1 - 1e-12)
    odds = np.log(clipped / (1 - clipped))
    variances = weights**2 * probs * (1 - probs)
    centred = odds - (np.average(odds, weights=variances) if variances.sum() > 0 else 0.0)
    return np.where(np.abs(centred) > 1e-12 * np.abs(odds).max(), centred, 0.0)  # The mean of equal numbers rounds.


def running_range(outcomes, probs, weights):
    """Largest minus smallest value of the running sum, which starts at 0, in standard deviations of its end."""
    sums = [sum((weights * (outcomes - probs))[probs <= value]) for value in np.unique(probs)]
    variance = sum(weights**2 * probs * (1 - probs))
    return (max(0.0, *sums) - min(0.0, *sums)) / np.sqrt(variance) if variance > 0 else 0.0


def of_two_classes(labels, positive, weights):
    """Every part that decides about two classes but the impossible labels."""
    return {
        "bias": score(np.ones(len(positive)), labels, positive, weights),
        "slope": score(centred_log_odds(positive, weights), labels, positive, weights),
        "spiegelhalter": score(1 - 2 * positive, labels, positive, weights),
        "ecce": running_range(labels, positive, weights),
    }


def slope(labels, probs, weights):
    """Derivative of the log-likelihood by the inverse temperature, in standard deviations."""
    logs = np.log(np.maximum(probs, 1e-12))
    total = variance = 0.0
    for y, p, x, w in zip(labels, probs, logs, weights, strict=True):
        mean = p @ x
        total += w * (x[y] - mean)
        variance += w**2 * (p @ (x - mean) ** 2)
    return total / np.sqrt(variance) if variance > 0 else 0.0


def class_scores(labels, probs, weights):
    """Bias and slope of every class; the bias is damped by the fourth root of the relative variance."""
    variances = [sum(weights**2 * p * (1 - p)) for p in probs.T]
    biases, slopes = [], []
    for k, p in enumerate(probs.T):
        y = (labels == k).astype(float)
        biases.append(score(np.ones(len(p)), y, p, weights) * (variances[k] / max(variances)) ** 0.25)
        slopes.append(score(centred_log_odds(p, weights), y, p, weights))
    return np.array(biases), np.array(slopes)


def skce(labels, probs, weights):
    """Root of the biased SKCE: exponential kernel of total variation, lengthscale the median positive distance."""
    residuals = np.eye(probs.shape[1])[labels] - probs
    distances = np.array([[0.5 * np.abs(p - q).sum() for q in probs] for p in probs])
    lengthscale = np.median(distances[distances > 0])
    kernel = np.exp(-distances / lengthscale) * (residuals @ residuals.T)
    return np.sqrt(max(weights @ kernel @ weights, 0.0)) / weights.sum()
