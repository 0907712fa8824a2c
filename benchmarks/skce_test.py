"""The bootstrap of the SKCE test against the loop over a stored matrix, in one run.

Call it as `python benchmarks/skce_test.py`. On a shared machine only the ratios mean something.
"""

import time

import numpy as np
from timing import forget, simulate, timed

from calibrant.forecasts import Forecasts, Laplace, MvNormal, Normal, Samples
from calibrant.hypotest import AsymptoticSKCETest, ConsistencyTest
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import SKCE
from calibrant.metrics.base.metric import Metric

KERNEL = ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel()


def stored_matrix(p):
    from scipy.spatial.distance import cdist

    return np.exp(-0.5 * cdist(p.probs, p.probs, "cityblock") / 0.5) * (p.residuals @ p.residuals.T)


def loop_over_stored_matrix(p, n_resamples, seed):
    """For each count vector, c @ H @ c."""
    n, H = p.n_samples, stored_matrix(p)
    diagonal, row_sums = np.diagonal(H), H.sum(axis=1)
    rng = np.random.default_rng(seed)
    null = np.empty(n_resamples)
    for b in range(n_resamples):
        c = np.bincount(rng.integers(0, n, size=n), minlength=n).astype(float)
        null[b] = (n / (n - 1) * (c @ H @ c - c @ diagonal) - 2 * c @ row_sums) / n**2
    return null


def product_with_stored_matrix(p, n_resamples, seed):
    """All count vectors in one product H @ C."""
    n, H = p.n_samples, stored_matrix(p)
    rng = np.random.default_rng(seed)
    counts = [np.bincount(rng.integers(0, n, size=n), minlength=n) for _ in range(n_resamples)]
    C = np.stack(counts, axis=1).astype(float)
    forms = np.einsum("ib,ib->b", C, H @ C) - np.diagonal(H) @ C
    return (n / (n - 1) * forms - 2 * H.sum(axis=1) @ C) / n**2


def bootstrap():
    p = simulate(3000, 10)
    calls = {
        "calibrant": lambda: AsymptoticSKCETest(KERNEL, 999)(forget(p), rng=0).null,
        "loop, stored matrix": lambda: loop_over_stored_matrix(p, 999, 0),
        "one product, stored matrix": lambda: product_with_stored_matrix(p, 999, 0),
    }
    times, nulls = dict.fromkeys(calls, np.inf), {}
    for _ in range(3):
        for name, call in calls.items():
            time.sleep(0.2)  # After a product the threads of BLAS wait for the next one, busily, for a while.
            seconds, nulls[name] = timed(call)
            times[name] = min(times[name], seconds)
    print("SKCE test, n=3000 K=10, 999 replicates")
    for name, seconds in times.items():
        difference = np.abs(nulls[name] - nulls["calibrant"]).max()
        ratio = seconds / times["calibrant"]
        print(f"  {name:27}{seconds:8.3f} s {ratio:8.1f} x ours, largest difference {difference:.2g}")


def main():
    AsymptoticSKCETest(KERNEL, 9)(simulate(3000, 10), rng=0)  # Compiled before the clock starts.
    bootstrap()
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
    fast, _ = timed(lambda: ConsistencyTest(SKCE(KERNEL), 199)(forget(p), rng=0))
    slow, _ = timed(lambda: [SKCE(KERNEL)(forget(p)) for _ in range(199)])
    print("exact redraw test with SKCE, n=2000 K=10, 199 redraws")
    print(f"  calibrant, kernel once          {fast:8.3f} s")
    print(f"  calibrant, kernel at each redraw {slow:7.3f} s {slow / fast:8.1f} x ours")
    redraws_of_forecasts()


def redraws_of_forecasts(n_resamples=199, n_direct=10):
    """Compare redraws in blocks with one data set per redraw, of which only a few are timed."""
    rng = np.random.default_rng(0)
    Normal([0.0], 1.0).wasserstein(Normal([0.0], 1.0))  # Imports are done before the clock starts.
    for n in (20, 100, 300):
        loc, scale = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
        laws = {
            "normal": Normal(loc, scale),
            "Laplace": Laplace(loc, scale),
            "two-dimensional normal": MvNormal(np.column_stack([loc, -loc]), [[[2.0, 0.5], [0.5, 1.0]]]),
            "samples of 10": Samples(rng.normal(size=(n, 10))),
        }
        print(f"exact redraw test of forecasts with SKCE, n={n}, {n_resamples} redraws")
        for name, law in laws.items():
            f = Forecasts(law, law.sample(rng, 1)[:, 0])
            targets = law.sample(rng, n_resamples)
            ours, values = timed(lambda f=f, y=targets: SKCE().prepare_labels(f)(y))
            seconds, direct = timed(lambda f=f, y=targets: Metric.prepare_labels(SKCE(), f)(y[:, :n_direct]))
            ratio = seconds * n_resamples / n_direct / ours
            difference = np.abs(values[:n_direct] - direct).max()
            print(f"  {name:22} {ours:8.3f} s, one by one {ratio:6.1f} x ours, largest difference {difference:.1g}")


if __name__ == "__main__":
    main()
