"""The command line of the simulations."""

from functools import partial
from typing import Any

from studies.decisions import covering, promising
from studies.decisions.covering import WORLDS
from studies.decisions.tables import write
from studies.simulations.command_line import Study
from studies.simulations.units import Simulation, simulations

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
