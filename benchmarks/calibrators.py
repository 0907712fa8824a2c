"""Every calibrator on one data set: quality on new rows, share of decisions changed, seconds.

    python benchmarks/calibrators.py FILE.npz [probabilities-key labels-key]

The first half of numpy.random.default_rng(0).permutation(n) is fitted to, the rest is judged. Losses may be infinite.
"""

import sys
import time
import warnings

import numpy as np

from calibrant import Predictions
from calibrant.calibrators import CALIBRATORS, calibrate, parse
from calibrant.metrics import METRICS

COMPOSITIONS = ("ts>guard", "ts>irm", "irm>ts", "ts>irm>guard", "ts>irova", "irova>ts", "ts>irova>guard", "ts>iop-diag")
MEASURES = ("nll", "brier", "ece")
REPEATS = 3


def read(path, probs="predictions", labels="ground_truth"):
    with np.load(path) as archive:
        return Predictions(archive[probs], archive[labels].ravel())


def timed(work):
    """The result, and the seconds of the fastest of a few runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
        if seconds[-1] > 5:
            break
    return result, min(seconds)


def row(name, fit, test):
    fitted, fit_seconds = timed(lambda: parse(name).fit(fit.probs, fit.labels, classes=fit.classes))
    _, predict_seconds = timed(lambda: fitted.predict_proba(test.probs))
    after = calibrate(fitted, test)
    changed = (after.predicted != test.predicted).mean()
    values = [METRICS[measure](after) for measure in MEASURES]
    kept = "yes" if fitted.preserves_argmax else "no"
    converged = "" if getattr(fitted, "converged_", True) else "  not converged"
    numbers = "".join(f"{value:9.4f}" for value in values)
    return f"{name:18s}{numbers}{changed:9.2%}{kept:>6s}{fit_seconds:10.4f}{predict_seconds:10.4f}{converged}"


def main(path, *keys):
    warnings.simplefilter("ignore")  # Convergence is in the table.
    predictions = read(path, *keys)
    order = np.random.default_rng(0).permutation(predictions.n_samples)
    half = predictions.n_samples // 2
    fit, test = predictions.take(order[:half]), predictions.take(order[half:])
    print(f"{half} rows fitted to, {test.n_samples} judged, {test.n_classes} classes")
    headings = "".join(f"{heading:>9s}" for heading in (*MEASURES, "changed"))
    print(f"{'calibrator':18s}{headings}{'kept':>6s}{'fit s':>10s}{'predict s':>10s}")
    for name in (*CALIBRATORS, *COMPOSITIONS):
        print(row(name, fit, test), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
