"""Evidence that the tests of calibration are right: simulated levels and power, as tables."""

from studies.simulations.command_line import Study
from studies.validity import tables
from studies.validity.units import plan

STUDY = Study("validity", "Simulate levels and power of the tests of calibration.", plan, tables.write, is_grid=True)
