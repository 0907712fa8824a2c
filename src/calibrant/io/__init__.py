"""Files: predictions and forecasts in, results out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.io.forecasts import read_forecasts
    from calibrant.io.read import column_names, read_column, read_predictions, read_raw_logits
    from calibrant.io.text import printable
    from calibrant.io.write import check_writable, write_atomically, write_text

_HOMES = {
    "check_writable": "write",
    "column_names": "read",
    "printable": "text",
    "read_column": "read",
    "read_forecasts": "forecasts",
    "read_predictions": "read",
    "read_raw_logits": "read",
    "write_atomically": "write",
    "write_text": "write",
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
    value = getattr(import_module(f"calibrant.io.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
