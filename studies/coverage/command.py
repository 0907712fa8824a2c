"""The command line of the simulations."""

from functools import partial

from studies.coverage import tables
from studies.coverage.units import plan
from studies.simulations.command import Study, run

STUDY = Study(
    "coverage", "Simulate how often confidence limits contain the true value.", plan, tables.write, is_grid=True
)
main = partial(run, STUDY)
