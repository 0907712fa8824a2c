"""The omnibus test by its definition: every statistic and the rule that combines them, by loops."""

import numpy as np


def combined(statistics):
    """Rank p-values, with the lead of whoever leads, and the place of their harmonic mean in the pool."""
    m, n = statistics.shape

    def pvalue(s, j):
        count = sum(statistics[s, k] >= statistics[s, j] for k in range(n))
        if count > 1:
            return count / n
        ahead = statistics[s, j] - max(statistics[s, k] for k in range(n) if k != j)
        return 1 / n / (1 + ahead / np.std(statistics[s])) ** 2

    means = [m / sum(1 / pvalue(s, j) for s in range(m)) for j in range(n)]
    return sum(mean <= means[0] * (1 + 1e-9) for mean in means) / n, means


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


def class_counts(labels, probs, weights):
    """Signed root of the deviance of each class, as that of a Poisson count, scaled to its own variance."""
    found = []
    for k, p in enumerate(probs.T):
        observed, expected = sum(weights[labels == k]), sum(weights * p)
        variance = sum(weights**2 * p * (1 - p))
        if variance == 0:
            found.append(0.0)
            continue
        gain = (observed * np.log(observed / expected) if observed > 0 else 0.0) - observed + expected
        found.append(np.sign(observed - expected) * np.sqrt(2 * max(gain, 0.0) * expected / variance))
    return np.array(found)


def skce(labels, probs, weights):
    """Root of the biased SKCE: exponential kernel of total variation, lengthscale the median positive distance."""
    residuals = np.eye(probs.shape[1])[labels] - probs
    distances = np.array([[0.5 * np.abs(p - q).sum() for q in probs] for p in probs])
    lengthscale = np.median(distances[distances > 0])
    kernel = np.exp(-distances / lengthscale) * (residuals @ residuals.T)
    return np.sqrt(max(weights @ kernel @ weights, 0.0)) / weights.sum()
