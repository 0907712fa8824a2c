"""What stacked calibration gains over single calibrators, on models that its defaults were and were not chosen by.

`python benchmarks/calibrators_stack.py [FOLDER] [PART ...]` prints log losses and Brier scores on new rows minus those
of other calibrators, times 1000, so that negative is better: means over models and draws of rows, with standard errors
over them. FOLDER may hold archives NAME.npz with `predictions`, (n, K), and `ground_truth`: half of a permutation is
held out. Parts are "many" (classes) and "two"; by default both, in half an hour on one core. What the defaults of
single calibrators gain is in calibrators_defaults.py.
"""

import os

# Fitting takes one core on any machine. This must be set before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.special import log_softmax, logsumexp

from calibrant import Predictions
from calibrant.calibrators import calibrate, parse
from calibrant.lab.datasets import load_logits
from calibrant.metrics import NLL, Brier

SIZES = {100: 3, 300: 3, 1000: 2, 5000: 1, 30000: 1}
"""Rows to fit to, and how many times they are drawn."""
MANY = ("ts", "svs", "sms", "iop-diag", "stack-order", "stack")
MOST = ("ts", "svs", "stack-order", "stack")
TWO = ("ts>guard", "platt>guard", "spline>guard", "svs", "stack")
PARTS = ("many", "two")
CHOSEN_BY = ("densenet169", "wideresnet", "mobilenet", "ce", "focal-3", "perceptron", "bayes", "seed 0")
"""Models that the members, the prior and the map were chosen by, beside others (docs/calibrators.md)."""


def simulated(k, seed, n):
    """Log-probabilities that are 1.7 times too sharp, and labels; classes differ in bias and scale."""
    rng = np.random.default_rng([seed, k])
    logits = 3.0 * rng.normal(size=(n, k))
    scales, biases = np.exp(0.2 * rng.normal(size=k)), 0.5 * rng.normal(size=k)
    labels = (logits * scales + biases + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return log_softmax(1.7 * logits, axis=1), labels


def digits():
    """Yield names of scikit-learn models, and the log-probabilities and labels of rows not trained on."""
    from sklearn.datasets import load_digits
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    inputs, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    inputs, labels = inputs[order], labels[order]
    models = {
        "perceptron": MLPClassifier((20,), max_iter=300, random_state=0),
        "bayes": GaussianNB(),
        "logistic": LogisticRegression(max_iter=200),
        "lda": LinearDiscriminantAnalysis(),
    }
    for name, model in models.items():
        model.fit(inputs[:300], labels[:300])
        yield name, np.maximum(model.predict_log_proba(inputs[300:]), -700.0), labels[300:]


def trained(k, spread, n_train, n_epochs, seed):
    """Log-probabilities of an over-confident network for new rows, and labels: groups of five classes are alike."""
    from sklearn.neural_network import MLPClassifier

    fixed, rng, d = np.random.default_rng([k, 7]), np.random.default_rng(seed), 40
    centres = spread * (fixed.normal(size=(k, d)) + 1.2 * np.repeat(fixed.normal(size=(k // 5, d)), 5, axis=0))
    mixing, scales = fixed.normal(size=(d, d)) / np.sqrt(d), np.exp(0.3 * fixed.normal(size=k))

    def rows(n):
        labels = rng.integers(k, size=n)
        inputs = centres[labels] + scales[labels, None] * rng.normal(size=(n, d))
        return np.tanh(inputs @ mixing) + 0.5 * inputs, labels

    network = MLPClassifier((2 * k if k == 100 else 64,), max_iter=n_epochs, random_state=seed, learning_rate_init=2e-3)
    network.fit(*rows(n_train))
    inputs, labels = rows(13000)
    (first, last), (start, end) = network.coefs_, network.intercepts_  # Its probabilities would be rounded to 0.
    return log_softmax(np.maximum(inputs @ first + start, 0.0) @ last + end, axis=1), labels


def models(folder):
    """Yield groups, names, and two pairs of log-probabilities and labels: to fit to, and new ones."""
    for file in sorted(Path(folder).glob("*.npz")) if folder else ():
        with np.load(file) as archive:
            p = Predictions(archive["predictions"], archive["ground_truth"].ravel())
        yield "networks of the folder", file.stem, (p.log_probs, p.labels), None
    for name, log_probs, labels in digits():
        yield "digits", name, (log_probs[:1000], labels[:1000]), (log_probs[1000:], labels[1000:])
    for settings in (
        (10, 0.22, 3000, 60, 0),
        (10, 0.4, 2500, 100, 1),
        (100, 0.5, 10000, 100, 0),
        (100, 0.38, 10000, 45, 1),
    ):
        log_probs, labels = trained(*settings)
        both = ((log_probs[:8000], labels[:8000]), (log_probs[8000:], labels[8000:]))
        yield f"small networks, K = {settings[0]}", f"seed {settings[-1]}", *both
    for name in ("ce", "focal-2", "focal-3", "focal-5", "flsd-53"):
        yield "Fashion-MNIST", name, *((part.log_probs, part.labels) for part in load_logits(name))
    for k, n in ((3, 8000), (100, 8000), (1000, 4000)):
        for seed in (0, 1):
            log_probs, labels = simulated(k, seed, 2 * n)
            yield f"simulated K = {k}", f"seed {seed}", (log_probs[:n], labels[:n]), (log_probs[n:], labels[n:])


def two_classes(log_probs, labels, c):
    """One class against the rest."""
    rest = logsumexp(np.delete(log_probs, c, axis=1), axis=1)
    return np.column_stack([rest, log_probs[:, c]]), (labels == c).astype(int)


def draws(known, new):
    """Yield sizes, and predictions to fit to and to judge by."""
    for n, repeats in SIZES.items():
        for seed in range(repeats):
            rows = np.random.default_rng(seed).permutation(len(known[1]))
            judged = new
            if new is None:
                judged, rows = [part[rows[len(rows) // 2 :]] for part in known], rows[: len(rows) // 2]
            if n <= len(rows):
                drawn = np.random.default_rng([seed, n]).permutation(rows)[:n]
                yield n, *(Predictions.from_logits(*part) for part in ([x[drawn] for x in known], judged))


def fitted(name, predictions):
    calibrator = parse(name, scores="logits")
    return calibrator.fit(predictions.log_probs, predictions.labels, classes=predictions.classes)


def table(title, names, cells):
    print(title)
    for n, values in sorted(cells.items()):
        losses = 1000 * np.array(values)
        words = [f"{name} {losses[:, j, 0].mean() / 1000:.4f}" for j, name in enumerate(names)]
        print(f"  n = {n}, {len(losses)} fits: {', '.join(words)}")
        for j, name in enumerate(names[:-1]):
            gains = losses[:, -1] - losses[:, j]
            errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.zeros(2)
            nll, brier = (
                f"{mean:+7.2f} +- {error:4.2f}" for mean, error in zip(gains.mean(axis=0), errors, strict=True)
            )
            print(f"    {names[-1]} - {name:12} log loss {nll}   Brier {brier}")
    sys.stdout.flush()


def main(folder, parts):
    cells, last = defaultdict(lambda: defaultdict(list)), None
    for group, name, known, new in models(folder):
        if group != last:
            show(cells)
        last = group
        seen = "seen" if any(part in name for part in CHOSEN_BY if part != "ce") or name == "ce" else "unseen"
        n_classes = known[0].shape[1]
        names = MANY if n_classes <= 200 else MOST
        for n, some, judged in draws(known, new) if "many" in parts else ():
            after = [calibrate(fitted(c, some), judged) for c in names]
            cells[group, seen, names][n].append([[metric(p) for metric in (NLL(), Brier())] for p in after])
        if "two" in parts and n_classes == 10 and group in ("networks of the folder", "Fashion-MNIST"):
            for c in (1, 7):
                pairs = [None if part is None else two_classes(*part, c) for part in (known, new)]
                for n, some, judged in draws(*pairs):
                    if n <= 5000:
                        after = [calibrate(fitted(one, some), judged) for one in TWO]
                        cells[f"{group}, one class against the rest", seen, TWO][n].append(
                            [[metric(p) for metric in (NLL(), Brier())] for p in after]
                        )
        print(f"({name} done)", file=sys.stderr, flush=True)
    show(cells)


def show(cells):
    for (group, seen, names), found in cells.items():
        table(f"{group}, {seen}", names, found)
    cells.clear()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Some small samples are separable, or lack classes.
    given = [word for word in sys.argv[1:] if word in PARTS]
    main(next((word for word in sys.argv[1:] if word not in PARTS), None), given or PARTS)
