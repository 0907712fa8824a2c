"""The command line of the simulations."""

from studies.coverage import tables
from studies.coverage.units import plan
from studies.simulations.command_line import Study

STUDY = Study(
    "coverage", "Simulate how often confidence limits contain the true value.", plan, tables.write, is_grid=True
)
