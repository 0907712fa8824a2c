"""Parquet and Arrow IPC files, read by polars once the sizes they declare have been checked."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged, printable, quoted
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.declared_sizes import MARK, check_arrow, check_parquet
from calibrant.io.matching import ARGUMENTS
from calibrant.io.sniff import Kind
from calibrant.io.sources import WIDE, Content, undamaged
from calibrant.io.tables import Table

if TYPE_CHECKING:
    import polars as pl


class Columnar(Table):
    """A Parquet or an Arrow IPC file."""

    _opened: "pl.LazyFrame | None" = None  # Kept, so that names and types are read once.

    def __init__(self, file: OpenFile, kind: Kind) -> None:
        self.file = file
        self.kind = kind
        self._content = b"" if kind is Kind.PARQUET else self._read_arrow()
        with self._undamaged():
            self.schema = self._scan().collect_schema()
        self.names = tuple(self.schema)
        self.nested = frozenset(name for name, dtype in self.schema.items() if _holds(dtype) == "vector")

    def close(self) -> None:
        """Close the file, which polars holds open too."""
        self._opened = None
        super().close()

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read the chosen columns, after a check of their types."""
        for argument, names in numbers.items():
            self._check_numbers(argument, names)
        if label and _holds(self.schema[label]) not in ("number", "text"):
            raise self._wrong_type(label, "whole numbers, booleans or names")
        with self._undamaged():
            content = super().read(numbers, label)
        if "probs" in numbers and all("Float16" in str(self.schema[name]) for name in numbers["probs"]):
            # `Predictions` must see half precision: it is then less strict about the sums of rows.
            content.numbers["probs"] = content.numbers["probs"].astype(np.float16)
        return content

    def column(self, name: str) -> NDArray[np.generic]:
        """Read one column of any type."""
        with self._undamaged():
            return super().column(name)

    def rows(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns; there may be any number, because they are not kept."""
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
        # By default polars passes on whole row groups, as it decodes them; it would copy batches of another size.
        for batch in frame.collect_batches(chunk_size=rows if kept else None):
            yield from [batch] if len(batch) <= rows else batch.iter_slices(rows)

    def _scan(self, names: Sequence[str] | None = None) -> "pl.LazyFrame":
        """Return some columns as a lazy frame; without names, one from which names and types can be read."""
        import polars as pl
        from polars import selectors  # Unlike pl.col, these take names literally, never as patterns.

        if self.kind is Kind.IPC and not self._content.startswith(MARK):
            columns = None if names is None else list(names)
            return pl.read_ipc_stream(self._content, columns=columns, n_rows=0 if names is None else None).lazy()
        self.file.handle.seek(0)
        if self._opened is None:
            # The open file, not its path: polars would expand patterns in a path and take some paths for URLs.
            is_parquet = self.kind is Kind.PARQUET
            self._opened = pl.scan_parquet(self.file.handle) if is_parquet else pl.scan_ipc(self._content)
        return self._opened if names is None else self._opened.select(selectors.by_name(names))

    def _read_arrow(self) -> bytes:
        """Read a whole Arrow file into memory: if a memory-mapped file shrinks, the process is killed."""
        limits.check_bytes(self.file.name, self.file.size, "holds", "Write it as Parquet, split it")
        content = self.file.handle.read()
        check_arrow(self.file.name, content)
        return content

    def _undamaged(self) -> AbstractContextManager[None]:
        import polars as pl

        # A panic of polars is not an Exception; it is caught because only the file can have caused it.
        foreign = (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError, OSError)
        return undamaged(self.file.name, self.kind, *foreign)

    def _check_numbers(self, argument: str, names: Sequence[str]) -> None:
        for name in names:
            is_whole_row = argument in WIDE and name in self.nested
            if is_whole_row and len(names) > 1:
                raise InputError(
                    f"{self.file.name}: column {quoted(name)} holds {WIDE[argument]} in each cell, so it must be "
                    f"the only one. Name it alone with {ARGUMENTS.get(argument, argument)}=."
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
    """Return what a cell of this type holds: "number", "text", "vector", or "" for anything else."""
    import polars as pl

    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "vector" if isinstance(dtype, (pl.List, pl.Array)) and not dtype.inner.is_nested() else ""
