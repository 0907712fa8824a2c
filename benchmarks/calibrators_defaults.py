"""What the defaults of structured and of quadratic scaling gain and cost, on simulated data.

`python benchmarks/calibrators_defaults.py` prints log losses on new rows, times 1000, relative to a reference: negative
is better. It takes some minutes.
"""

import warnings

import numpy as np
from scipy.special import expit, log_softmax

from calibrant.calibrators import PlattScaling, QuadraticScaling, StructuredScaling

N_NEW = 4000
REPEATS = 3
INTERCEPTS = (1.0, 0.3, 0.1)
TRUTHS = ("temperature", "bias", "scale", "matrix", "all")


def many_classes(truth, n, k, rng):
    """Log-probabilities 1.7 times too sharp and labels, after which the classes may differ in bias, scale or mixing."""
    logits = 3.0 * rng.normal(size=(n + N_NEW, k))
    matrix, bias = np.eye(k), np.zeros(k)
    if truth in ("bias", "all"):
        bias = 0.5 * rng.normal(size=k)
    if truth in ("scale", "all"):
        matrix = matrix * np.exp(0.2 * rng.normal(size=k))[:, None]
    if truth in ("matrix", "all"):
        matrix = matrix + 0.1 * rng.normal(size=(k, k)) * (1 - np.eye(k))
    labels = (logits @ matrix.T + bias + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return log_softmax(1.7 * logits, axis=1), labels


def structured_loss(settings, log_probs, labels, n):
    fitted = StructuredScaling(**settings).learn(log_probs[:n], labels[:n], np.ones(n))
    return -fitted.transform(log_probs[n:])[np.arange(N_NEW), labels[n:]].mean()


def structured():
    settings = [{"intercept": value} for value in INTERCEPTS] + [{"intercept": 1.0, "guard": False}]
    print(f"structured scaling against intercept=1 (the published one): {settings[1:]}")
    for structure in ("vector", "matrix"):
        for k, n in ((3, 200), (3, 1000), (10, 200), (10, 1000), (10, 5000)):
            cells = []
            for truth in TRUTHS:
                losses = []
                for seed in range(REPEATS):
                    data = many_classes(truth, n, k, np.random.default_rng([seed, k, n, TRUTHS.index(truth)]))
                    losses.append([structured_loss({"structure": structure, **s}, *data, n) for s in settings])
                gains = 1000 * (np.mean(losses, axis=0)[1:] - np.mean(losses, axis=0)[0])
                cells.append(f"{truth} " + " ".join(f"{gain:+6.1f}" for gain in gains))
            print(f"  {structure} K = {k:2}, n = {n:4}: {'; '.join(cells)}", flush=True)


def two_classes(truth, n, rng):
    """Log-odds of a model and labels."""
    size = n + 5 * N_NEW
    if truth == "unequal variances":
        labels = rng.random(size) < 0.4
        return np.where(labels, rng.normal(2.0, 2.0, size), rng.normal(-1.5, 1.0, size)), labels
    log_odds = rng.standard_t(2.5, size) * 2 if truth == "heavy tails" else rng.normal(0.0, 2.0, size)
    if truth == "larger spread of new rows":
        log_odds = 0.75 * log_odds
        log_odds[n:] *= 2
    return 1.5 * log_odds, rng.random(size) < expit(log_odds)


def binary_loss(calibrator, log_odds, labels, n):
    found = calibrator.fit_line(log_odds[:n], labels[:n], np.ones(n)).log_odds(log_odds[n:])
    return np.logaddexp(0.0, np.where(labels[n:], -found, found)).mean()


def quadratic():
    print("quadratic scaling against Platt scaling: free (as published), monotone")
    calibrators = [PlattScaling(), QuadraticScaling(monotone=False), QuadraticScaling(monotone=True)]
    for truth in ("straight", "unequal variances", "heavy tails", "larger spread of new rows"):
        for n in (60, 200, 1000):
            losses = []
            for seed in range(40):
                data = two_classes(truth, n, np.random.default_rng([seed, n]))
                losses.append([binary_loss(calibrator, *data, n) for calibrator in calibrators])
            excess = 1000 * (np.array(losses)[:, 1:] - np.array(losses)[:, :1])
            means = " ".join(f"{value:+7.1f}" for value in excess.mean(axis=0))
            worst = " ".join(f"{value:+7.1f}" for value in excess.max(axis=0))
            print(f"  {truth:26} n = {n:4}: mean {means}   worst of 40 {worst}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Some small samples are separable.
    quadratic()
    structured()
