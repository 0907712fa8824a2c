"""Evidence that the tests of calibration are right: simulated levels and power, as tables.

Call it as ``python -m studies validity``. A run that is interrupted continues where it stopped.
"""
