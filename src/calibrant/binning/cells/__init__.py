"""Rows counted into fine cells by integers: what a sketch is made of, and what many rows are judged by."""

from calibrant.binning.cells.grid import Grid, grid_of
from calibrant.binning.cells.line import COLUMNS, UNIT, Cells, Line, as_predictions

__all__ = ["COLUMNS", "UNIT", "Cells", "Grid", "Line", "as_predictions", "grid_of"]
