"""The models that the stack and the advice are measured on: predictions to fit to, and new ones.

Every model belongs to one of two halves. What can be chosen is chosen on the first; the second is looked at once, after
everything is fixed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from calibrant import Predictions
from calibrant.lab.datasets import load_logits

FOLDER, IMAGES, WEAK, TWO = "CIFAR-10", "Fashion-MNIST", "weak networks", "one class against the rest"
"""Groups of models that tables ask for."""

DRAWS = {100: 1, 300: 1, 500: 1, 1000: 1, 5000: 1}
DRAWS_OF_THE_FOLDER = {100: 3, 300: 4, 500: 2, 1000: 2, 5000: 2}
DRAWS_OF_IMAGES = {100: 1, 300: 1, 500: 1, 1000: 1, 5000: 1, 30000: 1}
DRAWS_OF_MANY_CLASSES = {300: 1, 1000: 1}
DRAWS_OF_A_HUNDRED = {300: 1, 500: 1, 1000: 1, 5000: 1}
DRAWS_OF_TWO_CLASSES = {100: 1, 300: 1, 1000: 1}
"""Numbers of rows to fit to, and how many times they are drawn."""


@dataclass(frozen=True)
class Model:
    """A model, whose predictions are made or read when they are needed.

    Attributes
    ----------
    group, name : str
    load : callable
        Of `arguments`. It returns log-probabilities and labels to fit to, and new ones; None in their place means that
        half of the rows are held out.
    arguments : tuple
    draws : mapping of int to int
        Numbers of rows to fit to, and how many times they are drawn.
    is_first : bool
        Whether it belongs to the half that choices are made by.
    """

    group: str
    name: str
    load: Callable[..., Any]
    arguments: tuple[Any, ...]
    draws: Mapping[int, int] = field(compare=False)
    is_first: bool

    def drawn(self, n, draw):
        """Return predictions to fit to and to judge by."""
        known, new = self.load(*self.arguments)
        rows = np.random.default_rng(draw).permutation(len(known[1]))
        if new is None:
            new, rows = [part[rows[len(rows) // 2 :]] for part in known], rows[: len(rows) // 2]
        some = np.random.default_rng([draw, n]).permutation(rows)[:n]
        return tuple(Predictions.from_logits(*part) for part in ([x[some] for x in known], new))


def models(folder):
    """Return all models; `folder`, if there is one, holds archives NAME.npz of `predictions` and `ground_truth`."""
    files = sorted(Path(folder).glob("*.npz")) if folder else []
    found = [
        Model(
            FOLDER, file.stem, archive, (str(file),), DRAWS_OF_THE_FOLDER, "dense" in file.stem or "wide" in file.stem
        )
        for file in files
    ]
    found += [
        Model(IMAGES, name, images, (name,), DRAWS_OF_IMAGES, name in ("ce", "focal-3"))
        for name in ("ce", "focal-2", "focal-3", "focal-5", "flsd-53")
    ]
    found += [
        Model(
            "digits",
            name,
            digits,
            (name,),
            {n: r for n, r in DRAWS.items() if n <= 1000},
            name in ("perceptron", "bayes"),
        )
        for name in ("perceptron", "bayes", "logistic", "lda")
    ]
    found += [
        Model(f"{group}, K = {settings[0]}", f"seed {settings[-1]}", trained, settings, draws, settings[-1] % 2 == 0)
        for group, settings, draws in (
            (WEAK, (10, 0.22, 3000, 60, 0), DRAWS),
            (WEAK, (10, 0.22, 3000, 60, 1), DRAWS),
            (WEAK, (10, 0.22, 3000, 60, 2), DRAWS),
            (WEAK, (10, 0.22, 3000, 60, 3), DRAWS),
            ("small networks", (100, 0.5, 5000, 40, 0), DRAWS_OF_A_HUNDRED),
            ("small networks", (100, 0.5, 5000, 40, 1), DRAWS_OF_A_HUNDRED),
            ("small networks", (300, 0.6, 8000, 15, 0), DRAWS_OF_MANY_CLASSES),
            ("small networks", (300, 0.6, 8000, 15, 1), DRAWS_OF_MANY_CLASSES),
        )
    ]
    found += [
        Model(f"simulated, K = {k}", f"seed {seed}", simulated_halves, (k, seed, n), draws, seed == 0)
        for k, n, draws in ((3, 8000, DRAWS), (100, 8000, DRAWS_OF_MANY_CLASSES), (1000, 3000, DRAWS_OF_MANY_CLASSES))
        for seed in (0, 1)
    ]
    found += [
        Model("table, K = 12", name, table, (name,), DRAWS, name == "bayes") for name in ("bayes", "qda", "perceptron")
    ]
    found += [
        Model("simulated, two classes", truth, two_simulated, (truth,), DRAWS_OF_TWO_CLASSES, "0" in truth)
        for truth in ("unequal spread 0", "unequal spread 1", "straight 0", "straight 1")
    ]
    return found + [
        Model(
            f"{one.group}, {TWO}", f"{one.name}, class {c}", two_classes, (one, c), DRAWS_OF_TWO_CLASSES, one.is_first
        )
        for one in found
        if one.group in (FOLDER, IMAGES)
        for c in (1, 7)
    ]


@cache
def archive(file):
    """Return predictions of a file; half of them are held out."""
    with np.load(file) as arrays:
        p = Predictions(arrays["predictions"], arrays["ground_truth"].ravel())
    return (p.log_probs, p.labels), None


@cache
def images(name):
    """Return what a network says about Fashion-MNIST."""
    return tuple((part.log_probs, part.labels) for part in load_logits(name))


def two_classes(model, c):
    """Return the predictions of one class against the rest."""
    return tuple(None if part is None else one_vs_rest(*part, c) for part in model.load(*model.arguments))


def one_vs_rest(log_probs, labels, c):
    rest = logsumexp(np.delete(log_probs, c, axis=1), axis=1)
    return np.column_stack([rest, log_probs[:, c]]), (labels == c).astype(int)


@cache
def digits(name):
    """Return what a model of scikit-learn says about digits; it was trained on 300."""
    from sklearn.datasets import load_digits
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    inputs, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    inputs, labels = inputs[order], labels[order]
    model = {
        "perceptron": MLPClassifier((20,), max_iter=300, random_state=0),
        "bayes": GaussianNB(),
        "logistic": LogisticRegression(max_iter=200),
        "lda": LinearDiscriminantAnalysis(),
    }[name].fit(inputs[:300], labels[:300])
    log_probs = np.maximum(model.predict_log_proba(inputs), -700.0)
    return (log_probs[300:1300], labels[300:1300]), (log_probs[1300:], labels[1300:])


@cache
def table(name):
    """Return what a model of scikit-learn says about rows whose features repeat each other."""
    from sklearn.datasets import make_classification
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    inputs, labels = make_classification(
        15000, 30, n_informative=8, n_redundant=16, n_classes=12, flip_y=0.03, class_sep=1.5, random_state=12
    )
    model = {
        "bayes": GaussianNB(),
        "qda": QuadraticDiscriminantAnalysis(reg_param=1e-2),
        "perceptron": MLPClassifier((100,), max_iter=60, random_state=5),
    }[name].fit(inputs[:2000], labels[:2000])
    log_probs = np.maximum(model.predict_log_proba(inputs), -700.0)
    return (log_probs[2000:8000], labels[2000:8000]), (log_probs[8000:], labels[8000:])


def two_simulated(truth):
    """Return log-probabilities of two classes 1.5 times too sharp, or those of a line where a curve is right."""
    rng, n = np.random.default_rng(len(truth) + int(truth[-1])), 20000
    labels = rng.random(n) < 0.4
    if "unequal" in truth:
        log_odds = np.where(labels, rng.normal(2.0, 2.0, n), rng.normal(-1.5, 1.0, n))
    else:
        log_odds = 1.5 * rng.normal(0.0, 2.0, n)
        labels = rng.random(n) < 1 / (1 + np.exp(-log_odds / 1.5))
    log_probs = log_softmax(np.column_stack([np.zeros(n), log_odds]), axis=1)
    return (log_probs[:8000], labels[:8000].astype(int)), (log_probs[8000:], labels[8000:].astype(int))


@cache
def trained(k, spread, n_train, n_epochs, seed):
    """Return what an over-confident network says about new rows: groups of five classes are alike.

    Ten classes are told apart in 53 of 100 rows, as by LeNet-5 on CIFAR-10; a hundred in 74 of 100, as by a DenseNet on
    CIFAR-100.
    """
    from sklearn.neural_network import MLPClassifier

    fixed, rng, d = np.random.default_rng([k, 7]), np.random.default_rng(seed), 40
    centres = spread * (fixed.normal(size=(k, d)) + 1.2 * np.repeat(fixed.normal(size=(k // 5, d)), 5, axis=0))
    mixing, scales = fixed.normal(size=(d, d)) / np.sqrt(d), np.exp(0.3 * fixed.normal(size=k))

    def rows(n):
        labels = rng.integers(k, size=n)
        inputs = centres[labels] + scales[labels, None] * rng.normal(size=(n, d))
        return np.tanh(inputs @ mixing) + 0.5 * inputs, labels

    network = MLPClassifier((200 if k >= 100 else 64,), max_iter=n_epochs, random_state=seed, learning_rate_init=2e-3)
    network.fit(*rows(n_train))
    inputs, labels = rows(13000)
    (first, last), (start, end) = network.coefs_, network.intercepts_  # Its probabilities would be rounded to 0.
    log_probs = log_softmax(np.maximum(inputs @ first + start, 0.0) @ last + end, axis=1)
    return (log_probs[:8000], labels[:8000]), (log_probs[8000:], labels[8000:])


def simulated(k, seed, n):
    """Return log-probabilities that are 1.7 times too sharp, and labels; classes differ in bias and scale."""
    rng = np.random.default_rng([seed, k] if isinstance(seed, int) else [*seed, k])
    logits = 3.0 * rng.normal(size=(n, k))
    scales, biases = np.exp(0.2 * rng.normal(size=k)), 0.5 * rng.normal(size=k)
    labels = (logits * scales + biases + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return log_softmax(1.7 * logits, axis=1), labels


@cache
def simulated_halves(k, seed, n):
    log_probs, labels = simulated(k, seed, 2 * n)
    return (log_probs[:n], labels[:n]), (log_probs[n:], labels[n:])
