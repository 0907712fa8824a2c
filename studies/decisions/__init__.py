"""Coverage of limits of decisions, and whether promised error rates are kept."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from studies.decisions import covering, promising
from studies.decisions.covering import WORLDS
from studies.simulations.command_line import Study
from studies.simulations.text import section
from studies.simulations.units import Simulation, simulations

HEAD = """# Decisions: coverage of limits, and promises kept

Made by `python -m studies decisions`; what the numbers mean is in [decisions.md](../decisions.md). Log-odds are normal
with mean -2.5 and standard deviation 1.5 (14 % events), or -4.7 and 1.2 (2 % events). {runs} runs per cell: a share of
0.95 is known to about {error:.3f} (two standard errors). Limits are refused where too few rows decide; the share of
runs that have them is given.
"""

PARTS = {
    "net benefit": (
        "Net benefit: limits of 95 % at a threshold, and joint bands",
        ("world", "rows", "least of all thresholds", "largest", "jointly", "limits given"),
    ),
    "cost": ("Cost per row: limits of 95 %", ("world", "rows", "covers", "limits given")),
    "threshold": ("Best threshold: limits of 95 %", ("world", "rows", "covers", "limits given")),
    "base rate": (
        "Base rate of rows without labels: limits of 95 %, old base rate 0.5",
        ("base rate", "rows", "calibrated", "logits twice too large"),
    ),
    "labelled base rate": (
        "Base rate of rows without labels, beside rows with the old base rate: limits of 95 %, a quarter of the runs",
        (
            *("old and new base rate", "rows with the old one", "new rows", "covers"),
            *("mean prediction taken for known", "share of labels taken for known"),
            *("covers, log-odds a quarter too large", "mean estimate then"),
        ),
    ),
    "class shares": (
        "Shares of several classes of rows without labels: limits of 95 %, old shares all equal, a fifth of the runs",
        ("shares", "rows", "least of all classes", "mean", "largest", "mean, logits twice too large"),
    ),
    "area": (
        "Areas under the risk-coverage curve: limits of 95 %",
        ("answers", "rows", "AURC", "E-AURC", "AUGRC", "difference of two AURC, always", "limits of one given"),
    ),
    "promise": (
        "Promised error rates: broken in at most delta of all runs",
        (
            *("confidences", "rows", "promised", "delta"),
            *("broken", "coverage", "broken if naive", "its coverage", "possible"),
        ),
    ),
}
"""Title and heads of each part; a unit is named by its part and by the first cells of its row."""


def write(path: Path, found: Mapping[str, Any], runs: int) -> None:
    """Write what is complete."""
    lines = [HEAD.format(runs=runs, error=2 * np.sqrt(0.05 * 0.95 / runs))]
    for part, (title, heads) in PARTS.items():
        rows = [
            (*name.split(" | ")[1:], *map(_share, values))
            for name, values in found.items()
            if name.startswith(f"{part} |")
        ]
        lines.append(section(title, heads, rows))
    path.write_text("\n".join(lines), encoding="utf-8")


def _share(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.3f}"


RUNS = 1000
ROWS = (300, 1000, 5000)
RATES, RATE_ROWS = (0.02, 0.1, 0.4), (100, 400, 2000)
CHANGES, CHANGE_ROWS = ((0.3, 0.5), (0.3, 0.02), (0.05, 0.02)), ((300, 3000), (1000, 5000))
"""Old and new base rates; rows with the old one, and new rows."""

AREA_ROWS = (100, 300, 1000)
PROMISES = ((300, 0.05, 0.1), (1000, 0.05, 0.1), (1000, 0.02, 0.05), (5000, 0.045, 0.05))
"""Rows, promised error rate, and how often it may be broken."""


def plan(runs: int = RUNS) -> list[Simulation]:
    """Return all units."""
    parts = (("net benefit", covering.net_benefit), ("cost", covering.cost), ("threshold", covering.threshold))
    cells: list[Any] = [
        (f"{part} | {world.name} | {n}", function, (world, n, runs))
        for part, function in parts
        for world in WORLDS
        for n in ROWS
    ]
    cells += [(f"base rate | {rate} | {n}", covering.base_rates, (rate, n, runs)) for rate in RATES for n in RATE_ROWS]
    for name, function in (("continuous", promising.continuous), ("five values", promising.discrete)):
        cells += [
            (f"promise | {name} | {n} | {risk} | {delta}", function, (n, risk, delta, runs))
            for n, risk, delta in PROMISES
        ]
    cells += [
        (f"class shares | {', '.join(map(str, shares))} % | {n}", covering.class_shares, (shares, n, max(4, runs // 5)))
        for shares, sizes in covering.SHARES.items()
        for n in sizes
    ]
    cells += [
        (f"area | {world} | {n}", covering.areas, (world, n, runs)) for world in covering.ANSWERS for n in AREA_ROWS
    ]
    fewer = max(1, runs // 4)
    cells += [
        (f"labelled base rate | {old} to {new} | {n} | {m}", covering.labelled_base_rates, (old, new, n, m, fewer))
        for old, new in CHANGES
        for n, m in CHANGE_ROWS
    ]
    return simulations(cells, 2026)


STUDY = Study(
    "decisions",
    "Simulate limits of net benefits, costs, thresholds and base rates, and promised error rates.",
    plan,
    partial(write, runs=RUNS),
    "validity/decisions.md",
)
