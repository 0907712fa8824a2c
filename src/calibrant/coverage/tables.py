"""The tables as files: every number as CSV, and the same to read as Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrant._typing import FloatArray
from calibrant.coverage.battery import BATTERY, LEVEL, N_RESAMPLES
from calibrant.coverage.cells import ALL_SHAPES, CLASSES, HELD_OUT, Cell, World
from calibrant.coverage.truths import Truth
from calibrant.coverage.units import SIZES, LimitsUnit, TruthUnit
from calibrant.io import write_text
from calibrant.simulations import text
from calibrant.simulations.limits import clopper_pearson
from calibrant.simulations.units import Unit

LEAST, MOST = 0.93, 0.97
"""A method is good where its coverage lies between these."""

HEAD = f"""# Coverage of confidence limits

Written by `python -m calibrant.coverage`; the same numbers with their intervals are in `coverage.csv`, the true values
in `truths.csv`. How to read this: [coverage.md](../coverage.md). Share of data sets whose limits of level {LEVEL}
contain the true value, with {N_RESAMPLES} resamples. Shares outside of {LEAST} to {MOST} are bold.
"""


SUMMARY = f"""Least and largest share over the cells in which at least half of the data sets have limits. "Outside" are
cells whose share lies outside of {LEAST} to {MOST} by more than chance: its own interval of 95 % does. "Held out" are
predictions that were simulated after most rules had been chosen; the page says which were made stricter by them.

"""


@dataclass(frozen=True)
class Row:
    """One method in one cell.

    Attributes
    ----------
    key, method : str
        Row of the battery, and the method.
    cell : Cell
    truth : Truth
    covered, too_low, too_high : int
        Data sets whose limits contain the true value, lie below it, or above it; the others were refused.
    width : float
        Median distance of the limits.
    """

    key: str
    method: str
    cell: Cell
    truth: Truth
    covered: int
    too_low: int
    too_high: int
    width: float

    @property
    def answered(self) -> int:
        """Data sets for which there are limits."""
        return self.covered + self.too_low + self.too_high

    @property
    def coverage(self) -> float:
        """Share of covered data sets among those for which there are limits."""
        return self.covered / self.answered if self.answered else float("nan")

    @property
    def is_mostly_answered(self) -> bool:
        """Whether at least half of the data sets have limits."""
        return 2 * self.answered >= self.cell.sets

    @property
    def is_offered(self) -> bool:
        """Whether the library offers these limits for so many rows."""
        entry = BATTERY[self.key]
        return entry.offered == self.method and self.cell.n >= entry.least_rows

    @property
    def is_good(self) -> bool:
        """Whether the coverage is what it should be."""
        return LEAST <= self.coverage <= MOST

    @property
    def may_be_good(self) -> bool:
        """Whether the coverage is what it should be, but for chance: its interval of 95 % reaches there."""
        low, high = clopper_pearson(self.covered, self.answered, 0.95)
        return low <= MOST and high >= LEAST


def rows_of(unit: LimitsUnit, limits: FloatArray, truths: Mapping[str, Truth]) -> list[Row]:
    """Return a row for each method of the unit."""
    rows = []
    for position, (method, quantity) in enumerate(BATTERY[unit.key].truths.items()):
        low, high = limits[:, 2 * position], limits[:, 2 * position + 1]
        given = ~np.isnan(low)
        values = BATTERY[unit.key].true_values(quantity, truths, limits)
        below, above = high < values, low > values
        rows.append(
            Row(
                key=unit.key,
                method=method,
                cell=unit.cell,
                truth=Truth(float(np.nanmedian(values)), truths[quantity].error),
                covered=int((given & ~below & ~above).sum()),
                too_low=int(below.sum()),
                too_high=int(above.sum()),
                width=float(np.median((high - low)[given])) if given.any() else float("nan"),
            )
        )
    return rows


def write(out: Path, units: Sequence[Unit], found: Mapping[Unit, FloatArray]) -> None:
    """Write all tables from the units that are complete."""
    truths = {unit.world: unit.named(values) for unit, values in found.items() if isinstance(unit, TruthUnit)}
    rows = [
        row
        for unit, limits in found.items()
        if isinstance(unit, LimitsUnit) and unit.cell.world in truths
        for row in rows_of(unit, limits, truths[unit.cell.world])
    ]
    rows.sort(key=_place)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "coverage.csv", text.as_csv(map(_record, rows)))
    write_text(out / "truths.csv", text.as_csv(_truth_records(truths)))
    write_text(out / "coverage.md", _page(rows, [unit for unit in units if unit not in found]))


def _place(row: Row) -> tuple[float, ...]:
    world = row.cell.world
    methods = list(BATTERY[row.key].truths)
    shape = list(ALL_SHAPES).index(world.shape)
    place = list(BATTERY).index(row.key), methods.index(row.method), shape
    return *place, world.weights, -world.slope, row.cell.n


def _record(row: Row) -> dict[str, object]:
    world = row.cell.world
    low, high = clopper_pearson(row.covered, row.answered) if row.answered else (0.0, 1.0)
    return {
        "metric": row.key,
        "method": row.method,
        "offered": "yes" if row.is_offered else "no",
        "predictions": world.shape,
        "classes": CLASSES[world.shape],
        "slope": f"{world.slope:g}",
        "weights": f"{world.weights:g}",
        "n": row.cell.n,
        "sets": row.cell.sets,
        "refused": row.cell.sets - row.answered,
        "truth": f"{row.truth.value:.6f}",
        "truth_error": f"{row.truth.error:.1e}",
        "coverage": f"{row.coverage:.4f}",
        "low_0.999": f"{low:.4f}",
        "high_0.999": f"{high:.4f}",
        "below": row.too_low,
        "above": row.too_high,
        "median_width": f"{row.width:.5f}",
    }


def _truth_records(truths: Mapping[World, Mapping[str, Truth]]) -> Iterable[dict[str, object]]:
    for world, values in truths.items():
        for name, truth in values.items():
            yield {
                "predictions": world.shape,
                "slope": f"{world.slope:g}",
                "weights": f"{world.weights:g}",
                "quantity": name,
                "value": f"{truth.value:.7f}",
                "error": f"{truth.error:.1e}",
            }


REGIONS: dict[str, Callable[[Row], bool]] = {
    "100 rows": lambda row: row.cell.n == 100,
    "300 rows": lambda row: row.cell.n == 300,
    "1000 rows and more": lambda row: row.cell.n >= 1000,
    "nearly sure of one class": lambda row: row.cell.world.shape == "beta-5-0.1",
    "all others": lambda row: row.cell.world.shape != "beta-5-0.1",
    "calibrated": lambda row: row.cell.world.is_calibrated,
    "not calibrated": lambda row: not row.cell.world.is_calibrated,
    "two classes": lambda row: CLASSES[row.cell.world.shape] == 2,
    "ten classes": lambda row: CLASSES[row.cell.world.shape] == 10,
    "held out": lambda row: row.cell.world.shape in HELD_OUT,
}
"""Cells whose least and largest coverage stand in the summary."""


def _summary(rows: Sequence[Row]) -> str:
    """Return the least and the largest coverage of every method, by region."""
    lines = []
    kinds = {(row.key, row.method, row.is_offered): None for row in rows if row.is_mostly_answered}
    for kind in kinds:
        chosen = [row for row in rows if (row.key, row.method, row.is_offered) == kind and row.is_mostly_answered]
        ranges = [_range([row for row in chosen if belongs(row)]) for belongs in (lambda _: True, *REGIONS.values())]
        outside = str(sum(not row.may_be_good for row in chosen))
        key, method, is_offered = kind
        lines.append((f"{key}: {method}", "yes" if is_offered else "no", str(len(chosen)), outside, *ranges))
    columns = ("limits", "offered", "cells", "outside", "all cells", *REGIONS)
    return "## Summary\n\n" + SUMMARY + text.as_markdown(columns, lines)


def _range(rows: Sequence[Row]) -> str:
    shares = [row.coverage for row in rows]
    return f"{min(shares):.3f} to {max(shares):.3f}" if shares else ""


def _page(rows: Sequence[Row], missing: Sequence[Unit]) -> str:
    parts = [HEAD, _summary(rows)]
    for key, entry in BATTERY.items():
        for method in entry.truths:
            chosen = {(row.cell.world, row.cell.n): row for row in rows if (row.key, row.method) == (key, method)}
            if chosen:
                few = f" (not offered below {entry.least_rows} rows)" if entry.least_rows else ""
                offered = few if entry.offered == method else " (not offered)"
                parts.append(f"## {key}: {method}{offered}\n\n" + _table(chosen))
    return "\n".join([*parts, text.missing(missing)])


def _table(chosen: Mapping[tuple[World, int], Row]) -> str:
    present = list(dict.fromkeys(world for world, _ in chosen))
    lines = [
        (world.name, f"{_any(chosen, world).truth.value:.4f}", *(_share(chosen.get((world, n))) for n in SIZES))
        for world in present
    ]
    return text.as_markdown(("predictions", "true value", *(f"n={n}" for n in SIZES)), lines)


def _any(chosen: Mapping[tuple[World, int], Row], world: World) -> Row:
    return next(row for (other, _), row in chosen.items() if other == world)


def _share(row: Row | None) -> str:
    if row is None:
        return ""
    if not row.answered:
        return "refused"
    shown = f"{row.coverage:.3f}" if row.is_good else f"**{row.coverage:.3f}**"
    refused = row.cell.sets - row.answered
    return f"{shown} ({refused} refused)" if refused else shown
