"""What the defaults of structured and of quadratic scaling gain and cost, on simulated data and on real models.

`python benchmarks/calibrators_defaults.py` prints log losses on new rows against a reference, times 1000: negative is
better. On simulated data it is their difference, on real models the relative one. It takes some minutes.
"""

import os

# Fitting takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import warnings
from collections import defaultdict

import numpy as np
from scipy.special import expit, log_softmax

from calibrant import Predictions
from calibrant.calibrators import PlattScaling, QuadraticScaling, StructuredScaling
from calibrant.lab.datasets import load_dataset, load_logits

N_NEW = 4000
REPEATS = 3
TRUTHS = ("temperature", "bias", "scale", "matrix", "all")
SIZES = {100: 3, 300: 3, 1000: 2, 5000: 1}
"""Rows to fit to, and how many times they are drawn."""
NETWORKS = ("ce", "focal-2", "focal-3", "focal-5", "flsd-53")


class Published(StructuredScaling):
    """Temperature scaling, a guard of one row, normalised features, and nothing special about zeros."""

    def __init__(self, structure="matrix", diagonal=1.0, off_diagonal=1.0, intercept=1.0, guard=1.0):
        super().__init__(structure, diagonal, off_diagonal, intercept, guard)

    def _possible(self, log_probs):
        return log_probs

    def _tempered(self, log_probs):
        return log_softmax(super()._tempered(log_probs), axis=1)


class KeepZeros(StructuredScaling):
    """The default without the guard that comes first where there are zeros."""

    def __init__(self, structure="matrix"):
        super().__init__(structure)

    def _possible(self, log_probs):
        return log_probs


CANDIDATES = {
    "published": Published,
    "default": StructuredScaling,
    "guard=1": lambda s: StructuredScaling(s, guard=1.0),
    "guard=0": lambda s: StructuredScaling(s, guard=0.0),
    "intercept=0.3": lambda s: StructuredScaling(s, intercept=0.3),
}
"""Functions of the structure; the first is the reference."""
FOR_REAL_MODELS = CANDIDATES | {"zeros kept": KeepZeros}


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


def structured_losses(candidates, structure, known, new):
    """Return the loss of every candidate on new rows; rows are pairs of log-probabilities and labels."""
    rows, weights = np.arange(len(new[1])), np.ones(len(known[1]))
    fitted = (build(structure).learn(*known, weights) for build in candidates.values())
    return [-np.maximum(f.transform(new[0])[rows, new[1]], np.log(np.finfo(float).tiny)).mean() for f in fitted]


def structured():
    print(f"structured scaling on simulated data, difference from published: {', '.join(list(CANDIDATES)[1:])}")
    for structure in ("vector", "matrix"):
        for k, n in ((3, 200), (3, 1000), (10, 200), (10, 1000), (10, 5000)):
            cells = []
            for truth in TRUTHS:
                losses = []
                for seed in range(REPEATS):
                    data = many_classes(truth, n, k, np.random.default_rng([seed, k, n, TRUTHS.index(truth)]))
                    known, new = [part[:n] for part in data], [part[n:] for part in data]
                    losses.append(structured_losses(CANDIDATES, structure, known, new))
                gains = 1000 * (np.mean(losses, axis=0)[1:] - np.mean(losses, axis=0)[0])
                cells.append(f"{truth} " + " ".join(f"{gain:+6.1f}" for gain in gains))
            print(f"  {structure} K = {k:2}, n = {n:4}: {'; '.join(cells)}", flush=True)


def sklearn_models(seed):
    """Yield names and models, not fitted."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    yield "logistic", LogisticRegression(C=10.0, max_iter=500)
    yield "lda", LinearDiscriminantAnalysis()
    yield "bayes", GaussianNB()
    yield "qda", QuadraticDiscriminantAnalysis(reg_param=3e-3)
    yield "perceptron", MLPClassifier((100,), max_iter=60, random_state=seed)
    yield "boosting", HistGradientBoostingClassifier(max_iter=50, random_state=seed)
    yield "forest", RandomForestClassifier(80, random_state=seed)
    yield "extra trees", ExtraTreesClassifier(80, min_samples_leaf=2, random_state=seed)
    yield "neighbours", KNeighborsClassifier(20)


def tables():
    """Yield names and three pairs of inputs and labels: to train, to calibrate, and new ones."""
    from sklearn.datasets import make_classification
    from sklearn.decomposition import PCA

    try:
        images = load_dataset("fashion-mnist", seed=5)
    except OSError as error:
        print(f"  left out: {error}")
    else:
        sizes = {images.train: 6000, images.calibration: 20000, images.test: 10000}
        parts = [(split.inputs[:n].reshape(n, -1), split.labels[:n]) for split, n in sizes.items()]
        project = PCA(30, random_state=0).fit(parts[0][0]).transform
        yield "images", [(project(inputs), labels) for inputs, labels in parts]
    for k, n_informative in ((4, 6), (12, 10)):
        inputs, labels = make_classification(
            30000, 20, n_informative=n_informative, n_classes=k, n_clusters_per_class=2, flip_y=0.03, random_state=k
        )
        yield f"simulated {k}", [(inputs[rows], labels[rows]) for rows in np.split(np.arange(30000), (6000, 20000))]


def real_models():
    """Yield groups, names, and two pairs of log-probabilities and labels: to calibrate, and new ones."""
    for name in NETWORKS:
        yield "networks", name, *((part.log_probs, part.labels) for part in load_logits(name))
    for table, (train, *parts) in tables():
        for name, model in sklearn_models(seed=5):
            model.fit(*train)
            known, new = (Predictions(model.predict_proba(inputs), labels) for inputs, labels in parts)
            yield (
                group_of(known.probs),
                f"{name} ({table})",
                (known.log_probs, known.labels),
                (new.log_probs, new.labels),
            )


def group_of(probs):
    """Return whether there are zeros, and why: shares of votes are 0 or not small, densities underflow."""
    if probs.min() > 0:
        return "models without zeros"
    return "zeros by underflow" if probs[probs > 0].min() < 1e-30 else "zeros of votes"


def structured_on_real_models():
    print(
        f"structured scaling on real models, relative to published: {', '.join(list(FOR_REAL_MODELS)[1:])}", flush=True
    )
    names, changes = defaultdict(list), defaultdict(list)
    for group, name, known, new in real_models():
        names[group].append(name)
        for structure in ("vector", "matrix"):
            for n, repeats in SIZES.items():
                losses = []
                for seed in range(repeats):
                    rows = np.random.default_rng([seed, n]).choice(len(known[1]), n, replace=False)
                    losses.append(structured_losses(FOR_REAL_MODELS, structure, [part[rows] for part in known], new))
                means = np.mean(losses, axis=0)
                changes[group, structure, n].append(1000 * (means[1:] / means[0] - 1))
    for group, members in names.items():
        print(f"  {group}: {', '.join(members)}")
        for structure in ("vector", "matrix"):
            for n in SIZES:
                print(f"    {structure} n = {n:4}: {summary(np.array(changes[group, structure, n]))}")
            over_sizes = np.mean([changes[group, structure, n] for n in SIZES], axis=0)
            print(f"    {structure}    all n: {summary(over_sizes)}", flush=True)


def summary(values):
    """Return means over models, with standard errors."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    pairs = zip(values.mean(axis=0), errors, strict=True)
    return "  ".join(f"{mean:+7.1f} +- {error:4.1f}" for mean, error in pairs)


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
    structured_on_real_models()
