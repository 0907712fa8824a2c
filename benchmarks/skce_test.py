"""The bootstrap of the SKCE test against the loop over a stored matrix, in one run.

Call it as `python benchmarks/skce_test.py`. On a shared machine only the ratios mean something.
"""

import time

import numpy as np

from calibrant import Predictions
from calibrant.hypotest import AsymptoticSKCETest, ConsistencyTest
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import SKCE

KERNEL = ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel()


def simulate(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(n_classes, 0.5), n)
    return Predictions(probs, (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))


def loop_over_stored_matrix(p, n_resamples, seed):
    """For each count vector, c @ H @ c."""
    from scipy.spatial.distance import cdist

    n = p.n_samples
    H = np.exp(-0.5 * cdist(p.probs, p.probs, "cityblock") / 0.5) * (p.residuals @ p.residuals.T)
    diagonal, row_sums = np.diagonal(H), H.sum(axis=1)
    rng = np.random.default_rng(seed)
    null = np.empty(n_resamples)
    for b in range(n_resamples):
        c = np.bincount(rng.integers(0, n, size=n), minlength=n).astype(float)
        null[b] = (n / (n - 1) * (c @ H @ c - c @ diagonal) - 2 * c @ row_sums) / n**2
    return null


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def main():
    AsymptoticSKCETest(KERNEL, 9)(simulate(3000, 10), rng=0)  # Compiled before the clock starts.
    p = simulate(3000, 10)
    ours, theirs = np.inf, np.inf
    for _ in range(3):
        seconds, result = timed(lambda: AsymptoticSKCETest(KERNEL, 999)(p, rng=0))
        ours = min(ours, seconds)
        seconds, null = timed(lambda: loop_over_stored_matrix(p, 999, 0))
        theirs = min(theirs, seconds)
    print("SKCE test, n=3000 K=10, 999 replicates")
    print(f"  calibrant           {ours:8.3f} s")
    print(f"  loop, stored matrix {theirs:8.3f} s {theirs / ours:8.1f} x ours")
    print(f"  largest difference of replicates {np.abs(result.null - null).max():.2g}")
    for n in (10_000,):
        p = simulate(n, 10)
        H, C = np.random.default_rng(0).random((n, n)), np.random.default_rng(1).random((n, 1000))
        product = min(timed(lambda H=H, C=C: H @ C)[0] for _ in range(2))
        del H
        seconds, _ = timed(lambda p=p: AsymptoticSKCETest(KERNEL, 1000)(p, rng=0))
        print(f"SKCE test, n={n} K=10, 1000 replicates")
        print(f"  calibrant                             {seconds:8.3f} s")
        print(f"  one product of a stored matrix (BLAS) {product:8.3f} s {product / seconds:8.2f} x ours")
    p = simulate(2000, 10)
    fast, _ = timed(lambda: ConsistencyTest(SKCE(KERNEL), 199)(p, rng=0))
    slow, _ = timed(lambda: [SKCE(KERNEL)(p) for _ in range(199)])
    print("exact redraw test with SKCE, n=2000 K=10, 199 redraws")
    print(f"  calibrant, kernel once          {fast:8.3f} s")
    print(f"  calibrant, kernel at each redraw {slow:7.3f} s {slow / fast:8.1f} x ours")


if __name__ == "__main__":
    main()
