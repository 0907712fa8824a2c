"""Rows counted into fine cells with integer sums, for sketches and for data with many rows."""

from calibrant.binning.cells.grid import Grid, grid_of
from calibrant.binning.cells.line import COLUMNS, UNIT, Cells, Line, as_predictions

__all__ = ["COLUMNS", "UNIT", "Cells", "Grid", "Line", "as_predictions", "grid_of"]
