"""How often `Watch` and `compare_periods` raise false alarms, how soon true ones, and whether they say what changed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from studies.over_time.runs import Found, Shift, against_reference, alarms, one_run, rejections
from studies.over_time.worlds import COMMON, RARE, World
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.text import section
from studies.simulations.units import Simulation, simulations

HEAD = """# Calibration over time: false alarms, delays, directions

Made by `python -m studies over_time`; what the numbers mean is in [over_time.md](../over_time.md). Log-odds of
predictions are normal, with mean -1.05 and standard deviation 1.3 (30 % events) or -5.05 and 1 (1 % events). Rates
have exact intervals of 99.9 %.
"""


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what is complete."""
    parts = [HEAD, _null(found), _safe(found), _power(found), _compare(found)]
    path.write_text("\n".join(part for part in parts if part), encoding="utf-8")


def _of(found: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {name.removeprefix(kind): values for name, values in found.items() if name.startswith(kind)}


def _table(title: str, header: str, rows: list[list[str]]) -> str:
    return section(title, header.split(" | "), rows) if rows else ""


def _null(found: Mapping[str, Any]) -> str:
    rows = [
        [events, name, rate(hits, 2000)]
        for events, values in _of(found, "null ").items()
        for name, hits in values.items()
    ]
    title = "Calibrated predictions, 2000 streams of 10 000 rows, looked at after every row, alpha 0.05"
    return _table(title, "events | rule | streams with an alarm", rows)


def _safe(found: Mapping[str, Any]) -> str:
    rows = []
    for name, values in _of(found, "safe ").items():
        events, size = name.rsplit(" ", 1)
        rows.append([events, size, rate(values["safe"], 500), rate(values["plugin"], 500)])
    title = "No change against a reference period, 500 runs of 100 days of 1000 rows, alpha 0.05"
    return _table(title, "events | rows of the reference | safe version | as if the reference were known", rows)


def _power(found: Mapping[str, Any]) -> str:
    rows = []
    for name, runs in found.items():
        if name.startswith(("power", "reference")):
            kept = [run for run in runs if run is not None]
            delays, right, off = (np.array(values, dtype=float) for values in zip(*kept, strict=True))
            kind, _, what = name.partition(" ")
            size, _, what = what.partition(" ") if kind == "reference" else ("", "", what)
            middle, most = (np.quantile(delays, q, method="higher") for q in (0.5, 0.9))
            early = f"{len(runs) - len(kept)} of {len(runs)}"
            rows.append([what, size or "none", f"{middle:,.0f}", f"{most:,.0f}", f"{right.mean():.1%}"])
            rows[-1] += [f"{np.median(off):.0f}", early]
    title = "A change at row 10 000, days of 100 rows (500 with a reference)"
    header = "events, change | reference | median delay in rows | 90 % | direction right | days off | alarms before"
    return _table(title, header, rows)


def _compare(found: Mapping[str, Any]) -> str:
    rows = []
    for name, values in _of(found, "compare ").items():
        total = 2000 if name.endswith("none") else 300
        rows.append([name, *(rate(values[key], total) for key in ("lines", "omnibus", "either"))])
    title = "`compare_periods`, 5000 rows each, predictions half a unit of log-odds apart, slope 0.8 in both"
    return _table(title, "events, change | level and slope, p <= 0.05 | omnibus, p <= 0.05 | headline", rows)


SLOPE = Shift("slope 0.8", 0.0, 0.8, "too extreme")
SHIFT = Shift("shift 0.3", 0.3, 1.0, "too low")


def safe(world: World, n_reference: int, rng: np.random.Generator) -> dict[str, int]:
    """Count alarms without a change in 500 runs of 100 days of 1000 rows."""
    return against_reference(world, 500, 100, (n_reference, 1000), rng)._asdict()


def power(
    world: World, change: Shift, last: int, n_rows: int, n_reference: int, rng: np.random.Generator
) -> list[Found | None]:
    """Return what 300 runs find, or 100 with a reference."""
    n_runs = 100 if n_reference else 300
    return [one_run(world, change, n_rows, last, rng, n_reference) for _ in range(n_runs)]


def compare(world: World, n_runs: int, shift: float, bend: float, rng: np.random.Generator) -> dict[str, int]:
    """Count the rejections of comparisons of two periods of 5000 rows."""
    return rejections(world, n_runs, 5000, rng, shift=shift, bend=bend)._asdict()


CELLS: dict[str, tuple[Any, ...]] = {
    "power 30 % slope 0.8": (power, COMMON, SLOPE, 40_000, 100, 0),
    "power 30 % shift 0.3": (power, COMMON, SHIFT, 40_000, 100, 0),
    "power 1 % shift 0.3": (power, RARE, SHIFT, 100_000, 100, 0),
    "null 30 %": (alarms, COMMON, 2000, 10_000),
    "null 1 %": (alarms, RARE, 2000, 10_000),
    "safe 30 % 5000": (safe, COMMON, 5000),
    "safe 1 % 5000": (safe, RARE, 5000),
    "safe 30 % 50000": (safe, COMMON, 50_000),
    "compare 30 % none": (compare, COMMON, 2000, 0.0, 0.0),
    "compare 1 % none": (compare, RARE, 2000, 0.0, 0.0),
    "compare 30 % shift": (compare, COMMON, 300, 0.2, 0.0),
    "compare 30 % bend": (compare, COMMON, 300, 0.0, 0.3),
    "reference 5000 30 % slope 0.8": (power, COMMON, SLOPE, 60_000, 500, 5000),
    "reference 50000 30 % slope 0.8": (power, COMMON, SLOPE, 60_000, 500, 50_000),
    "reference 5000 30 % shift 0.3": (power, COMMON, SHIFT, 60_000, 500, 5000),
}


def plan() -> list[Simulation]:
    """Return all units."""
    return simulations(((name, function, tuple(rest)) for name, (function, *rest) in CELLS.items()), 2026)


STUDY = Study("over_time", "Simulate false alarms and delays of watched days.", plan, write, "validity/over_time.md")
