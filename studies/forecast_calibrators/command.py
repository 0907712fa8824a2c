"""The command line of the simulations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from studies.forecast_calibrators.worlds import FITTED, JUDGED, MADE_FOR, left
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.units import Simulation

SETS = 400

HEAD = """# Calibrators of forecasts: coverage and what is left

Made by `python -m studies forecast_calibrators`; what they do is in [Fixing forecasts](../forecast_calibrators.md).
Each is fitted to {fitted} rows with the fault that it is made for, and to {fitted} rows that are right, and judged on
{judged} new ones, in {sets} data sets. Coverage is that of central intervals of 90 %, by rank for ensembles, with its
standard error; "rejected" is how often the omnibus test at 0.05, of the new rows, still finds something, with exact
intervals of 99.9 %. Intervals have no distribution that could be tested.

| calibrator | the forecasts are | coverage before | after | rejected |
|---|---|---|---|---|"""


def plan() -> list[Simulation]:
    """Return a unit for every calibrator and world; each has random numbers of its own."""
    return [
        Simulation(_title(name, right), left, (name, SETS, right), (2029, i, int(right)))
        for i, name in enumerate(MADE_FOR)
        for right in (False, True)
        if name != "identity" or right
    ]


def _title(name: str, right: object) -> str:
    return f"{name}, {'right' if right else MADE_FOR[name][0]}"


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a line for every calibrator and world that is complete."""
    lines = [HEAD.format(fitted=FITTED, judged=JUDGED, sets=SETS)]
    for name in MADE_FOR:
        for right in (False, True):
            if (one := found.get(_title(name, right))) is not None and (right or name != "identity"):
                cells = (f"`{name}`", "right" if right else MADE_FOR[name][0], *_cells(one))
                lines.append(f"| {' | '.join(cells)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cells(found: Mapping[str, Any]) -> tuple[str, str, str]:
    before, after = (np.array(found[key]) for key in ("before", "after"))
    error = after.std(ddof=1) / np.sqrt(len(after)) if len(after) > 1 else 0.0
    rejected = rate(found["rejected"], found["sets"]) if found["rejected"] is not None else ""
    return f"{before.mean():.3f}", f"{after.mean():.4f} ({error:.4f})", rejected


STUDY = Study(
    "forecast_calibrators",
    "Simulate what calibrators of forecasts leave on new rows.",
    plan,
    write,
    "validity/forecast_calibrators.md",
)
