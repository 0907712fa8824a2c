"""The command line of the simulations."""

from collections.abc import Sequence

from studies.simulations.command import Study, run
from studies.validity import tables
from studies.validity.units import plan

STUDY = Study("validity", "Simulate levels and power of the tests of calibration.", plan, tables.write, can_keep=True)


def main(arguments: Sequence[str]) -> int:
    """Complete what is missing, write the tables; return the exit code."""
    return run(STUDY, arguments)
