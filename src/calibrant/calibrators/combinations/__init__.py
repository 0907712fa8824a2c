"""Calibrators that consist of other calibrators."""
