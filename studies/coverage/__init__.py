"""Evidence that confidence limits are right: how often they contain the true value, by simulation, as tables.

Call it as ``python -m studies coverage``. A run that is interrupted continues where it stopped.
"""
