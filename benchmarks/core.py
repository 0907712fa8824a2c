"""The compiled core against the last version that compiled at run time, alternating, one thread.

The other version is installed in an environment of its own, with numba: `python benchmarks/core.py OTHER/bin/python`;
without it, only this one is measured. One process of each version waits for its turn, a call or ten milliseconds
of calls, so that what else the machine does slows both alike; every row is the best of many turns. Then whole
processes: the first one, with empty caches, and a later one; and those of this version with its NumPy twins in place
of the compiled library. All times are of the processor: one thread, and a machine that others may use too.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, TURNS = 3, 20

TURN = 0.01
"""Seconds that a turn takes at least. Short calls are repeated: after the turn of the other one all caches are cold."""

Calls = dict[str, Callable[[], Any]]

WHOLE = """
import numpy as np
from calibrant import Predictions
from calibrant.metrics import SKCE, KdeECE
rng = np.random.default_rng(0)
p = Predictions(rng.dirichlet(np.ones({k}), {n}), rng.integers(0, {k}, {n}))
SKCE()(p), KdeECE()(p)
"""


def modules() -> Any:
    """Return what is measured, by the names of this version's modules, whichever version is installed."""
    from importlib import import_module

    try:
        import_module("calibrant._core")
    except ImportError:
        return lambda part: import_module(f"calibrant._native.{part.replace('redraws', 'draws')}")
    return lambda part: import_module(f"calibrant._core.{part}")


def simulate(rng: np.random.Generator, n: int, k: int) -> tuple[Any, Any]:
    """Return probabilities and residuals."""
    probs = rng.dirichlet(np.ones(k), n)
    return probs, np.eye(k)[rng.integers(0, k, n)] - probs


def reduction(part: Any, name: str, P: Any, A: Any, *more: Any, kernel: tuple[Any, ...], **options: Any) -> Any:
    """Return the call of a reduction, for which the other version takes the parts of the matrix one by one."""
    function = getattr(part("pairs"), name)
    try:
        distances = part("distances")
    except ImportError:
        return partial(function, P, A, *more, kernel=part("kernel").Kernel(*kernel), n_threads=1, **options)
    H = distances.RadialMatrix(P, A, kernel=distances.Kernel(*kernel))
    return partial(function, H, *more, **options)


def of_pairs(part: Any, rng: np.random.Generator) -> Calls:
    """Return sums over pairs."""
    exponential, found = ("exponential", "total-variation", 0.5), Calls()
    for n, k in ((6000, 3), (6000, 10), (3000, 100), (1000, 1000)):
        P, A = simulate(rng, n, k)
        found[f"pair sum, {n} x {k}"] = reduction(part, "pair_sum", P, A, kernel=exponential)
    P, A = simulate(rng, 4000, 10)
    others = {
        "Gaussian, Euclidean": ("gaussian", "euclidean", 0.5),
        "Matern 5/2": ("matern52", "euclidean", 0.5),
        "gamma-exponential": ("gamma-exponential", "total-variation", 0.5, 1.5),
        "rational quadratic": ("rational-quadratic", "euclidean", 0.5, 1.5),
    }
    for name, kernel in others.items():
        found[f"pair sum, 4000 x 10, {name}"] = reduction(part, "pair_sum", P, A, kernel=kernel)
    block = rng.random((4000, 200))
    found["row sums, 4000 x 10"] = reduction(part, "row_sums", P, A, kernel=exponential)
    found["200 quadratic forms"] = reduction(part, "quadratic_forms", P, A, block, kernel=exponential)
    from calibrant.kernels import TotalVariation

    for n, k in ((2000, 10), (2000, 100)):
        P, _ = simulate(rng, n, k)
        found[f"distances, {n} x {k}"] = partial(TotalVariation().pairwise, P, P)
    P, A = simulate(rng, 4000, 10)
    found["blocks of 20"] = reduction(part, "block_sums", P, A, blocksize=20, kernel=exponential)
    return found


def of_lines(part: Any, rng: np.random.Generator) -> Calls:
    """Return sums on a line."""
    Line, KernelSums = part("line.boxes").Line, part("line.sums").KernelSums
    BetaSums, RowGaps = part("line.beta").BetaSums, part("line.gaps").RowGaps
    x, found = rng.beta(2, 1, 100_000), Calls()

    def leave_one_out(kind: Any, x: Any, charges: Any, *settings: Any) -> Any:
        return kind(Line.of(x), *settings).leave_one_out(charges)

    y = (rng.random(len(x)) < x).astype(float)
    charges = np.column_stack([y, np.ones(len(x))])
    for kernel in ("gaussian", "triweight", "epanechnikov"):
        for h in (0.005, 0.05):
            found[f"1e5 rows, {kernel}, bandwidth {h}"] = partial(leave_one_out, KernelSums, x, charges, h, kernel)
    found["1e5 rows, Beta kernel"] = partial(leave_one_out, BetaSums, x, charges, 0.001)
    x, y, weights = x[:10_000], y[:10_000], rng.integers(0, 3, (10_000, 200)).astype(float)
    hits = rng.random((10_000, 200)) < x[:, None]
    for kernel, columns in (("gaussian", 200), ("triweight", 40)):
        sums = KernelSums(Line.of(x), 0.03, kernel)
        gaps = RowGaps(sums, 1.0, np.full(10_000, 1e-9), lambda a, b, c, d: (a + c) / (b + d))
        name = f"KDE-ECE of {columns}"
        found[f"{name} weights, {kernel}"] = partial(gaps.of_weights, y, weights[:, :columns])
        found[f"{name} labels, {kernel}"] = partial(gaps.of_labels, hits[:, :columns], np.ones(10_000))
    return found


def of_others(part: Any, rng: np.random.Generator) -> Calls:
    """Return sorted sums and draws."""
    SortedLine, draws = part("sorted1d").SortedLine, part("redraws")
    x, r = rng.random(1_000_000), rng.standard_normal(1_000_000)
    line, block = SortedLine.of(x, 0.3), rng.random((50_000, 64))
    short = SortedLine.of(x[:50_000], 0.3)
    keys = rng.integers(0, 2**64, 200, dtype=np.uint64)
    return {
        "sorted pair sum, 1e6 rows": partial(line.pair_sum, r),
        "sorted row sums, 1e6 rows": partial(line.row_sums, r),
        "sorted product, 5e4 x 64": partial(short.matmul, r[:50_000], block),
        "200 bootstrap samples of 1e4": partial(draws.count_draws, keys, 10_000),
    }


def environment(python: str, cache: str) -> dict[str, str]:
    """Return the environment of a process of a version, with a folder for what it compiles."""
    path = str(Path(__file__).parents[1] / "src") if python == sys.executable else ""
    return os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_CACHE_DIR": cache, "PYTHONPATH": path}


def answer() -> None:
    """Do what the lines of the standard input name, and print the processor time of a call; "names" lists them."""
    rng = np.random.default_rng(0)
    calls = {name: call for calls in (of_pairs, of_lines, of_others) for name, call in calls(modules(), rng).items()}
    for line in sys.stdin:
        if line.strip() == "names":
            print(json.dumps([*calls]), flush=True)
            continue
        call, start, n_calls, spent = calls[line.strip()], time.process_time(), 0, 0.0
        while spent < TURN:
            call()
            n_calls, spent = n_calls + 1, time.process_time() - start
        print(spent / n_calls, flush=True)


def take_turns(pythons: list[str], cache: str) -> dict[str, list[float]]:
    """Return the shortest time of every call in every version, after a turn that does not count."""
    workers = [
        subprocess.Popen(  # noqa: S603 (this very file)
            [python, __file__, "--answer"],
            env=environment(python, cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for python in pythons
    ]

    def asked(worker: Any, line: str) -> Any:
        print(line, file=worker.stdin, flush=True)
        return json.loads(worker.stdout.readline())

    found = {}
    for name in asked(workers[0], "names"):
        times = [[asked(worker, name) for worker in workers] for _ in range(1 + TURNS)]
        found[name] = [min(column) for column in zip(*times[1:], strict=True)]
    for worker in workers:
        worker.communicate()
    return found


def seconds(python: str, cache: str, n: int = 5000, k: int = 5, core: str = "") -> float:
    """Return the processor time of a process that computes two errors, with all that it imports and compiles."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = environment(python, cache) | {"CALIBRANT_CORE": core, "PYTHONWARNINGS": "ignore"}
    subprocess.run([python, "-c", WHOLE.format(n=n, k=k)], env=environ, check=True)  # noqa: S603 (the lines above)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_row(name: str, shortest: list[float], decimals: int) -> None:
    """Print a row: this version, the other one, and their ratio."""
    numbers = "".join(f"{value:12.{decimals}f}" for value in shortest)
    print(f"{name:42}{numbers}" + (f"{shortest[0] / shortest[1]:11.2f}" if len(shortest) > 1 else ""))


def main() -> None:
    """Print both versions side by side."""
    if "--answer" in sys.argv:
        answer()
        return
    pythons = [sys.executable, *sys.argv[1:2]]
    with tempfile.TemporaryDirectory() as cache:
        first = [seconds(python, cache) for python in pythons]
        times = take_turns(pythons, cache)
        later = [[seconds(python, cache) for python in pythons] for _ in range(ROUNDS)]
    print(
        f"{'milliseconds of the processor':42}{'C':>12}"
        + (f"{'numba':>12}{'C / numba':>11}" if len(pythons) > 1 else "")
    )
    for name, shortest in times.items():
        print_row(name, [value * 1e3 for value in shortest], 2)
    print("\nseconds of the processor for a whole process: SKCE and KDE-ECE of 5000 x 5")
    print_row("first, with empty caches", first, 2)
    print_row("later", [min(column) for column in zip(*later, strict=True)], 2)
    print_twins()


def print_twins() -> None:
    """Print the same processes of more rows, without the compiled library and with it."""
    print(f"\n{'the same of 10 000 rows':42}{'NumPy':>12}{'C':>12}{'NumPy / C':>11}")
    for k in (2, 5, 10):
        rounds = [[seconds(sys.executable, "", 10_000, k, core) for core in ("numpy", "")] for _ in range(ROUNDS)]
        print_row(f"{k} classes", [min(column) for column in zip(*rounds, strict=True)], 2)


if __name__ == "__main__":
    main()
