"""Measures of predictive distributions against plain definitions, in one run.

Call it as `python benchmarks/forecast_metrics.py`. On a shared machine only the ratios mean something.
"""

import numpy as np
from scipy import optimize, stats
from timing import timed

from calibrant.forecasts import Forecasts, Mixture, MvNormal, Normal, Samples
from calibrant.metrics import CRPS, FORECAST_METRICS


def data(rng):
    n = 1_000_000
    yield "1 000 000 normals", Forecasts(Normal(rng.normal(size=n), rng.uniform(0.5, 2, n)), rng.normal(size=n))
    yield "10 000 x 1000 members", Forecasts(Samples(rng.normal(size=(10_000, 1000))), rng.normal(size=10_000))
    n = 100_000
    parts = [Normal(rng.normal(size=n), rng.uniform(0.1, 2, n)) for _ in range(5)]
    yield "100 000 mixtures of 5", Forecasts(Mixture(np.full(5, 0.2), parts), rng.normal(size=n))
    yield "100 000 normal 3-vectors", Forecasts(MvNormal(rng.normal(size=(n, 3)), 1.0), rng.normal(size=(n, 3)))


def pairwise_crps(draws, targets):
    """The definition: all pairs of members."""
    spread = [np.abs(row[:, None] - row).mean() for row in draws]
    return np.mean(np.abs(draws - targets[:, None]).mean(axis=1) - np.array(spread) / 2)


def normal_crps(loc, scale, y):
    """The formula with the distribution function of scipy.stats."""
    z = (y - loc) / scale
    return np.mean(scale * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)))


def brent_quantiles(law, level):
    """Brent's method, row by row."""
    rows = [law.take([i]) for i in range(law.n)]
    return [optimize.brentq(lambda y, row=row: row.cdf(np.array([y]))[0] - level, -20, 20) for row in rows]


def main():
    rng = np.random.default_rng(0)
    for name, f in data(rng):
        print(f"\n{name}")
        for key, metric in FORECAST_METRICS.items():
            if metric.suits(f) and metric.family != "kernel":
                print(f"  {key:<18} {timed(metric, f)[0]:7.3f} s")

    print("\nratios of times, plain / calibrant")
    f = Forecasts(Normal(rng.normal(size=10**6), rng.uniform(0.5, 2, 10**6)), rng.normal(size=10**6))
    law = f.distribution
    report(
        "CRPS of 1 000 000 normals, scipy.stats",
        timed(CRPS(), f),
        timed(normal_crps, law.loc, law.scale, f.targets),
    )
    draws, y = rng.normal(size=(500, 1000)), rng.normal(size=500)
    ensemble = Forecasts(Samples(draws), y)
    report("CRPS of 500 x 1000 members, all pairs", timed(CRPS(), ensemble), timed(pairwise_crps, draws, y))
    law = Mixture(np.full(5, 0.2), [Normal(rng.normal(size=2000), rng.uniform(0.1, 2, 2000)) for _ in range(5)])
    report("quantiles of 2000 mixtures, brentq", timed(law.quantile, 0.9), timed(brent_quantiles, law, 0.9))


def report(what, ours, plain):
    difference = np.abs(np.subtract(ours[1], plain[1])).max()
    print(f"  {what:<40} {plain[0] / ours[0]:6.1f} x   largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
