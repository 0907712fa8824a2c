"""The command line of the simulations."""

from collections.abc import Sequence

from studies.coverage import tables
from studies.coverage.units import plan
from studies.simulations.command import Study, run

STUDY = Study(
    "coverage", "Simulate how often confidence limits contain the true value.", plan, tables.write, can_keep=True
)


def main(arguments: Sequence[str]) -> int:
    """Complete what is missing, write the tables; return the exit code."""
    return run(STUDY, arguments)
