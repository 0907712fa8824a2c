"""The band of an isotonic reliability curve against one scikit-learn fit per redraw, in one run.

Call it as `python benchmarks/curves.py`. Times are those of the processor; the plain loop is timed on
fewer redraws where it is slow, and scaled up.
"""

import time

import numpy as np
from sklearn.isotonic import IsotonicRegression
from timing import timed

from calibrant import Predictions
from calibrant.curves import isotonic_curve

REDRAWS = 999


def plain(probs, n_resamples):
    """Draw labels row by row, fit, evaluate at 2000 points, as packages with a bootstrap loop do."""
    rng = np.random.default_rng(0)
    points = np.quantile(probs, np.linspace(0, 1, 2000))
    for _ in range(n_resamples):
        labels = rng.random(len(probs)) < probs
        IsotonicRegression(out_of_bounds="clip").fit(probs, labels).predict(points)


def main():
    rng = np.random.default_rng(0)
    print(f"{'rows':>9} {'distinct':>9} {'calibrant':>11} {'plain':>11} {'ratio':>7}   ({REDRAWS} redraws)")
    for n, decimals in ((10_000, 17), (10_000, 3), (100_000, 17), (1_000_000, 17), (1_000_000, 4), (1_000_000, 3)):
        probs = rng.random(n).round(decimals)
        p = Predictions(probs, rng.random(n) < probs)
        ours, _ = timed(lambda p=p: isotonic_curve(p, n_resamples=REDRAWS, rng=0), clock=time.process_time)
        few = max(2, min(REDRAWS, 1_000_000 // n))
        theirs = timed(plain, probs, few, clock=time.process_time)[0] * REDRAWS / few
        distinct = len(np.unique(probs))
        print(f"{n:>9} {distinct:>9} {ours:>9.2f} s {theirs:>9.2f} s {theirs / ours:>7.1f}")


if __name__ == "__main__":
    main()
