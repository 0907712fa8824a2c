"""SKCE as users call it, against SciPy in one run: `python benchmarks/skce.py [section ...]`.

Best of interleaved repetitions: on a shared machine only the ratios mean something.
"""

import subprocess
import sys
import warnings

import numpy as np
from timing import best, forget, simulate

from calibrant import DataWarning, Predictions
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import SKCE

warnings.simplefilter("ignore", DataWarning)  # A thousand classes in ten thousand rows.
KERNEL = ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel()


def dense(p):
    from scipy.spatial.distance import cdist

    H = np.exp(-0.5 * cdist(p.probs, p.probs, "cityblock") / 0.5) * (p.residuals @ p.residuals.T)
    return (H.sum() - np.trace(H)) / (len(H) * (len(H) - 1))


def tiled(p, size=512):
    from scipy.spatial.distance import cdist

    P, R, total = p.probs, p.residuals, 0.0
    for i in range(0, len(P), size):
        for j in range(i, len(P), size):
            H = np.exp(-0.5 * cdist(P[i : i + size], P[j : j + size], "cityblock") / 0.5)
            H *= R[i : i + size] @ R[j : j + size].T
            total += 2 * H.sum() if j > i else H.sum() - np.trace(H)
    return total / (len(P) * (len(P) - 1))


def show(title, times, values):
    print(title)
    ours = next(iter(times))
    for name, seconds in times.items():
        print(f"  {name:<28}{seconds:9.4f} s {seconds / times[ours]:8.1f} x ours   value {values[name]:.10g}")


def classes():
    for n, k, peer in ((8000, 10, dense), (8000, 100, tiled), (10_000, 1000, tiled)):
        p = simulate(n, k)
        SKCE(KERNEL)(p.take(slice(0, 3000)))  # Compiled before the clock starts.
        calls = {"calibrant": lambda p=p: SKCE(KERNEL)(forget(p)), f"SciPy, {peer.__name__}": lambda p=p, f=peer: f(p)}
        show(f"SKCE, n={n} K={k}", *best(calls, 5 if k == 10 else 2))


def blocks():
    p = simulate(200_000, 10)
    print("blocks of m rows, n=200000 K=10: the cost grows as O(m n)")
    for m in (2, 8, 32, 128, 512):
        times, _ = best({"calibrant": lambda m=m: SKCE(KERNEL, blocksize=m)(forget(p))}, 3)
        print(f"  m={m:<5}{times['calibrant']:9.4f} s {times['calibrant'] / (p.n_samples * m / 2) * 1e9:8.2f} ns/pair")


def binary():
    rng = np.random.default_rng(0)
    for n in (8000, 1_000_000, 10_000_000):
        probs = rng.random(n)
        p = Predictions(probs, rng.random(n) < probs)
        calls = {"calibrant": lambda p=p: SKCE(KERNEL)(forget(p))}
        if n == 8000:
            SKCE(KERNEL)(p)
            calls["SciPy, dense"] = lambda p=p: dense(p)
        show(f"two classes, n={n}: sorted, O(n log n)", *best(calls, 2))


def features():
    p = simulate(20_000, 100)
    calls = {
        "calibrant, 500 features": lambda: SKCE(KERNEL, features=500)(forget(p)),
        "calibrant, exact": lambda: SKCE(KERNEL)(forget(p)),
    }
    times, values = best(calls, 2)
    show("random features, n=20000 K=100", times, values)
    error = SKCE(KERNEL, features=500).estimate(p).details["monte_carlo_error"]
    print(f"  standard error of the features {error:.3g}")


MEMORY = """
import skce
def peak():
    return int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1]) / 1024
p = skce.simulate({n}, {k})
skce.SKCE(skce.KERNEL)(p.take(slice(0, 3000)))
before = peak()
skce.SKCE(skce.KERNEL)(p)
print(f"  n={n} K={k}: +{{peak() - before:.0f}} MB; the matrix would take {{8 * {n} ** 2 / 1e6:.0f}} MB")
"""


def memory():
    print("peak memory of one call above the process before it")
    folder = __file__.rpartition("/")[0] or "."
    for n, k in ((50_000, 10), (10_000, 1000)):
        code = f"import sys; sys.path.insert(0, {folder!r})" + MEMORY.format(n=n, k=k)
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  # our own code


SECTIONS = (classes, blocks, binary, features, memory)

if __name__ == "__main__":
    for section in SECTIONS:
        if not sys.argv[1:] or section.__name__ in sys.argv[1:]:
            section()
