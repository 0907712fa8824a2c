"""The tables as files: every number as CSV, and the same to read as Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.io import write_text
from studies.coverage.battery import BATTERY, LEVEL, N_RESAMPLES
from studies.coverage.cells import ALL_SHAPES, CLASSES, HELD_OUT, World
from studies.coverage.rows import LEAST, MOST, Row, kept_rows, kept_truths
from studies.coverage.truths import Truth
from studies.coverage.units import SIZES, LimitsUnit, TruthUnit
from studies.simulations import text
from studies.simulations.limits import clopper_pearson
from studies.simulations.units import Unit

HEAD = f"""# Coverage of confidence limits

Written by `python -m studies coverage`; the same numbers with their intervals are in `coverage.csv`, the true values
in `truths.csv`. How to read this: [coverage.md](../coverage.md). Share of data sets whose limits of level {LEVEL}
contain the true value, with {N_RESAMPLES} resamples. Shares outside of {LEAST} to {MOST} are bold.
"""


SUMMARY = f"""Least and largest share over the cells in which at least half of the data sets have limits. "Outside" are
cells whose share lies outside of {LEAST} to {MOST} by more than chance: its own interval of 95 % does. "Held out" are
predictions that were simulated after most rules had been chosen; the page says which were made stricter by them.

"""


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


def write(out: Path, units: Sequence[Unit], found: Mapping[Unit, FloatArray], *, keep: bool = False) -> None:
    """Write all tables from the units that are complete; `keep` rows of other units that are in the tables already."""
    truths = kept_truths(out) if keep else {}
    truths |= {unit.world: unit.named(values) for unit, values in found.items() if isinstance(unit, TruthUnit)}
    by_place = {_place(row): row for row in kept_rows(out)} if keep else {}
    for unit, limits in found.items():
        if isinstance(unit, LimitsUnit) and unit.cell.world in truths:
            by_place |= {_place(row): row for row in rows_of(unit, limits, truths[unit.cell.world])}
    rows = [by_place[place] for place in sorted(by_place)]
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "coverage.csv", text.as_csv(map(_record, rows)))
    write_text(out / "truths.csv", text.as_csv(_truth_records(truths)))
    write_text(out / "coverage.md", _page(rows, _missing(units, rows, truths)))


def _missing(units: Sequence[Unit], rows: Sequence[Row], truths: Mapping[World, object]) -> list[Unit]:
    """Return the units that not every method of the table has a row of."""
    there = {(row.key, row.method, row.cell.world, row.cell.n) for row in rows}

    def is_there(unit: Unit) -> bool:
        if isinstance(unit, LimitsUnit):
            return all((unit.key, m, unit.cell.world, unit.cell.n) in there for m in BATTERY[unit.key].truths)
        return isinstance(unit, TruthUnit) and unit.world in truths

    return [unit for unit in units if not is_there(unit)]


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
