"""How often limits of scores of forecasts contain the true value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import Forecasts, Normal
from calibrant._border.types import FloatArray
from calibrant.intervals.means import hall_laws
from calibrant.metrics import CRPS, IntervalScore, IntervalWidth, LogScore, PinballLoss
from calibrant.metrics.forecasts.metric import ForecastScore
from calibrant.resampling.bootstrap import Bootstrap
from studies.simulations.command_line import Study
from studies.simulations.units import Simulation

METRICS: dict[str, ForecastScore] = {
    "crps": CRPS(),
    "log-score": LogScore(),
    "pinball": PinballLoss(),
    "interval-score": IntervalScore(),
    "interval-width": IntervalWidth(),
}
WORLDS = ("calibrated", "narrow", "wide", "t5", "t3", "skewed", "unequal", "unequal-t5")
SETS = {30: 2000, 50: 2000, 100: 2000, 200: 2000, 500: 2000, 2000: 600}
"""Data sets for each number of rows."""
N_TRUE = 400_000
"""Rows behind a true value, drawn twice."""


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


def shares(world: str, sets: tuple[tuple[int, int], ...], rng: np.random.Generator) -> list[list[float]]:
    """Return, for numbers of rows and of data sets, the shares of these whose 95% limits contain the truth."""
    many = [draw(world, N_TRUE, rng) for _ in range(2)]
    truth = np.array([np.mean([metric.per_row(f).mean() for f in many]) for metric in METRICS.values()])
    return [_share(world, n, repeats, truth, rng) for n, repeats in sets]


def _share(world: str, n: int, sets: int, truth: FloatArray, rng: np.random.Generator) -> list[float]:
    hits = np.zeros(len(METRICS))
    for _ in range(sets):
        f = draw(world, n, rng)
        rows = np.stack([metric.per_row(f) for metric in METRICS.values()], axis=1)
        limits = np.array([law.limits(0.95) for law in hall_laws(rows, f.weights, Bootstrap(1))])
        hits += (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    return [float(share) for share in hits / sets]


def plan() -> list[Simulation]:
    """Return a unit for every world."""
    return [Simulation(world, shares, (world, tuple(SETS.items())), 1) for world in WORLDS]


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a line for every world and number of rows."""
    lines = [
        f"{world} {n} {' '.join(f'{share:.3f}' for share in row)}"
        for world, rows in found.items()
        for n, row in zip(SETS, rows, strict=True)
    ]
    head = ["# python -m studies forecast_limits", f"world rows {' '.join(METRICS)}"]
    path.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


STUDY = Study(
    "forecast_limits",
    "Simulate how often limits of scores of forecasts contain the true value.",
    plan,
    write,
    "coverage/forecast_limits.txt",
)
