"""Calibrators of two classes and their lifts, against peers in one run.

`python benchmarks/calibrators_binary.py [section ...] [file.npz]`, where the file holds `predictions`, which are (n, K)
probabilities, and `ground_truth`. Best of interleaved repetitions: on a shared machine only the ratios mean something.
A peer that is not installed (netcal, venn-abers) is left out with a note.
"""

import os
import sys
import time
import warnings
from functools import partial
from importlib import import_module

import numpy as np
from timing import best

from calibrant import Predictions
from calibrant.calibrators import BBQ, CALIBRATORS, IsotonicCalibration, VennAbers
from calibrant.metrics import ECE, NLL, Brier

NAMES = [
    *("platt", "quadratic", "beta", "histogram", "bbq", "isotonic"),
    *("centred-isotonic", "rocch", "irm", "irova", "venn-abers", "spline"),
]


def simulate(n, seed=0):
    """Halves of over-confident probabilities and labels: to fit, and to predict."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)
    probs = 1 / (1 + np.exp(-1.7 * logits))
    return probs[: n // 2], labels[: n // 2], probs[n // 2 :], labels[n // 2 :]


def simulate_classes(n, k, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, (n, k))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    sharp = np.exp(1.7 * logits)
    sharp /= sharp.sum(axis=1, keepdims=True)
    return sharp[: n // 2], labels[: n // 2], sharp[n // 2 :], labels[n // 2 :]


def show(title, times, losses, bar):
    print(title)
    first = next(iter(times))
    for name, seconds in times.items():
        wanted = "" if name == first else f"   bar {bar:g}"
        print(
            f"  {name:<28}{seconds:9.4f} s {seconds / times[first]:8.2f} x ours   log-loss {losses[name]:.4f}{wanted}",
            flush=True,
        )


def log_loss(probs, labels):
    picked = probs[np.arange(len(labels)), labels] if probs.ndim == 2 else np.where(labels, probs, 1 - probs)
    return float(-np.log(np.clip(picked, 1e-12, None)).mean())


def race(title, calls, labels, bar, repetitions=5):
    times, values = best(calls, repetitions)
    show(title, times, {name: log_loss(value, labels) for name, value in values.items()}, bar)


def peer(module, name):
    """Return a class of a peer, or None with a note."""
    try:
        return getattr(import_module(module), name)
    except ImportError:
        print(f"{module} is not installed: left out")
        return None


def ours(build, probs, labels, new, _):
    return build().fit(probs, labels).predict_proba(new)


def by_sklearn(probs, labels, new, _):
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(probs, labels).predict(new)


def by_netcal(build, probs, labels, new, _):
    return build().fit(probs, labels).transform(new)


def by_venn_abers(build, probs, labels, new, _):
    fitted = build()
    fitted.fit(np.column_stack([1 - probs, probs]), labels)
    return fitted.predict_proba(np.column_stack([1 - new, new]))[0]


def isotonic():
    for n in (100_000, 1_000_000, 2_000_000):
        data = simulate(n)
        calls = {"calibrant": partial(ours, IsotonicCalibration, *data), "scikit-learn": partial(by_sklearn, *data)}
        race(f"isotonic, fit {n // 2} rows and predict as many", calls, data[-1], bar=1)


def bbq():
    netcal = peer("netcal.binning", "BBQ")
    for title, data in (("10000 x 10", simulate_classes(10_000, 10)), ("100000, two classes", simulate(100_000))):
        calls = {"calibrant": partial(ours, BBQ, *data)}
        if netcal is not None:
            calls["netcal (another score)"] = partial(by_netcal, netcal, *data)
        race(f"BBQ, {title}, half to fit", calls, data[-1], bar=10, repetitions=2)


def venn_abers():
    package = peer("venn_abers", "VennAbers")
    for n in (10_000, 100_000, 1_000_000):
        data = simulate(n)
        calls = {"calibrant": partial(ours, VennAbers, *data)}
        if package is not None:
            calls["venn-abers"] = partial(by_venn_abers, package, *data)
        title = f"Venn-Abers, fit {n // 2} rows and predict as many"
        race(title, calls, data[-1], bar=10, repetitions=9 if n < 1e5 else 2)


def everything():
    for title, data in (
        ("two classes, 100000", simulate(100_000)),
        ("10000 x 10", simulate_classes(10_000, 10)),
        ("10000 x 100", simulate_classes(10_000, 100)),
    ):
        print(f"every method, {title}, half to fit")
        table(*data)


def table(probs, labels, new, truth):
    for name in NAMES:
        start = time.perf_counter()
        fitted = CALIBRATORS[name]().fit(probs, labels)
        middle = time.perf_counter()
        result = fitted.predict_proba(new)
        end = time.perf_counter()
        p = Predictions(result, truth)
        before = new.argmax(axis=1) if new.ndim == 2 else new > 0.5
        changed = (result.argmax(axis=1) != before).mean()
        print(
            f"  {name:<18} fit {middle - start:8.4f} s  predict {end - middle:8.4f} s  NLL {NLL()(p):.4f}"
            f"  Brier {Brier()(p):.4f}  ECE-15 {ECE()(p):.4f}  changed {changed:.2%}"
        )


def file(path):
    data = np.load(path)
    probs, labels = data["predictions"].astype(float), data["ground_truth"]
    order = np.random.default_rng(0).permutation(len(probs))
    first, rest = order[: len(probs) // 2], order[len(probs) // 2 :]
    print(f"{path}: fit on the first half of a permutation")
    table(probs[first], labels[first], probs[rest], labels[rest])
    print("the same after temperature scaling")
    ts = CALIBRATORS["ts"]().fit(probs[first], labels[first])
    table(ts.predict_proba(probs[first]), labels[first], ts.predict_proba(probs[rest]), labels[rest])


SECTIONS = {"isotonic": isotonic, "bbq": bbq, "venn-abers": venn_abers, "everything": everything}

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Peers warn of their dependencies.
    os.environ.setdefault("TQDM_DISABLE", "1")  # And draw bars.
    for argument in sys.argv[1:] or SECTIONS:
        if argument in SECTIONS:
            SECTIONS[argument]()
        else:
            file(argument)
