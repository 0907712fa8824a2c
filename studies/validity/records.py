"""The numbers of the tables as records of text: of what was computed, and of tables that were written before."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from calibrant._border.types import FloatArray
from studies.validity.battery import BATTERY
from studies.validity.summaries import Rate, Summary, summarise
from studies.validity.units import Unit

Record: TypeAlias = dict[str, str]
"""A row of a table, by column."""

Records: TypeAlias = dict[Unit, Record]

GRID = (0.01, 0.02, *(k / 20 for k in range(1, 20)))
"""Where the distribution functions are written down; departures are taken over all points."""


def null_record(row: Summary) -> Record:
    """Return rates and departures of a test on calibrated predictions."""
    record = _columns(row)
    for rate in row.rates:
        record |= _rate_columns(rate)
    return record | {
        "ecdf_above": f"{row.departure.excess:.4f}",
        "ecdf_below": f"{row.departure.deficit:.4f}",
        "band": f"{row.band:.4f}",
        "levels": row.level_verdict,
        "whole": row.whole_verdict,
    }


def ecdf_record(row: Summary) -> Record:
    """Return the distribution function of its p-values."""
    shares = np.searchsorted(np.sort(row.pvalues), GRID, side="right") / len(row.pvalues)
    points = {f"{t:.2f}": f"{share:.4f}" for t, share in zip(GRID, shares, strict=True)}
    return _columns(row) | {"band": f"{row.band:.4f}"} | points


def power_record(row: Summary) -> Record:
    """Return the rate of a test on predictions with a defect."""
    return {"defect": row.unit.cell.defect} | _columns(row) | _rate_columns(row.rates[0])


MAKERS = {"null": null_record, "ecdf": ecdf_record, "power": power_record}
"""How a row of each table is made."""


def all_records(units: Sequence[Unit], found: Mapping[Unit, FloatArray], folder: Path | None) -> dict[str, Records]:
    """Return the rows of every table: computed, or else kept from the tables in a folder, if there is one."""
    summaries = {unit: summarise(unit, raw) for unit, raw in found.items()}
    tables: dict[str, Records] = {}
    for name, make in MAKERS.items():
        wanted = [unit for unit in units if unit.cell.is_null == (name != "power")]
        old = {} if folder is None else _read(folder / f"{name}.csv")
        rows = {unit: make(summaries[unit]) if unit in found else old.get(_key(unit)) for unit in wanted}
        tables[name] = {unit: row for unit, row in rows.items() if row is not None}
    return tables


def _columns(summary: Summary) -> Record:
    cell = summary.unit.cell
    return {
        "predictions": cell.shape,
        "classes": str(cell.n_classes or ""),
        "n": str(cell.n),
        "weights": cell.weights,
        "test": summary.unit.test,
        "promise": BATTERY[summary.unit.test].promise,
        "sets": str(cell.sets),
        "refused": str(summary.refused),
    }


def _rate_columns(rate: Rate) -> Record:
    at = f"{rate.level:.2f}"
    return {f"rate_{at}": f"{rate.value:.4f}", f"low_{at}": f"{rate.low:.4f}", f"high_{at}": f"{rate.high:.4f}"}


def _read(path: Path) -> dict[tuple[str, ...], Record]:
    """Return the rows of a table, by what identifies their units; nothing if there is no such table."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ("test", "predictions", "classes", "n", "weights", "sets")
    return {(row.get("defect", "none"), *(row[name] for name in columns)): row for row in rows}


def _key(unit: Unit) -> tuple[str, ...]:
    cell = unit.cell
    return (
        cell.defect,
        unit.test,
        cell.shape,
        str(cell.n_classes or ""),
        str(cell.n),
        cell.weights,
        str(cell.sets),
    )
