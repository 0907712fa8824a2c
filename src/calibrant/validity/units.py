"""Units of work: one test on all data sets of one cell, kept as one small file."""

import hashlib
import json
import re
import warnings
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from calibrant import __version__
from calibrant._checks import DataWarning
from calibrant._convert import InputError
from calibrant._typing import FloatArray
from calibrant.hypotest import CalibrationTest
from calibrant.io import write_text
from calibrant.validity.battery import BATTERY, estimated_seconds
from calibrant.validity.cells import SEED, Cell, null_cells, power_cells, simulate


@dataclass(frozen=True)
class Unit:
    """One test in one cell."""

    cell: Cell
    test: str

    @property
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`."""
        return f"{self.cell.name} {self.test}"

    @property
    def settings(self) -> str:
        """Digest of everything that decides the p-values, except the code itself."""
        text = repr((__version__, SEED, astuple(self.cell), self.test, repr(BATTERY[self.test].test)))
        return hashlib.sha256(text.encode()).hexdigest()

    def path(self, cache: Path) -> Path:
        """Return the file of the unit."""
        return cache / (re.sub(r"[^\w.-]+", "_", self.name) + ".json")


def plan(sets: int | None = None) -> list[Unit]:
    """Return all units, cheapest first; `sets` overrides the number of data sets of every cell."""
    cells = null_cells() + power_cells()
    if sets is not None:
        cells = [Cell(cell.shape, cell.n, cell.n_classes, sets, cell.harm) for cell in cells]
    units = [Unit(cell, name) for cell in cells for name, entry in BATTERY.items() if entry.takes(cell)]
    return sorted(units, key=lambda unit: estimated_seconds(unit.test, unit.cell))


def pvalues_of(unit: Unit) -> list[float | None]:
    """Return the p-value of every data set; None where the test refused it."""
    test = BATTERY[unit.test].test
    with warnings.catch_warnings():
        # Small simulated sets look suspicious: labels of one class, few distinct predictions.
        warnings.simplefilter("ignore", DataWarning)
        return [_pvalue(unit.cell, test, index) for index in range(unit.cell.sets)]


def _pvalue(cell: Cell, test: CalibrationTest, index: int) -> float | None:
    data_rng, test_rng = cell.generators(index)
    data = simulate(cell, data_rng)
    try:
        return test(data, rng=test_rng).pvalue
    except InputError:
        return None


def complete(unit: Unit, cache: Path) -> str:
    """Compute the unit and write its file, all of it or nothing; return the name of the unit."""
    record = {"unit": unit.name, "settings": unit.settings, "pvalues": pvalues_of(unit)}
    write_text(unit.path(cache), json.dumps(record))
    return unit.name


def load(unit: Unit, cache: Path) -> FloatArray | None:
    """Return the p-values of a unit, NaN where refused; None if its file is missing, damaged or of other settings."""
    try:
        record = json.loads(unit.path(cache).read_text(encoding="utf-8"))
        if record["settings"] != unit.settings:
            return None
        pvalues = np.array(record["pvalues"], dtype=np.float64)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if pvalues.shape != (unit.cell.sets,) or np.any((pvalues <= 0) | (pvalues > 1)):
        return None
    return pvalues
