"""Files: predictions and forecasts in, results out."""

from typing import TYPE_CHECKING

from calibrant._lazy import attributes

if TYPE_CHECKING:
    from calibrant._border.files import check_writable, write_atomically, write_text
    from calibrant._border.text import printable
    from calibrant.io.forecasts import read_forecasts
    from calibrant.io.read import column_names, read_column, read_predictions, read_raw_logits

_HOMES = {
    "_border.files": "check_writable write_atomically write_text",
    "_border.text": "printable",
    "io.forecasts": "read_forecasts",
    "io.read": "column_names read_column read_predictions read_raw_logits",
}
"""The names that each module holds: a command that reads predictions needs no forecasts."""

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

__getattr__ = attributes(__name__, _HOMES)
