"""Kernel regression of outcomes on predictions, and the bandwidths that it takes."""
