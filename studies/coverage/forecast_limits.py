"""How often limits of scores of forecasts contain the true value: python -m studies.coverage.forecast_limits."""

import sys

import numpy as np

from calibrant import Forecasts, Normal
from calibrant.intervals.scores import hall_laws
from calibrant.metrics import CRPS, IntervalScore, IntervalWidth, LogScore, PinballLoss
from calibrant.metrics.forecast_base import ForecastScore
from calibrant.resampling.bootstrap import Bootstrap

METRICS: dict[str, ForecastScore] = {
    "crps": CRPS(),
    "log-score": LogScore(),
    "pinball": PinballLoss(),
    "interval-score": IntervalScore(),
    "interval-width": IntervalWidth(),
}
WORLDS = ("calibrated", "narrow", "wide", "t5", "t3", "skewed", "unequal", "unequal-t5")
ROWS = (30, 50, 100, 200, 500, 2000)


def draw(world: str, n: int, rng: np.random.Generator) -> Forecasts:
    """Draw normal forecasts of a heteroscedastic regression, and targets."""
    x = rng.uniform(-2, 2, n)
    sd, mean = 0.5 + 0.5 * np.abs(x), np.sin(2 * x)
    if world.startswith("unequal"):
        sd = np.exp(rng.normal(size=n))
    if world in ("t5", "unequal-t5"):
        noise = (0.3 / sd if world == "t5" else 0.0) + rng.standard_t(5, n)
    elif world == "t3":
        noise = rng.standard_t(3, n)
    else:
        noise = rng.exponential(size=n) - 1 if world == "skewed" else rng.normal(size=n)
    factor = {"narrow": 0.5, "wide": 2.0, "t5": 0.7, "t3": 0.7, "unequal-t5": 0.5}.get(world, 1.0)
    return Forecasts(Normal(mean, factor * sd), mean + sd * noise)


def main() -> None:
    """Print the share of data sets whose limits of 95% contain the true value."""
    sys.stdout.write(f"world rows {' '.join(METRICS)}\n")
    for world in WORLDS:
        rng = np.random.default_rng(1)
        many = [draw(world, 400_000, rng) for _ in range(2)]
        truth = np.array([np.mean([metric.per_row(f).mean() for f in many]) for metric in METRICS.values()])
        for n in ROWS:
            repeats, hits = 2000 if n <= 500 else 600, np.zeros(len(METRICS))
            for _ in range(repeats):
                f = draw(world, n, rng)
                rows = np.stack([metric.per_row(f) for metric in METRICS.values()], axis=1)
                limits = np.array([law.limits(0.95) for law in hall_laws(rows, f.weights, Bootstrap(1))])
                hits += (limits[:, 0] <= truth) & (truth <= limits[:, 1])
            shares = " ".join(f"{share:.3f}" for share in hits / repeats)
            sys.stdout.write(f"{world} {n} {shares}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
