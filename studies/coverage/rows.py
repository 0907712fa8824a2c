"""Rows of the tables: one method in one cell, counted from limits or read from a table that was written before."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from studies.coverage.battery import BATTERY
from studies.coverage.cells import ALL_SHAPES, Cell, World
from studies.coverage.truths import ALL_QUANTITIES, Truth
from studies.simulations.limits import clopper_pearson

LEAST, MOST = 0.93, 0.97
"""A method is good where its coverage lies between these."""


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
        """Whether the library offers these limits for this number of rows."""
        entry = BATTERY[self.key]
        return entry.offered == self.method and self.cell.n >= entry.least_rows

    @property
    def is_good(self) -> bool:
        """Whether the coverage is what it should be."""
        return LEAST <= self.coverage <= MOST

    @property
    def may_be_good(self) -> bool:
        """Whether the coverage is what it should be, up to chance: its interval of 95 % reaches the nominal range."""
        low, high = clopper_pearson(self.covered, self.answered, 0.95)
        return low <= MOST and high >= LEAST


def kept_rows(out: Path) -> Iterator[Row]:
    """Yield the rows of the table in a folder, if there is one, of methods that are still under examination."""
    for record in _records(out / "coverage.csv"):
        entry, shape = BATTERY.get(record["metric"]), record["predictions"]
        if entry is None or record["method"] not in entry.truths or shape not in ALL_SHAPES:
            continue
        sets, below, above = (int(record[name]) for name in ("sets", "below", "above"))
        yield Row(
            key=record["metric"],
            method=record["method"],
            cell=Cell(_world(record), int(record["n"]), sets),
            truth=Truth(float(record["truth"]), float(record["truth_error"])),
            covered=sets - int(record["refused"]) - below - above,
            too_low=below,
            too_high=above,
            width=float(record["median_width"]),
        )


def kept_truths(out: Path) -> dict[World, dict[str, Truth]]:
    """Return the true values of the worlds in a folder that has all of them."""
    found: dict[World, dict[str, Truth]] = {}
    for record in _records(out / "truths.csv"):
        values = found.setdefault(_world(record), {})
        values[record["quantity"]] = Truth(float(record["value"]), float(record["error"]))
    return {world: values for world, values in found.items() if [*values] == [*ALL_QUANTITIES]}


def _records(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def _world(record: Mapping[str, str]) -> World:
    return World(record["predictions"], float(record["slope"]), float(record["weights"]))
