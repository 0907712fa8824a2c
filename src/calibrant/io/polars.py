"""Polars, imported when a table is first read: arrays, and small CSV files of plain numbers, are read without it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        """The names of polars; if it is not installed, the first use of one says how to install it."""

        def __getattr__(self, name: str) -> object:
            try:
                import polars as pl
            except ImportError as error:
                raise ImportError(
                    'Tables are read with polars, which is not installed: pip install "calibrant[cli]". '
                    "NPZ and NPY files can be read without it."
                ) from error
            return getattr(pl, name)

    pl = _Polars()

__all__ = ["pl"]
