"""What maps of raw logits gain and cost against the same maps of canonical logits: log loss on new rows.

`python benchmarks/raw_logits.py [FILE.npz ...]` prints, for every network and number of rows to fit to, medians over
random sets of rows: the log loss of both maps, their difference, and in how many sets raw logits are better. Means
would be decided by sets in which a class is separable. A further file has the labels as `labels` or `ground_truth`,
and `logits`, or probabilities as `predictions`, whose logarithms are taken. It takes some minutes.
"""

import os

# Fitting takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier

from calibrant.calibrators import parse
from calibrant.lab.datasets.dataset import NETWORKS, logits_folder

METHODS = ("vs", "ms", "iop-diag", "irova")
SIZES = (1000, 5000)
SPLITS = 9


def bundled(network):
    """Logits of a convolutional network on Fashion-MNIST, trained with a softmax."""
    with np.load(logits_folder() / f"{network}.npz") as archive:
        parts = [archive[f"{part}_{what}"] for part in ("calibration", "test") for what in ("logits", "labels")]
    return parts[0].astype(float), parts[1], parts[2].astype(float), parts[3]


def trained(link):
    """Outputs of a network before its softmax, or before one sigmoid for each class, on simulated data."""
    x, y = make_classification(26_000, 20, n_informative=10, n_classes=5, class_sep=1.2, flip_y=0.1, random_state=0)
    network = MLPClassifier((64,), learning_rate_init=0.01, max_iter=60, random_state=0)
    network.fit(x[:6000], y[:6000] if link == "softmax" else np.eye(5, dtype=int)[y[:6000]])
    hidden = np.maximum(x[6000:] @ network.coefs_[0] + network.intercepts_[0], 0.0)
    logits = hidden @ network.coefs_[1] + network.intercepts_[1]
    return logits[:10_000], y[6000:16_000], logits[10_000:], y[16_000:]


def from_file(path):
    """Half of the rows to fit to, the others to judge by."""
    with np.load(path) as archive:
        labels = archive["labels" if "labels" in archive else "ground_truth"]
        if "logits" in archive:
            logits = archive["logits"].astype(float)
        else:
            logits = np.log(np.maximum(archive["predictions"].astype(float), 1e-38))
    rows = np.random.default_rng(0).permutation(len(labels))
    half = len(labels) // 2
    return logits[rows[:half]], labels[rows[:half]], logits[rows[half:]], labels[rows[half:]]


def log_loss(method, scores, fit, new):
    """Mean log loss on new rows of a map that was fitted to others."""
    result = parse(method, scores=scores).fit(*fit).predict_proba(new[0])
    return -np.log(np.maximum(result[np.arange(len(new[1])), new[1]], 1e-300)).mean()


def compare(name, data):
    """Print one block of lines."""
    logits, labels, *new = data
    offsets = logsumexp(logits, axis=1).std(), logits.mean(axis=1).std()
    print(f"{name}: over rows, log-sum-exp has sd {offsets[0]:.2f}, the mean logit sd {offsets[1]:.2f}")
    for n in SIZES:
        rows = [np.random.default_rng(seed).permutation(len(labels))[:n] for seed in range(SPLITS)]
        fits = [(logits[part], labels[part]) for part in rows]
        best = np.median([log_loss("sms", "logits", fit, new) for fit in fits])
        print(f"  n = {n}: sms {best:.4f}", end="")
        for method in METHODS:
            pairs = np.array([[log_loss(method, s, fit, new) for s in ("logits", "raw-logits")] for fit in fits])
            change = np.round(pairs[:, 1] - pairs[:, 0], 5)
            told = f"{np.median(change):+.4f}, better in {(change < 0).sum()}" if change.any() else "the same"
            canonical, raw = np.median(pairs, axis=0)
            print(f"; {method} {canonical:.4f} raw {raw:.4f} ({told})", end="", flush=True)
        print()


def main():
    """Print everything."""
    warnings.simplefilter("ignore")
    print(f"log loss of new rows, medians of {SPLITS} random sets of n rows; in brackets: raw minus canonical")
    for network in NETWORKS:
        compare(f"Fashion-MNIST, {network}", bundled(network))
    for link in ("softmax", "sigmoid"):
        compare(f"simulated data, MLP with {link} outputs", trained(link))
    for path in sys.argv[1:]:
        compare(Path(path).stem, from_file(path))


if __name__ == "__main__":
    main()
