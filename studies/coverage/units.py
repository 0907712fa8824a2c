"""Units of work: one kind of limits on all data sets of one cell, and the true values of one world."""

import warnings
from dataclasses import astuple, dataclass
from typing import Any

from calibrant._border.types import FloatArray
from calibrant.exceptions import DataWarning, InputError
from studies.coverage.battery import BATTERY, LEVEL, N_RESAMPLES
from studies.coverage.cells import SEED, SETS, Cell, World, all_worlds, simulate
from studies.coverage.truths import ALL_QUANTITIES, BATCH_ROWS, N_BATCHES, N_ROWS, Truth, true_values
from studies.simulations import units, worlds

SIZES = (100, 300, 1000, 5000, 10_000)
"""Rows of a data set."""


@dataclass(frozen=True)
class LimitsUnit(units.Unit):
    """The limits of one row of the battery in one cell."""

    cell: Cell
    key: str

    @property
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`."""
        return f"{self.cell.name} {self.key}"

    @property
    def settings(self) -> object:
        """Everything that decides the limits, except the code itself."""
        entry = BATTERY[self.key]
        return SEED, astuple(self.cell), self.key, entry.metric, [*entry.truths], N_RESAMPLES, LEVEL

    def compute(self) -> list[Any]:
        """Return the limits for every data set; None for each where they were refused."""
        with warnings.catch_warnings():
            # Small simulated sets look suspicious: labels of one class, few distinct predictions.
            warnings.simplefilter("ignore", DataWarning)
            return [self._limits(index) for index in range(self.cell.sets)]

    def _limits(self, index: int) -> list[Any]:
        data_rng, rng = worlds.generators(SEED, self.cell.name, index)
        try:
            return BATTERY[self.key].limits(simulate(self.cell, data_rng), rng)
        except InputError:
            return [None] * BATTERY[self.key].n_columns


@dataclass(frozen=True)
class TruthUnit(units.Unit):
    """The true values of one world with their errors."""

    world: World

    @property
    def name(self) -> str:
        """Name in progress lines, matched by the option `--only`."""
        return f"{self.world.name} truth"

    @property
    def settings(self) -> object:
        """Everything that decides the values, except the code itself."""
        return astuple(self.world), (N_ROWS, N_BATCHES, BATCH_ROWS), ALL_QUANTITIES

    def compute(self) -> list[Any]:
        """Return value and error of every quantity."""
        return [[*truth] for truth in true_values(self.world).values()]

    @staticmethod
    def named(values: FloatArray) -> dict[str, Truth]:
        """Return the values by their names."""
        return {name: Truth(*row) for name, row in zip(ALL_QUANTITIES, values.tolist(), strict=True)}


def plan(sets: int | None = None) -> list[units.Unit]:
    """Return all units: the true values, then the limits, cheapest first; `sets` overrides their number in a cell."""
    cells = [Cell(world, n, sets or SETS) for world in all_worlds() for n in SIZES]
    limits = [LimitsUnit(cell, key) for cell in cells for key, entry in BATTERY.items() if entry.takes(cell)]
    limits.sort(key=lambda unit: BATTERY[unit.key].seconds(unit.cell))
    return [*map(TruthUnit, all_worlds()), *limits]
