"""The command line of the simulations."""

from collections.abc import Sequence

from calibrant.simulations.command import Study, run
from calibrant.validity import tables
from calibrant.validity.units import plan

STUDY = Study("validity", "Simulate levels and power of the tests of calibration.", plan, tables.write, can_keep=True)


def main(arguments: Sequence[str]) -> int:
    """Complete what is missing, write the tables; return the exit code."""
    return run(STUDY, arguments)
