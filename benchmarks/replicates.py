"""Bootstrap replicates against plain loops in one run, and their memory: `python benchmarks/replicates.py`.

1000 replicates at 10 000 rows, draws included. Best of some repetitions after one that loads the compiled code. On a
shared machine only the ratios mean something.
"""

import tracemalloc

import numpy as np
from timing import forget, shortest, simulate

from calibrant import Predictions
from calibrant.assessment.comparison import DEFAULT_METRICS, compare
from calibrant.metrics import ECE, METRICS, KdeECE
from calibrant.resampling.bootstrap import Bootstrap

N, N_RESAMPLES, N_BINS = 10_000, 1000, 15


def replicates(metric, p, n_resamples=N_RESAMPLES):
    """Ours: weights applied to one prepared computation."""
    evaluate = metric.prepare(forget(p))
    blocks = Bootstrap(n_resamples).counts(p.n_samples, np.random.default_rng(0))
    return np.concatenate([evaluate(counts) for counts in blocks])


def plain_loop(p, n_resamples=N_RESAMPLES):
    """The usual loop: draw rows, copy them, and compute the ECE of the copy."""
    rng = np.random.default_rng(0)
    probs, labels = p.positive, p.labels.astype(float)
    edges = np.linspace(0, 1, N_BINS + 1)
    values = []
    for _ in range(n_resamples):
        rows = rng.integers(0, len(probs), len(probs))
        drawn, outcomes = probs[rows], labels[rows]
        index = np.digitize(drawn, edges[1:-1], right=True)
        mass = np.bincount(index, minlength=N_BINS)
        used = mass > 0
        predicted = np.bincount(index, drawn, N_BINS)[used] / mass[used]
        observed = np.bincount(index, outcomes, N_BINS)[used] / mass[used]
        values.append(np.sum(mass[used] / len(drawn) * np.abs(predicted - observed)))
    return np.array(values)


def shortest_loop(p, n_resamples=N_RESAMPLES):
    """The shortest loop: bins are assigned once, and two sums per replicate suffice for this one metric."""
    rng = np.random.default_rng(0)
    index = np.digitize(p.positive, np.linspace(0, 1, N_BINS + 1)[1:-1], right=True)
    residuals = p.positive - p.labels
    values = []
    for _ in range(n_resamples):
        rows = rng.integers(0, p.n_samples, p.n_samples)
        values.append(np.abs(np.bincount(index[rows], residuals[rows], N_BINS)).sum() / p.n_samples)
    return np.array(values)


def evaluations(metric, p, n_resamples):
    """The metric called on one resampled data set after the other."""
    rng = np.random.default_rng(0)
    return np.array([metric(p.take(rng.integers(0, p.n_samples, p.n_samples))) for _ in range(n_resamples)])


def print_ece(p):
    ours = shortest(lambda: replicates(ECE(), p))
    print(f"ECE, {N_RESAMPLES} replicates of {N} rows: {ours:.3f} s")
    for name, loop in (("plain NumPy loop", plain_loop), ("shortest NumPy loop", shortest_loop)):
        seconds = shortest(lambda loop=loop: loop(p))
        print(f"  {name:<36} {seconds:7.3f} s   ratio {seconds / ours:6.1f}")
    spread = np.std(plain_loop(p)) / np.std(replicates(ECE(), p))
    print(f"  standard deviation over replicates, loop / ours: {spread:.3f}")


def print_kde(p):
    some = 40
    tuned = KdeECE().fit_bandwidth(p)
    ours = shortest(lambda: replicates(tuned, p), 3)
    print(f"\nKDE-ECE, {N_RESAMPLES} replicates of {N} rows: {ours:.3f} s")
    for name, metric in (("at the bandwidth of the data", tuned), ("each with a bandwidth of its own", KdeECE())):
        seconds = shortest(lambda metric=metric: evaluations(metric, p, some), 2) * N_RESAMPLES / some
        print(f"  evaluations {name:<32} {seconds:7.3f} s   ratio {seconds / ours:6.1f}   (from {some})")


def print_compare():
    first = simulate(N, 10)
    powers = first.probs**0.7
    second = Predictions(powers / powers.sum(axis=1, keepdims=True), first.labels)
    models = {"model": first, "other": second}
    print(f"\ncompare, two models of {N} rows and 10 classes, {N_RESAMPLES} resamples:")
    for what, intervals in (("with intervals", True), ("differences only", False)):
        settings = {"n_resamples": N_RESAMPLES, "intervals": intervals, "rng": 0}
        seconds = shortest(lambda s=settings: compare({name: forget(p) for name, p in models.items()}, **s), 1)
        print(f"  default metrics, {what:<17} {seconds:6.1f} s")
    for name in DEFAULT_METRICS:
        seconds = shortest(lambda n=name: replicates(METRICS[n], first), 1)
        print(f"  {name:<20} replicates of one model {seconds:6.2f} s")


def print_memory(p):
    print("\npeak memory of replicates, in MB (tracemalloc):")
    for name, metric in (("ECE", ECE()), ("KDE-ECE", KdeECE().fit_bandwidth(p))):
        replicates(metric, p, 10)
        peaks = []
        for n_resamples in (100, 2000):
            tracemalloc.start()
            replicates(metric, p, n_resamples)
            peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
        few, many = peaks
        print(f"  {name:<10} 100 replicates {few:6.1f}   2000 replicates {many:6.1f}   ratio {many / few:.2f}")


if __name__ == "__main__":
    binary = simulate(N)
    print_ece(binary)
    print_kde(binary)
    print_memory(binary)
    print_compare()
