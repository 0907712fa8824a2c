"""Files: predictions and forecasts in, results out."""

from calibrant.io.forecasts import read_forecasts
from calibrant.io.read import column_names, read_column, read_predictions, read_raw_logits
from calibrant.io.text import printable
from calibrant.io.write import check_writable, write_atomically, write_text

__all__ = [
    "check_writable",
    "column_names",
    "printable",
    "read_column",
    "read_forecasts",
    "read_predictions",
    "read_raw_logits",
    "write_atomically",
    "write_text",
]
