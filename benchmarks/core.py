"""The compiled core against the last version that compiled at run time, alternating, one thread.

The other version is a folder with its sources, or none: `python benchmarks/core.py OTHER/src`. It needs numba in this
environment. Every row is the best of several calls in each of three processes per version.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 3


def best(call: Callable[..., Any], *args: Any, **settings: Any) -> float:
    """Return the shortest time of five calls, after one that does not count."""
    call(*args, **settings)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call(*args, **settings)
        times.append(time.perf_counter() - start)
    return min(times)


def modules() -> Any:
    """Return what is measured, whichever version is on the path."""
    from importlib import import_module

    try:
        import_module("calibrant._core")
    except ImportError:
        return lambda part: import_module(f"calibrant._native.{part}")
    return lambda part: import_module(f"calibrant._core.{part}")


def simulate(rng: np.random.Generator, n: int, k: int) -> tuple[Any, Any]:
    """Return probabilities and residuals."""
    probs = rng.dirichlet(np.ones(k), n)
    return probs, np.eye(k)[rng.integers(0, k, n)] - probs


def of_pairs(part: Any, rng: np.random.Generator) -> dict[str, float]:
    """Time sums over pairs."""
    pairs, Kernel = part("pairs"), part("kernel").Kernel
    exponential, found = Kernel("exponential", "total-variation", 0.5), {}
    for n, k in ((6000, 3), (6000, 10), (3000, 100), (1000, 1000)):
        P, A = simulate(rng, n, k)
        found[f"pair sum, {n} x {k}"] = best(pairs.pair_sum, P, A, kernel=exponential, n_threads=1)
    P, A = simulate(rng, 4000, 10)
    others = {
        "Gaussian, Euclidean": Kernel("gaussian", "euclidean", 0.5),
        "Matern 5/2": Kernel("matern52", "euclidean", 0.5),
        "gamma-exponential": Kernel("gamma-exponential", "total-variation", 0.5, 1.5),
        "rational quadratic": Kernel("rational-quadratic", "euclidean", 0.5, 1.5),
    }
    for name, kernel in others.items():
        found[f"pair sum, 4000 x 10, {name}"] = best(pairs.pair_sum, P, A, kernel=kernel, n_threads=1)
    block = rng.random((4000, 200))
    settings = {"kernel": exponential, "n_threads": 1}
    found["row sums, 4000 x 10"] = best(pairs.row_sums, P, A, **settings)
    found["200 quadratic forms"] = best(pairs.quadratic_forms, P, A, block, **settings)
    found["blocks of 20"] = best(pairs.block_sums, P, A, blocksize=20, **settings)
    return found


def of_lines(part: Any, rng: np.random.Generator) -> dict[str, float]:
    """Time sums on a line."""
    Line, KernelSums = part("line.boxes").Line, part("line.sums").KernelSums
    BetaSums, RowGaps = part("line.beta").BetaSums, part("line.gaps").RowGaps
    x, found = rng.beta(2, 1, 100_000), {}

    def leave_one_out(kind: Any, x: Any, charges: Any, *settings: Any) -> Any:
        return kind(Line.of(x), *settings).leave_one_out(charges, n_threads=1)

    y = (rng.random(len(x)) < x).astype(float)
    charges = np.column_stack([y, np.ones(len(x))])
    for kernel in ("gaussian", "triweight", "epanechnikov"):
        for h in (0.005, 0.05):
            found[f"1e5 rows, {kernel}, bandwidth {h}"] = best(leave_one_out, KernelSums, x, charges, h, kernel)
    found["1e5 rows, Beta kernel"] = best(leave_one_out, BetaSums, x, charges, 0.001)
    x, y, weights = x[:10_000], y[:10_000], rng.integers(0, 3, (10_000, 200)).astype(float)
    hits = rng.random((10_000, 200)) < x[:, None]
    for kernel, columns in (("gaussian", 200), ("triweight", 40)):
        sums = KernelSums(Line.of(x), 0.03, kernel)
        gaps = RowGaps(sums, 1.0, np.full(10_000, 1e-9), lambda a, b, c, d: (a + c) / (b + d))
        name = f"KDE-ECE of {columns}"
        found[f"{name} weights, {kernel}"] = best(gaps.of_weights, y, weights[:, :columns], n_threads=1)
        found[f"{name} labels, {kernel}"] = best(gaps.of_labels, hits[:, :columns], np.ones(10_000), n_threads=1)
    return found


def of_others(part: Any, rng: np.random.Generator) -> dict[str, float]:
    """Time sorted sums and draws."""
    SortedLine, draws = part("sorted1d").SortedLine, part("draws")
    x, r = rng.random(1_000_000), rng.standard_normal(1_000_000)
    line, block = SortedLine.of(x, 0.3), rng.random((50_000, 64))
    short = SortedLine.of(x[:50_000], 0.3)
    keys = rng.integers(0, 2**64, 200, dtype=np.uint64)
    return {
        "sorted pair sum, 1e6 rows": best(line.pair_sum, r),
        "sorted row sums, 1e6 rows": best(line.row_sums, r),
        "sorted product, 5e4 x 64": best(short.matmul, r[:50_000], block, n_threads=1),
        "200 bootstrap samples of 1e4": best(draws.count_draws, keys, 10_000),
    }


def measure(sources: str) -> dict[str, float]:
    """Run this file with other sources on the path."""
    environment = os.environ | {"PYTHONPATH": sources, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(  # noqa: S603 (this very file)
        [sys.executable, __file__, "--measure"], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def main() -> None:
    """Print both versions side by side."""
    if "--measure" in sys.argv:
        rng = np.random.default_rng(0)
        print(json.dumps({k: v for times in (of_pairs, of_lines, of_others) for k, v in times(modules(), rng).items()}))
        return
    versions = {"C": str(Path(__file__).parents[1] / "src")}
    if len(sys.argv) > 1:
        versions["other"] = sys.argv[1]
    runs = {name: [] for name in versions}
    for _ in range(ROUNDS):
        for name, sources in versions.items():
            runs[name].append(measure(sources))
    shortest = {name: {key: min(run[key] for run in found) for key in found[0]} for name, found in runs.items()}
    print(f"{'':42}{'C, ms':>10}" + (f"{'other, ms':>12}{'C / other':>11}" if "other" in versions else ""))
    for key, seconds in shortest["C"].items():
        line = f"{key:42}{1e3 * seconds:10.2f}"
        if "other" in versions:
            other = shortest["other"][key]
            line += f"{1e3 * other:12.2f}{seconds / other:11.2f}"
        print(line)


if __name__ == "__main__":
    main()
