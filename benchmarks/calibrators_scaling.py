"""Scaling methods against their peers, fit and predict, in one run.

Call it as `python benchmarks/calibrators_scaling.py [FILE.npz]`. Peers that are not installed are left out. The file
holds `predictions`, probabilities of 10 000 rows, and `ground_truth`; it adds a table of the quality on its second half
of a map fitted on the first. On a shared machine only the ratios mean something, and the smallest of several runs.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from calibrant import Predictions
from calibrant.calibrators import CALIBRATORS
from calibrant.metrics import ECE, NLL, Brier

SIZES = [(30_000, 100), (25_000, 1000)]
BARS = {("temperature", 30_000, "scikit-learn"): 4.0}
"""How many times as long a peer has to take; any other has to take longer than we do."""
TOO_LONG = 5.0
"""Seconds of a run after which it is not repeated."""

SCALING = ["identity", "ts", "vs", "ms", "dirichlet", "svs", "sms", "guard"]


def simulate(n, n_classes, seed=0):
    """Logits 1.7 times too large, and labels."""
    rng = np.random.default_rng(seed)
    logits = 3.0 * rng.normal(size=(n, n_classes))
    return 1.7 * logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


class Logits(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its logits."""

    def fit(self, X, _):
        self.classes_ = np.arange(X.shape[1])
        return self

    def decision_function(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


def ours(name):
    def run(logits, labels, new):
        return CALIBRATORS[name](scores="logits").fit(logits, labels).predict_proba(new)

    return run


def scikit_learn(logits, labels, new):
    frozen = FrozenEstimator(Logits().fit(logits, labels))
    peer = CalibratedClassifierCV(frozen, method="temperature", ensemble=False)
    return peer.fit(logits, labels).predict_proba(new)


def probmetrics(name):
    def run(logits, labels, new):
        import torch
        from probmetrics import calibrators
        from probmetrics.distributions import CategoricalLogits

        peer = getattr(calibrators, f"{name}Calibrator")()
        peer.fit_torch(CategoricalLogits(torch.as_tensor(logits)), torch.as_tensor(labels))
        return peer.predict_proba_torch(CategoricalLogits(torch.as_tensor(new))).get_probs().numpy()

    return run


def netcal(logits, labels, new):
    from netcal.scaling import TemperatureScaling

    fitted, asked = (np.exp(z - z.max(axis=1, keepdims=True)) for z in (logits, new))
    fitted /= fitted.sum(axis=1, keepdims=True)
    asked /= asked.sum(axis=1, keepdims=True)
    return TemperatureScaling().fit(fitted, labels).transform(asked)


CONTESTS = {
    "temperature": {
        "calibrant": ours("ts"),
        "scikit-learn": scikit_learn,
        "probmetrics": probmetrics("TemperatureScaling"),
        "netcal": netcal,
    },
    "structured vector": {"calibrant": ours("svs"), "probmetrics": probmetrics("SVS")},
}


def contest(title, programs, data, repeats):
    logits, labels = data
    half = len(labels) // 2
    seconds, losses = {}, {}
    for repeat in range(repeats):
        for name, program in programs.items():
            if repeat and seconds.get(name, np.inf) > TOO_LONG:
                continue
            start = time.perf_counter()
            try:
                probs = program(logits[:half], labels[:half], logits[half:])
            except ImportError:
                continue
            took = time.perf_counter() - start
            seconds[name] = min(took, seconds.get(name, np.inf))
            losses[name] = -np.log(probs[np.arange(half), labels[half:]]).mean()
    print(f"{title}, n = {len(labels)}, K = {logits.shape[1]}")
    for name, took in seconds.items():
        ratio = took / seconds["calibrant"]
        bar = "" if name == "calibrant" else f"   bar {BARS.get((title, len(labels), name), 1.0):g}"
        print(f"  {name:13} {took:8.3f} s {ratio:8.1f} x ours   NLL {losses[name]:.6f}{bar}", flush=True)


def quality(path):
    with np.load(path) as file:
        probs, labels = file["predictions"], file["ground_truth"]
    rows = np.random.default_rng(0).permutation(len(labels))
    fit, test = np.split(rows, 2)
    print("quality on the second half      NLL    Brier   ECE-15   fit / ms   predict / ms")
    for name in SCALING:
        best = [np.inf, np.inf]
        for _ in range(3):
            start = time.perf_counter()
            fitted = CALIBRATORS[name]().fit(probs[fit], labels[fit])
            middle = time.perf_counter()
            p = Predictions(fitted.predict_proba(probs[test]), labels[test])
            best = np.minimum(best, [middle - start, time.perf_counter() - middle])
        print(
            f"  {name:24} {NLL()(p):8.4f} {Brier()(p):8.4f} {ECE()(p):8.4f} {1e3 * best[0]:10.1f} {1e3 * best[1]:10.1f}"
        )


def main():
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        quality(sys.argv[1])
    for size in SIZES:
        data = simulate(*size)
        for title, programs in CONTESTS.items():
            contest(title, programs, data, repeats=5)


if __name__ == "__main__":
    main()
