"""Evidence that confidence limits are right: how often they contain the true value, by simulation, as tables."""

from studies.coverage import tables
from studies.coverage.units import plan
from studies.simulations.command_line import Study

STUDY = Study(
    "coverage", "Simulate how often confidence limits contain the true value.", plan, tables.write, is_grid=True
)
