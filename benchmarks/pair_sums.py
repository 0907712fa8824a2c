"""Speed and memory of the pair sums against SciPy, BLAS and the NumPy twin, in one run.

Call it as `python benchmarks/pair_sums.py [section ...]`.
Best of interleaved repetitions: on a shared machine only the ratios mean something.
"""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from timing import best

from calibrant._core.distances import Kernel, RadialMatrix

TV = Kernel("exponential", "total-variation", 0.5)


def simulate(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(n_classes, 0.5), n)
    labels = (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return probs, np.eye(n_classes)[labels] - probs


def dense(P, R, lengthscale):
    from scipy.spatial.distance import cdist

    H = np.exp(-0.5 * cdist(P, P, "cityblock") / lengthscale) * (R @ R.T)
    return (H.sum() - np.trace(H)) / 2


def tiled(P, R, kernel_of_tile, size=512):
    result = 0.0
    for i in range(0, len(P), size):
        for j in range(i, len(P), size):
            H = kernel_of_tile(P[i : i + size], P[j : j + size]) * (R[i : i + size] @ R[j : j + size].T)
            result += H.sum() if j > i else (H.sum() - np.trace(H)) / 2
    return result


def scipy_exponential(P, Q):
    from scipy.spatial.distance import cdist

    return np.exp(-0.5 * cdist(P, Q, "cityblock") / TV.lengthscale)


def blas_gaussian(P, Q):
    squares = (P**2).sum(axis=1)[:, None] + (Q**2).sum(axis=1) - 2 * (P @ Q.T)
    return np.exp(-np.maximum(squares, 0.0) / 2)


def alone(function, *arguments):
    """Call a function on one thread."""
    with patch.dict(os.environ, OMP_NUM_THREADS="1"):
        return function(*arguments)


def show(title: str, times: dict[str, float], n_pairs: float, ours: str) -> None:
    print(title)
    for name, seconds in times.items():
        print(
            f"  {name:<34}{seconds:9.4f} s {seconds / n_pairs * 1e9:9.2f} ns/pair {seconds / times[ours]:8.1f} x ours"
        )


def pair_sums() -> None:
    from calibrant._core import pairs, twin

    for n_classes, repetitions in ((10, 12), (100, 4)):
        n = 8000
        P, R = simulate(n, n_classes)
        times, _ = best(
            {
                "compiled": partial(pairs.pair_sum, RadialMatrix(P, R, kernel=TV)),
                "compiled, 1 thread": partial(alone, pairs.pair_sum, RadialMatrix(P, R, kernel=TV)),
                "SciPy tiles of 512": partial(tiled, P, R, scipy_exponential),
                "SciPy dense": partial(dense, P, R, TV.lengthscale),
                "NumPy twin": partial(twin.pair_sum, RadialMatrix(P, R, kernel=TV)),
            },
            repetitions,
        )
        show(f"pair_sum, total variation, exponential, n={n} K={n_classes}", times, n * (n - 1) / 2, "compiled")


def euclidean() -> None:
    from calibrant._core import pairs

    kernel = Kernel("gaussian", "euclidean", 1.0)
    for n_classes, repetitions in ((10, 8), (100, 5), (1000, 3)):
        n = 6000
        P, R = simulate(n, n_classes)
        times, _ = best(
            {
                "compiled": partial(pairs.pair_sum, RadialMatrix(P, R, kernel=kernel)),
                "BLAS tiles of 512": partial(tiled, P, R, blas_gaussian),
                "BLAS tiles of 2048": partial(tiled, P, R, blas_gaussian, 2048),
            },
            repetitions,
        )
        show(f"pair_sum, Euclidean, Gaussian, n={n} K={n_classes}", times, n * (n - 1) / 2, "compiled")


def forms() -> None:
    from calibrant._core import pairs

    n = 8000
    P, R = simulate(n, 10)

    def with_blas(C, size=512):
        result = np.zeros(C.shape[1])
        for i in range(0, n, size):
            for j in range(i, n, size):
                H = scipy_exponential(P[i : i + size], P[j : j + size]) * (R[i : i + size] @ R[j : j + size].T)
                H = np.triu(H, 1) if i == j else H
                result += 2 * np.einsum("ib,ib->b", C[i : i + size], H @ C[j : j + size])
        return result

    for width in (16, 100, 256):
        C = np.random.default_rng(1).normal(size=(n, width))
        H = np.random.default_rng(2).normal(size=(n, n))
        times, _ = best(
            {
                "compiled forms": partial(pairs.quadratic_forms, RadialMatrix(P, R, kernel=TV), C),
                "compiled row_sums": partial(pairs.row_sums, RadialMatrix(P, R, kernel=TV)),
                "SciPy tiles, BLAS product": partial(with_blas, C),
                "BLAS product alone, H given": partial(np.matmul, H, C),
            },
            4,
        )
        show(f"quadratic forms of H, n={n} K=10, {width} columns", times, n * (n - 1) / 2, "compiled forms")


def radials() -> None:
    from calibrant._core import pairs

    n = 6000
    P, R = simulate(n, 10)
    for distance in ("total-variation", "euclidean"):
        names = ("exponential", "gaussian", "gamma-exponential", "matern32", "matern52", "rational-quadratic")
        kernels = {name: Kernel(name, distance, 0.5, 1.5) for name in names}
        calls = {name: partial(pairs.pair_sum, RadialMatrix(P, R, kernel=kernel)) for name, kernel in kernels.items()}
        show(f"radial functions of {distance}, n={n} K=10", best(calls, 6)[0], n * (n - 1) / 2, "exponential")


def blocks() -> None:
    from calibrant._core import pairs, twin

    n = 100_000
    P, R = simulate(n, 10)
    for size in (2, 8, 16, 50, 316):
        times, _ = best(
            {
                "compiled": partial(pairs.block_sums, RadialMatrix(P, R, kernel=TV), size),
                "NumPy twin": partial(twin.block_sums, RadialMatrix(P, R, kernel=TV), size),
            },
            3,
        )
        show(f"block_sums, n={n} K=10, blocks of {size}", times, n * (size - 1) / 2, "compiled")


def sorted_line() -> None:
    from calibrant._core.sorted1d import SortedLine

    rng = np.random.default_rng(0)
    p, r = rng.random(10_000_000), rng.normal(size=10_000_000)
    line = SortedLine.of(p, 0.1)
    calls = {
        "np.argsort alone": partial(np.argsort, p),
        "SortedLine.of": partial(SortedLine.of, p, 0.1),
        "pair_sum": partial(line.pair_sum, r),
        "row_sums": partial(line.row_sums, r),
    }
    show("one probability, 10 million rows (per row, not per pair)", best(calls, 3)[0], 1e7, "np.argsort alone")


_MEMORY = """
import sys; sys.path.insert(0, {folder!r})
import pair_sums as bench, numpy as np
def peak(): return int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1]) / 1024
P, R = bench.simulate(50_000, 10)
before = peak()
from calibrant._core import pairs
loaded = peak()
pairs.pair_sum(bench.RadialMatrix(P[:100], R[:100], kernel=bench.TV))
warm = peak()
H = bench.RadialMatrix(P, R, kernel=bench.TV)
pairs.pair_sum(H)
after = peak()
pairs.row_sums(H)
rows = peak()
pairs.quadratic_forms(H, np.ones((len(P), 64)))
print(f"  start {{before:.0f}}, core imported +{{loaded - before:.0f}}, code loaded +{{warm - loaded:.0f}}, "
      f"pair_sum +{{after - warm:.0f}}, row_sums +{{rows - after:.0f}}, 64 quadratic forms +{{peak() - rows:.0f}} MB")
"""


def memory() -> None:
    print("peak resident memory, n=50000 K=10 (the matrix would take 20 GB)")
    subprocess.run([sys.executable, "-c", _MEMORY.format(folder=str(Path(__file__).parent))], check=True)  # noqa: S603  # our own code


_FIRST = """
import sys, time; sys.path.insert(0, {folder!r})
import numpy as np, pair_sums as bench
P, R = bench.simulate({n}, 10)
start = time.perf_counter()
from calibrant._core import {module}
{module}.pair_sum(bench.RadialMatrix(P, R, kernel=bench.TV))
print(time.perf_counter() - start)
"""


def first_call() -> None:
    print("first call in a new process, seconds: compiled (cached) against NumPy twin, K=10")

    def run(module, n):
        code = _FIRST.format(folder=str(Path(__file__).parent), module=module, n=n)
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603  # ours
        return float(done.stdout)

    for n in (500, 1000, 2000, 3000, 4000, 6000, 8000, 12000):
        ours, other = (min(run(module, n) for _ in range(3)) for module in ("pairs", "twin"))
        print(f"  n={n:<6} compiled {ours:.3f}   twin {other:.3f}   ratio {other / ours:.2f}")


SECTIONS = (pair_sums, euclidean, forms, radials, blocks, sorted_line, memory, first_call)

if __name__ == "__main__":
    for section in SECTIONS:
        if not sys.argv[1:] or section.__name__ in sys.argv[1:]:
            section()
