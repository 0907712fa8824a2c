"""Kernel regression of outcomes on predictions, and the choice of its bandwidth."""
