"""Files: predictions and forecasts in, results out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant._border.files import check_writable, write_atomically, write_text
    from calibrant._border.text import printable
    from calibrant.io.forecasts import read_forecasts
    from calibrant.io.read import column_names, read_column, read_predictions, read_raw_logits

_HOMES = {
    "check_writable": "_border.files",
    "column_names": "io.read",
    "printable": "_border.text",
    "read_column": "io.read",
    "read_forecasts": "io.forecasts",
    "read_predictions": "io.read",
    "read_raw_logits": "io.read",
    "write_atomically": "_border.files",
    "write_text": "_border.files",
}

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


def __getattr__(name: str) -> Any:
    """Import a function when it is first used: a command that reads predictions needs no forecasts."""
    if name not in _HOMES:
        raise AttributeError(f"module 'calibrant.io' has no attribute {name!r}")
    value = getattr(import_module(f"calibrant.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
