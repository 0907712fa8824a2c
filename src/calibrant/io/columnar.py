"""Parquet and Arrow IPC files, read by polars after the sizes in them were checked."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged, printable, quoted
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.arrow import MARK, check_arrow
from calibrant.io.declared import check_parquet
from calibrant.io.sniff import Kind
from calibrant.io.sources import WIDE, Content, undamaged
from calibrant.io.tables import Table

if TYPE_CHECKING:
    import polars as pl


class Columnar(Table):
    """A Parquet or an Arrow IPC file."""

    _opened: "pl.LazyFrame | None" = None  # Its names and types are read once.

    def __init__(self, file: OpenFile, kind: Kind) -> None:
        self.file = file
        self.kind = kind
        self._content = b"" if kind is Kind.PARQUET else self._read_arrow()
        with self._undamaged():
            self.schema = self._scan().collect_schema()
        self.names = tuple(self.schema)
        self.nested = frozenset(name for name, dtype in self.schema.items() if _holds(dtype) == "vector")

    def close(self) -> None:
        """Close the file, which polars has open too."""
        self._opened = None
        super().close()

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read the chosen columns, of types that can hold what they should."""
        for argument, names in numbers.items():
            self._check_numbers(argument, names)
        if label and _holds(self.schema[label]) not in ("number", "text"):
            raise self._wrong_type(label, "whole numbers, booleans or names")
        with self._undamaged():
            content = super().read(numbers, label)
        if "probs" in numbers and all("Float16" in str(self.schema[name]) for name in numbers["probs"]):
            # `Predictions` is less strict about the sums of rows in half precision, and must see it.
            content.numbers["probs"] = content.numbers["probs"].astype(np.float16)
        return content

    def column(self, name: str) -> NDArray[np.generic]:
        """Read one column of any type."""
        with self._undamaged():
            return super().column(name)

    def rows(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, of which values may be missing; however many, since they are not kept."""
        self._check_numbers("probs", numbers)
        with self._undamaged():
            yield from self._slices([*texts, *numbers], limits.STREAM_ROWS)
        self.file.check_unchanged()

    def frame(self) -> "pl.DataFrame":
        """Read all columns."""
        import polars as pl

        with self._undamaged():
            parts = list(self.batches(self.names, []))
        if not parts:
            raise damaged(self.file.name, self.kind, "it has no rows")
        return pl.concat(parts)

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns."""
        yield from self._slices([*texts, *numbers], limits.BATCH_ROWS, kept=True)

    def _slices(self, names: Sequence[str], most: int, *, kept: bool = False) -> Iterator["pl.DataFrame"]:
        import polars as pl

        if self.kind is Kind.PARQUET:
            check_parquet(self.file, set(names))
        frame = self._scan(names)
        rows = max(1, min(most, limits.BATCH_CELLS // len(names)))
        if kept:
            count = int(frame.select(pl.len()).collect().item())
            width = sum(getattr(self.schema[name], "size", 1) or 1 for name in names)
            limits.check_size(self.file.name, count, width)
        # By itself, polars passes on a row group, which it decodes as one anyway: other numbers of rows it would copy.
        for batch in frame.collect_batches(chunk_size=rows if kept else None):
            yield from [batch] if len(batch) <= rows else batch.iter_slices(rows)

    def _scan(self, names: Sequence[str] | None = None) -> "pl.LazyFrame":
        """Return some columns, or a frame with the names and types of all of them, not yet read."""
        import polars as pl
        from polars import selectors  # Unlike pl.col, these take names literally: no pattern hides in them.

        if self.kind is Kind.IPC and not self._content.startswith(MARK):
            columns = None if names is None else list(names)
            return pl.read_ipc_stream(self._content, columns=columns, n_rows=0 if names is None else None).lazy()
        self.file.handle.seek(0)
        if self._opened is None:
            # An open file and not its path: polars would expand patterns in it and take some names for addresses.
            is_parquet = self.kind is Kind.PARQUET
            self._opened = pl.scan_parquet(self.file.handle) if is_parquet else pl.scan_ipc(self._content)
        return self._opened if names is None else self._opened.select(selectors.by_name(names))

    def _read_arrow(self) -> bytes:
        """Read a whole Arrow file into memory: a mapped one ends the process if it shrinks meanwhile."""
        limits.check_bytes(self.file.name, self.file.size, "holds", "Write it as Parquet, split it")
        content = self.file.handle.read()
        check_arrow(self.file.name, content)
        return content

    def _undamaged(self) -> AbstractContextManager[None]:
        import polars as pl

        # A panic of polars is no Exception; it is caught because only the file can have caused it.
        foreign = (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError, OSError)
        return undamaged(self.file.name, self.kind, *foreign)

    def _check_numbers(self, argument: str, names: Sequence[str]) -> None:
        for name in names:
            is_whole_row = argument in WIDE and name in self.nested
            if is_whole_row and len(names) > 1:
                raise InputError(
                    f"{self.file.name}: column {quoted(name)} holds {WIDE[argument]} in each cell, so it must be "
                    f"the only one. Name it alone with {argument}=."
                )
            dtype = self.schema[name]
            if _holds(getattr(dtype, "inner", dtype) if is_whole_row else dtype) != "number":
                raise self._wrong_type(name, "numbers")

    def _wrong_type(self, name: str, needed: str) -> InputError:
        return InputError(
            f"{self.file.name}: column {quoted(name)} must hold {needed}, but its type is "
            f"{printable(str(self.schema[name]), 60)}. Convert it before saving, or choose another column."
        )


def _holds(dtype: "pl.DataType") -> str:
    """Return what a cell of a type holds: a number, a text, a vector, or something else that is not named."""
    import polars as pl

    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "vector" if isinstance(dtype, (pl.List, pl.Array)) and not dtype.inner.is_nested() else ""
