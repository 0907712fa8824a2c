"""Simulation studies that can be stopped and continued: units of work, workers, and the command line of a study."""
