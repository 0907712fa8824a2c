"""Parquet and Arrow IPC files."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.arrow import check_arrow
from calibrant.io.columns import Columns, Request
from calibrant.io.parquet import check_parquet
from calibrant.io.sniff import Kind, OpenFile
from calibrant.io.tables import Arrays, Table
from calibrant.io.text import brief, damaged, printable, quoted
from calibrant.io.values import check_size

if TYPE_CHECKING:
    import polars as pl


class Columnar(Table):
    """A Parquet or an Arrow IPC file."""

    def __init__(self, file: OpenFile, kind: Kind) -> None:
        self.file = file
        self.kind = kind
        with self._undamaged():
            self._frame = self._scan()
            self.schema: dict[str, Any] = dict(self._frame(None).collect_schema())
        self.names = tuple(self.schema)
        self.nested = frozenset(name for name, dtype in self.schema.items() if _is_vector(dtype))
        self._width: int | None = None

    def choose(self, request: Request) -> Columns:
        """Choose the columns to read, of types that can hold what they should."""
        import polars as pl

        columns = super().choose(request)
        self._check_alone(columns.probs)
        for name in filter(None, [*columns.probs, columns.weight]):
            dtype = self.schema[name].inner if name in self.nested else self.schema[name]
            if not dtype.is_numeric() and dtype not in (pl.Boolean, pl.Null):
                raise self._wrong_type(name, "numbers")
        if not request.needs_label:
            return columns
        dtype = self.schema[columns.label]
        if not dtype.is_numeric() and dtype not in (pl.Boolean, pl.Null, pl.String, pl.Categorical, pl.Enum):
            raise self._wrong_type(columns.label, "whole numbers, booleans or names")
        return columns

    def read(self, columns: Columns) -> Arrays:
        """Read the chosen columns."""
        with self._undamaged():
            arrays = super().read(columns)
        return dataclasses.replace(arrays, probs=self._as_stored(arrays.probs, columns))

    def scores(self, columns: Columns) -> Any:
        """Read the probabilities alone."""
        with self._undamaged():
            return self._as_stored(super().scores(columns), columns)

    def frame(self) -> "pl.DataFrame":
        """Read all columns."""
        import polars as pl

        with self._undamaged():
            return pl.concat(self.batches(self.names, []))

    def _as_stored(self, probs: Any, columns: Columns) -> Any:
        """Show half precision to `Predictions`, which is then less strict about the sums of rows."""
        is_half = all("Float16" in str(self.schema[name]) for name in columns.probs)
        return probs.astype(np.float16) if is_half else probs

    def column(self, name: str) -> Any:
        """Read one column of any kind."""
        with self._undamaged():
            return super().column(name)

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns."""
        import polars as pl

        names = [*texts, *numbers]
        if self.kind is Kind.PARQUET:
            check_parquet(self.file, set(names))
        frame = self._frame(names)
        count = int(frame.select(pl.len()).collect().item())
        check_size(self.file.name, count, sum(getattr(self.schema[name], "size", 1) or 1 for name in names))
        for batch in frame.collect_batches(chunk_size=limits.BATCH_ROWS):
            yield from batch.iter_slices(limits.BATCH_ROWS)

    def matrix(self, frame: "pl.DataFrame", names: Sequence[str], start: int) -> FloatArray:
        """Return the probabilities of a batch, from one column for each class or one for all of them."""
        import polars as pl

        if names[0] not in self.nested:
            return super().matrix(frame, names, start)
        cells = frame[names[0]].cast(pl.List(pl.Float64))
        lengths = cells.list.len().to_numpy()
        if self._width is None:
            self._width = int(lengths[0])
        bad = lengths != self._width
        if bad.any() or not self._width:
            row = int(bad.argmax())
            raise InputError(
                f"{self.file.name}, {self.place(start + row)}, column {quoted(names[0])}: every cell must hold as "
                f"many numbers as the first ({self._width}), but this one holds {lengths[row]}."
            )
        flat = cells.explode()
        if flat.null_count():
            raise self.missing_cell(start + (flat.is_null().arg_max() or 0) // self._width, names[0])
        return flat.to_numpy().reshape(-1, self._width)

    def _scan(self) -> "Callable[[list[str] | None], pl.LazyFrame]":
        """Return the map from names of columns, or None for all, to a frame that is not yet read."""
        import polars as pl
        from polars import selectors  # Unlike pl.col, these take names literally: no pattern hides in them.

        # An open file and not its path: polars would expand patterns in it and take some names for addresses.
        if self.kind is Kind.PARQUET:
            parquet = pl.scan_parquet(self.file.handle)
            return lambda names: parquet if names is None else parquet.select(selectors.by_name(names))
        # Arrow files are read into memory first: a mapped one ends the process if it shrinks meanwhile.
        if self.file.size > limits.MAX_BYTES:
            raise InputError(
                f"{self.file.name} is larger than {limits.MAX_BYTES / 2**30:g} GiB. Write it as Parquet, or split it."
            )
        content = self.file.handle.read()
        check_arrow(self.file.name, self.kind, content)
        if self.kind is Kind.IPC_STREAM:
            return lambda names: pl.read_ipc_stream(content, columns=names, n_rows=0 if names is None else None).lazy()
        ipc = pl.scan_ipc(content)
        return lambda names: ipc if names is None else ipc.select(selectors.by_name(names))

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Turn what polars says of a file it cannot decode into one clear line."""
        import polars as pl

        # A panic of polars is no Exception; it is caught because only the file can have caused it.
        foreign = (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError, OSError)
        try:
            yield
        except foreign as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise damaged(self.file.name, self.kind, brief(error)) from error

    def _check_alone(self, probs: Sequence[str]) -> None:
        vector = next((name for name in probs if name in self.nested), None)
        if vector is not None and len(probs) > 1:
            raise InputError(
                f"{self.file.name}: column {quoted(vector)} holds a whole row of probabilities in each cell, so it "
                "must be the only probability column. Name it alone with probs=."
            )

    def _wrong_type(self, name: str, needed: str) -> InputError:
        return InputError(
            f"{self.file.name}: column {quoted(name)} must hold {needed}, but its type is "
            f"{printable(str(self.schema[name]), 60)}. Convert it before saving, or choose another column."
        )


def _is_vector(dtype: Any) -> bool:
    import polars as pl

    return isinstance(dtype, (pl.List, pl.Array)) and not dtype.inner.is_nested()
