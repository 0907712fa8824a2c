"""What several benchmarks share: times, and simulated predictions."""

import time

import numpy as np


def timed(function, *arguments, clock=time.perf_counter):
    """Return the seconds that a call takes, and its value."""
    start = clock()
    value = function(*arguments)
    return clock() - start, value


def shortest(task, repetitions=5, clock=time.perf_counter):
    """Return the seconds of the fastest of some calls, after one that is not counted."""
    task()
    return min(timed(task, clock=clock)[0] for _ in range(repetitions))


def best(functions, repetitions):
    """Return the seconds of the fastest call of each function, by name, and the values; functions take turns."""
    times, values = dict.fromkeys(functions, np.inf), {}
    for _ in range(repetitions):
        for name, function in functions.items():
            seconds, values[name] = timed(function)
            times[name] = min(times[name], seconds)
    return times, values


def forget(p):
    """Return predictions that remember nothing, so that the next call computes again what an earlier one has kept."""
    p.__dict__.pop("_kept", None)
    return p


def simulate(n, n_classes=2, seed=0, concentration=0.5):
    """Return calibrated predictions."""
    from calibrant import Predictions

    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(n_classes, concentration), n)
    return Predictions(probs, (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))
