"""The tables as files: every number as CSV, and the same to read as Markdown."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from calibrant._border.types import FloatArray
from calibrant.io import write_text
from studies.simulations import text
from studies.simulations.limits import clopper_pearson
from studies.validity.battery import BATTERY, N_RESAMPLES
from studies.validity.cells import DEFECTS, SHAPES
from studies.validity.records import Record, Records, all_records
from studies.validity.summaries import LEVELS, POWER_CONFIDENCE, POWER_LEVEL
from studies.validity.units import Unit

COMMAND = "python -m studies validity"

NULL_HEAD = f"""# Levels of the tests on calibrated predictions

Written by `{COMMAND}`; the same numbers are in `null.csv`, the distribution functions of the p-values in `ecdf.csv`.
How to read this: [validity.md](../validity.md). Intervals and bands are of 99.9 %. Rates above the level beyond chance
are bold. "above" and "below": how far the distribution function of the p-values leaves the uniform one, upwards, with
the width of the band beside it, and downwards.
"""

POWER_HEAD = f"""# Power of the tests on spoilt predictions

Written by `{COMMAND}`; the same numbers are in `power.csv`. Share of data sets rejected at level {POWER_LEVEL}, with a
95 % Clopper-Pearson interval. How to read this: [validity.md](../validity.md).
"""


def write(out: Path, units: Sequence[Unit], found: Mapping[Unit, FloatArray], *, keep: bool = False) -> None:
    """Write all tables from the units that are complete; `keep` rows of other units that are in the tables already."""
    place = {name: i for i, name in enumerate([*SHAPES, "normal"])}
    defects = {name: i for i, name in enumerate(DEFECTS)}
    order = {name: i for i, name in enumerate(BATTERY)}

    def key(unit: Unit) -> tuple[int | str, ...]:
        cell = unit.cell
        return order[unit.test], defects[cell.defect], place[cell.shape], cell.n_classes, cell.weights != "none", cell.n

    tables = all_records(sorted(units, key=key), found, out if keep else None)
    out.mkdir(parents=True, exist_ok=True)
    for name, records in tables.items():
        write_text(out / f"{name}.csv", text.as_csv(records.values()))
    write_text(out / "null.md", _null_page(tables["null"], _missing(units, tables["null"], null=True)))
    write_text(out / "power.md", _power_page(tables["power"], _missing(units, tables["power"], null=False)))


def _missing(units: Sequence[Unit], records: Records, *, null: bool) -> list[Unit]:
    return [unit for unit in units if unit.cell.is_null == null and unit not in records]


def _null_page(records: Records, missing: Sequence[Unit]) -> str:
    parts = [NULL_HEAD, _overview(records)]
    heads = ("cell", "sets", "refused", *(f"at {level:.2f}" for level in LEVELS), "above", "below", "levels", "whole")
    for name in BATTERY:
        lines = [_null_cells(unit, record) for unit, record in records.items() if unit.test == name]
        if lines:
            parts.append(f"## {name} ({BATTERY[name].promise})\n\n" + text.as_markdown(heads, lines))
    return "\n".join([*parts, text.missing(missing)])


def _overview(records: Records) -> str:
    heads = ("test", "promise", "cells", "refuses", "too often", "too seldom", "above the band", "rates at 0.05")
    lines = []
    for name, entry in BATTERY.items():
        chosen = [record for unit, record in records.items() if unit.test == name]
        answering = [record for record in chosen if record["levels"] != "refuses"]
        rates = [float(record["rate_0.05"]) for record in answering]
        counts = (
            len(chosen),
            len(chosen) - len(answering),
            sum("too often" in record["levels"] for record in answering),
            sum("too seldom" in record["levels"] for record in answering),
            sum("too often" in record["whole"] for record in answering),
        )
        span = f"{min(rates):.3f} to {max(rates):.3f}" if rates else ""
        lines.append((name, entry.promise, *map(str, counts), span))
    return f"## In short\n\nCells, of each test; B = {N_RESAMPLES} redraws or replicates.\n\n" + text.as_markdown(
        heads, lines
    )


def _null_cells(unit: Unit, record: Record) -> tuple[str, ...]:
    return (
        unit.cell.name,
        record["sets"],
        record["refused"],
        *(_marked(record, level) for level in LEVELS),
        f"{record['ecdf_above']} / {record['band']}",
        record["ecdf_below"],
        record["levels"],
        record["whole"],
    )


def _marked(record: Record, level: float) -> str:
    rate, low, high = (record[f"{name}_{level:.2f}"] for name in ("rate", "low", "high"))
    shown = f"{rate} [{low}, {high}]"
    return f"**{shown}**" if float(low) >= level and "too often" in record["levels"] else shown


def _power_page(records: Records, missing: Sequence[Unit]) -> str:
    parts = [POWER_HEAD]
    worlds = dict.fromkeys((unit.cell.defect, unit.cell.shape, unit.cell.n_classes) for unit in records)
    for world in sorted(worlds, key=lambda world: list(DEFECTS).index(world[0])):
        defect, shape, n_classes = world
        chosen = {
            (unit.test, unit.cell.n): record
            for unit, record in records.items()
            if (unit.cell.defect, unit.cell.shape, unit.cell.n_classes) == world
        }
        sizes = sorted({n for _, n in chosen})
        tests = [name for name, entry in BATTERY.items() if entry.special or shape == "flat"]
        lines = [(name, *(_power_cell(chosen.get((name, n))) for n in sizes)) for name in tests]
        head = defect if shape == "flat" else f"{defect} of {shape}"
        parts.append(
            f"## {head}, {n_classes} classes\n\n" + text.as_markdown(("test", *(f"n={n}" for n in sizes)), lines)
        )
    return "\n".join([*parts, text.missing(missing)])


def _power_cell(record: Record | None) -> str:
    if record is None:
        return "not computed"
    if record["refused"] == record["sets"]:
        return "refuses"
    sets = int(record["sets"])
    hits = round(float(record[f"rate_{POWER_LEVEL:.2f}"]) * sets)
    low, high = clopper_pearson(hits, sets, POWER_CONFIDENCE)  # Not those of the record: nothing is rounded twice.
    return f"{hits / sets:.2f} [{low:.2f}, {high:.2f}]"
