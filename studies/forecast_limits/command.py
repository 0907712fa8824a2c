"""The command line of the simulations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.forecast_limits.worlds import METRICS, SETS, WORLDS, shares
from studies.simulations.command_line import Study
from studies.simulations.units import Simulation


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
