"""Units of work: one test on all data sets of one cell, kept as one small file."""

import warnings
from dataclasses import astuple, dataclass, replace

from calibrant.exceptions import DataWarning, InputError
from calibrant.hypotest import CalibrationTest
from studies.simulations import units
from studies.validity.battery import BATTERY, estimated_seconds
from studies.validity.cells import SEED, Cell, null_cells, power_cells, simulate


@dataclass(frozen=True)
class Unit(units.Unit):
    """One test in one cell."""

    cell: Cell
    test: str

    @property
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`."""
        return f"{self.cell.name} {self.test}"

    @property
    def settings(self) -> object:
        """Everything that decides the p-values, except the code itself."""
        return SEED, astuple(self.cell), self.test, repr(BATTERY[self.test].test)

    def compute(self) -> list[float | None]:
        """Return the p-value of every data set; None where the test refused it."""
        test = BATTERY[self.test].test
        with warnings.catch_warnings():
            # Small simulated sets look suspicious: labels of one class, few distinct predictions.
            warnings.simplefilter("ignore", DataWarning)
            return [_pvalue(self.cell, test, index) for index in range(self.cell.sets)]


def plan(sets: int | None = None) -> list[Unit]:
    """Return all units, cheapest first; `sets` overrides the number of data sets of every cell."""
    cells = null_cells() + power_cells()
    if sets is not None:
        cells = [replace(cell, sets=sets) for cell in cells]
    units = [Unit(cell, name) for cell in cells for name, entry in BATTERY.items() if entry.takes(cell)]
    return sorted(units, key=lambda unit: estimated_seconds(unit.test, unit.cell))


def _pvalue(cell: Cell, test: CalibrationTest, index: int) -> float | None:
    data_rng, test_rng = cell.generators(index)
    data = simulate(cell, data_rng)
    try:
        return test(data, rng=test_rng).pvalue
    except InputError:
        return None
