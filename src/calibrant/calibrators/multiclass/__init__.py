"""Calibrators that act on all classes of a row at once."""
