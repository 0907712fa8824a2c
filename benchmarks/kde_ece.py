"""KDE-ECE against the plain double loop and its peers in one run: `python benchmarks/kde_ece.py [section ...]`.

Best of some repetitions after one that loads the compiled code; sorting is included, as predictions remember nothing
from one repetition to the next. On a shared machine only the ratios mean something. relplot is compared with if it is
installed.
"""

import os
import sys

import numpy as np
from timing import forget, shortest

from calibrant import Predictions
from calibrant.metrics import DirichletECE, KdeECE
from calibrant.resampling.redraws import draw_counts

KERNELS = ("gaussian", "triweight", "epanechnikov", "beta")
# Measured elsewhere on two cores: relplot's smECE on a million rows, and the published KDE-ECE code of Mix-n-Match.
RELPLOT_SECONDS = 0.464
PUBLISHED_SECONDS = {10_000: 1.17, 1_000_000: 3.29}


def simulate(n, seed=0):
    rng = np.random.default_rng(seed)
    c = rng.beta(3, 1, n)
    return Predictions(c, (rng.random(n) < c**1.3).astype(int))


def double_loop(p, kernel, h, rows=256):
    """All pairs in NumPy, some rows at a time, with one exponential per pair and image and nothing else."""
    from scipy.special import betaln, xlog1py, xlogy

    c, y = p.positive, p.labels.astype(float)
    profile = {
        "gaussian": lambda u: np.exp(-0.5 * u * u),
        "triweight": lambda u: np.maximum(1 - u * u, 0) ** 3,
        "epanechnikov": lambda u: np.maximum(1 - u * u, 0),
    }
    constant = betaln(c / h + 1, (1 - c) / h + 1)
    total, counted = 0.0, 0
    for first in range(0, len(c), rows):
        z = c[first : first + rows, None]
        if kernel == "beta":
            K = np.exp(xlogy(c / h, z) + xlog1py((1 - c) / h, -z) - constant)
        else:
            k = profile[kernel]
            K = k((z - c) / h) + k((z + c) / h) + k((z - 2 + c) / h)
        own = np.arange(len(K))
        K[own, own + first] = 0.0
        mass = K.sum(axis=1)
        some = mass > 0
        total += np.abs((K @ y)[some] / mass[some] - z[some, 0]).sum()
        counted += some.sum()
    return total / counted


def beside_the_double_loop(n=10_000):
    p = simulate(n)
    print(f"{n} rows, given bandwidth: against the double loop in NumPy")
    for kernel in KERNELS:
        for h in (0.005, 0.05, 0.2):
            metric = KdeECE(kernel, h)
            ours = shortest(lambda m=metric: m(forget(p)))
            slow = shortest(lambda k=kernel, h=h: double_loop(p, k, h), 1)
            error = abs(metric(p) - double_loop(p, kernel, h))
            print(f"  {kernel:<13} h = {h:<6} {ours:9.5f} s {slow / ours:8.0f} x   difference {error:.0e}")


def beside_peers():
    print("against peers: calibrant at a given bandwidth, and with the search for it")
    for n, seconds in PUBLISHED_SECONDS.items():
        p = simulate(n)
        metrics = (KdeECE(bandwidth=0.02), KdeECE(), KdeECE("triweight", "mix-n-match", form="integral"))
        given, searched, published = (shortest(lambda m=m, p=p: m(forget(p)), 3) for m in metrics)
        print(f"  {n:>8} rows: {given:.4f} s, with search {searched:.4f} s, integral form {published:.4f} s")
        print(f"           published code {seconds} s (measured elsewhere): {seconds / given:.0f} x,", end=" ")
        print(f"{seconds / searched:.1f} x with search, {seconds / published:.0f} x in its own form")
        peer, origin = smooth_ece(p) if n == 1_000_000 else (None, "")
        if peer:
            print(f"           smECE of relplot {peer:.3f} s ({origin}): {peer / given:.1f} x")


def smooth_ece(p):
    try:
        from relplot import smECE
    except ImportError:
        return RELPLOT_SECONDS, "measured elsewhere"
    return shortest(lambda: smECE(p.positive, p.labels), 3), "in this run"


def a_million_rows(n=1_000_000):
    p = simulate(n)
    print(f"{n} rows, given bandwidth: seconds")
    for kernel in KERNELS:
        times = {h: shortest(lambda k=kernel, h=h: KdeECE(k, h)(forget(p)), 3) for h in (0.001, 0.01, 0.1)}
        print(f"  {kernel:<13}" + "  ".join(f"{h:g}: {t:.3f}" for h, t in times.items()))


def bandwidth_search(n=30_000):
    p = simulate(n)
    print(f"{n} rows: search for the bandwidth")
    for rule in ("cv", "loo"):
        for kernel in KERNELS:
            seconds = shortest(lambda k=kernel, r=rule: KdeECE(k, r).fit_bandwidth(forget(p)), 3)
            print(f"  {rule:<4} {kernel:<13}{seconds:7.3f} s   {KdeECE(kernel, rule).fit_bandwidth(p).bandwidth:.4f}")


def replicates(n=10_000, n_resamples=1000):
    p, rng = simulate(n), np.random.default_rng(1)
    W, labels = draw_counts(n, n_resamples, rng), rng.integers(0, 2, (n_resamples, n)).T
    print(f"{n_resamples} replicates of {n} rows, given bandwidth: against as many evaluations of our own")
    for kernel in KERNELS:
        for h in (0.01, 0.05):
            metric = KdeECE(kernel, h)
            alone = shortest(lambda m=metric: [m(forget(p)) for _ in range(100)], 3) * n_resamples / 100
            weights, redraws = metric.prepare(p), metric.prepare_labels(p)
            by_weights, by_labels = shortest(lambda f=weights: f(W), 3), shortest(lambda f=redraws: f(labels), 3)
            print(f"  {kernel:<13} h = {h:<5} {by_weights:7.3f} s of weights {alone / by_weights:6.1f} x", end="")
            print(f"   {by_labels:7.3f} s of labels {alone / by_labels:6.1f} x")


def dirichlet():
    print("DirichletECE with the search for its bandwidth")
    for n, k in ((1000, 3), (5000, 10), (50_000, 10)):
        rng = np.random.default_rng(2)
        probs = rng.dirichlet(np.full(k, 0.5), n)
        p = Predictions(probs, (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))
        print(f"  {n:>6} rows, {k:>2} classes: {shortest(lambda p=p: DirichletECE()(forget(p)), 1):.2f} s")


SECTIONS = {
    "loop": beside_the_double_loop,
    "peers": beside_peers,
    "million": a_million_rows,
    "search": bandwidth_search,
    "replicates": replicates,
    "dirichlet": dirichlet,
}

if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()
