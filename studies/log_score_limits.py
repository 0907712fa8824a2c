"""Limits of the log score that are given, and given and wrong.

Normal forecasts of unit scale, whose log score is half the squared error up to a constant. A rule that refuses limits
where targets lie too far out leaves those data sets in which the far ones are missing: their limits cover less, however
strict the rule is. So it is judged by how often limits are given and wrong.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import Forecasts, Normal
from calibrant._border.types import FloatArray
from calibrant.intervals.means import hall_laws
from calibrant.intervals.requirements import missing_for_forecasts
from calibrant.metrics import LogScore
from calibrant.resampling.bootstrap import Bootstrap
from studies.simulations.command_line import Study
from studies.simulations.units import Simulation

Errors = Callable[[int, np.random.Generator], FloatArray]

ROWS = {500: 1000, 1000: 600, 2000: 400}
"""Numbers of rows, and of data sets."""


def _student(freedom: float) -> Errors:
    return lambda n, rng: rng.standard_t(freedom, n) * np.sqrt((freedom - 2) / freedom)


def _mixed(share: float, factor: float) -> Errors:
    return lambda n, rng: rng.standard_normal(n) * np.where(rng.random(n) < share, factor, 1.0)


WORLDS: dict[str, tuple[Errors, float]] = {
    "calibrated": (lambda n, rng: rng.standard_normal(n), 1.0),
    "too wide, factor 2": (lambda n, rng: 0.5 * rng.standard_normal(n), 0.25),
    "too narrow, factor 2": (lambda n, rng: 2 * rng.standard_normal(n), 4.0),
    "Student, 10": (_student(10), 1.0),
    "Student, 8": (_student(8), 1.0),
    "Student, 5": (_student(5), 1.0),
    "Student, 4": (_student(4), 1.0),
    "Student, 3": (_student(3), 1.0),
    "Laplace": (lambda n, rng: rng.laplace(size=n) / np.sqrt(2), 1.0),
    "gamma, shape 4": (lambda n, rng: (rng.gamma(4, size=n) - 4) / 2, 1.0),
    "exponential": (lambda n, rng: rng.exponential(size=n) - 1, 1.0),
    "1 of 100 is 4 times as far": (_mixed(0.01, 4), 1.15),
    "1 of 1000 is 8 times as far": (_mixed(0.001, 8), 1.063),
}
"""How errors are drawn, and their mean square."""


def shares(world: str, sets: tuple[tuple[int, int], ...], rng: np.random.Generator) -> list[list[float]]:
    """Return, for numbers of rows and of data sets, the shares of these with limits, and with limits that are wrong."""
    draw, square = WORLDS[world]
    return [_shares(draw, square, n, repeats, rng) for n, repeats in sets]


def _shares(draw: Errors, square: float, n: int, repeats: int, rng: np.random.Generator) -> list[float]:
    errors = np.stack([draw(n, rng) for _ in range(repeats)], axis=1)
    limits = np.array([law.limits(0.95) for law in hall_laws(errors**2 / 2, np.ones(n), Bootstrap(1))])
    wrong = (limits[:, 0] > square / 2) | (limits[:, 1] < square / 2)
    law = Normal(np.zeros(n), 1.0)
    given = np.array([not missing_for_forecasts("", LogScore(), Forecasts(law, e)) for e in errors.T])
    return [float(given.mean()), float((given & wrong).mean())]


def plan() -> list[Simulation]:
    """Return a unit for every world."""
    return [Simulation(world, shares, (world, tuple(ROWS.items())), 7) for world in WORLDS]


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a line for every world."""
    lines = ["# python -m studies log_score_limits", "# errors: rows: given; given and wrong"]
    for world, values in found.items():
        cells = [f"{n}: {given:.3f}; {wrong:.3f}" for n, (given, wrong) in zip(ROWS, values, strict=True)]
        lines.append(f"{world}: {', '.join(cells)}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


STUDY = Study(
    "log_score_limits",
    "Simulate how often limits of the log score are given, and given and wrong.",
    plan,
    write,
    "coverage/log_score_limits.txt",
)
