"""The omnibus test against the redraw test of one binned error, in one run.

Call it as `python benchmarks/omnibus.py`. On a shared machine only the ratios mean something.
"""

import resource
import time
import warnings

from timing import forget, simulate, timed

from calibrant import DataWarning
from calibrant.hypotest import ConsistencyTest, OmnibusTest


def seconds(test, p, repeats):
    return min(timed(lambda: test(forget(p), rng=0), clock=time.process_time)[0] for _ in range(repeats))


def main():
    warnings.simplefilter("ignore", DataWarning)
    OmnibusTest(9)(simulate(50, 3), rng=0)  # Imports are done before the clock starts.
    print("999 redraws, seconds of processor time")
    for n, n_classes, repeats in ((1000, 2, 3), (10_000, 2, 3), (1000, 10, 3), (10_000, 10, 3), (10_000, 1000, 1)):
        p = simulate(n, n_classes, concentration=0.5 if n_classes <= 10 else 0.1)
        one, all_of_them = (seconds(test, p, repeats) for test in (ConsistencyTest(), OmnibusTest()))
        ratio = all_of_them / one
        print(f"  n={n:<6} K={n_classes:<5} ECE alone {one:7.3f} s, omnibus {all_of_them:7.3f} s, {ratio:4.1f} x ECE")
    p = simulate(1_000_000, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  n=1000000 K=2   omnibus {seconds(OmnibusTest(), p, 1):7.1f} s", end="")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f", peak memory {after / 1024:.0f} MB, {before / 1024:.0f} MB before it")


if __name__ == "__main__":
    main()
