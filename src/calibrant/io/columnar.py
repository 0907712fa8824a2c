"""Parquet and Arrow IPC files, read by polars once the sizes they declare have been checked."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged
from calibrant.io import limits
from calibrant.io.polars import pl
from calibrant.io.sniff import Kind
from calibrant.io.sources import Content
from calibrant.io.tables import Table


class Columnar(Table):
    """A Parquet or an Arrow IPC file."""

    _opened: "pl.LazyFrame | None" = None  # Kept, so that names and types are read once.

    def __init__(self, file: OpenFile, kind: Kind) -> None:
        self.file, self.kind, self._content = file, kind, b""
        # A panic of polars is not an Exception; it is caught because only the file can have caused it.
        self.foreign = (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError, OSError)
        if kind is Kind.IPC:  # Read into memory: if a memory-mapped file shrinks, the process is killed.
            limits.check_bytes(file.name, file.size, "holds", "Write it as Parquet, split it")
            self._content = file.handle.read()
            limits.check_arrow(file.name, self._content)
        with self.undamaged():
            self.schema = self._scan().collect_schema()
        self.names = tuple(self.schema)
        self.nested = frozenset(name for name, dtype in self.schema.items() if _holds(dtype) == "vector")

    def close(self) -> None:
        """Close the file, which polars holds open too."""
        self._opened = None
        super().close()

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read the chosen columns, after a check of their types and sizes."""
        if label and _holds(self.schema[label]) not in ("number", "text"):
            raise self._wrong_type(label, "whole numbers, booleans or names")
        every = [name for names in numbers.values() for name in names]
        if self._opened is not None:  # Rows are counted by the metadata alone; those of a stream, as they are read.
            with self.undamaged():
                rows = int(self._opened.select(pl.len()).collect().item())
            width = sum(getattr(self.schema[name], "size", 1) or 1 for name in every)
            limits.check_size(self.file.name, rows, width)
        content = super().read(numbers, label)
        if "probs" in numbers and all("Float16" in str(self.schema[name]) for name in numbers["probs"]):
            # `Predictions` must see half precision: it is then less strict about the sums of rows.
            content.numbers["probs"] = content.numbers["probs"].astype(np.float16)
        return content

    def frame(self) -> "pl.DataFrame":
        """Read all columns."""
        parts = list(self.batches(self.names, []))
        if not parts:
            raise damaged(self.file.name, self.kind, "it has no rows")
        return pl.concat(parts)

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, after a check of their types."""
        for name in numbers:
            dtype = self.schema[name]
            if _holds(getattr(dtype, "inner", dtype) if name in self.nested else dtype) != "number":
                raise self._wrong_type(name, "numbers")
        names = [*texts, *numbers]
        if self.kind is Kind.PARQUET:
            limits.check_parquet(self.file, set(names))
        rows = max(1, min(limits.BATCH_ROWS, limits.BATCH_CELLS // len(names)))
        with self.undamaged():
            # By default polars passes on whole row groups, as it decodes them; it would copy batches of another size.
            for batch in self._scan(names).collect_batches():
                yield from [batch] if 0 < len(batch) <= rows else batch.iter_slices(rows)

    def _scan(self, names: Sequence[str] | None = None) -> "pl.LazyFrame":
        """Return some columns as a lazy frame; without names, one from which names and types can be read."""
        if self.kind is Kind.IPC and not self._content.startswith(limits.MARK):
            columns = None if names is None else list(names)
            return pl.read_ipc_stream(self._content, columns=columns, n_rows=0 if names is None else None).lazy()
        self.file.handle.seek(0)
        if self._opened is None:
            # The open file, not its path: polars would expand patterns in a path and take some paths for URLs.
            is_parquet = self.kind is Kind.PARQUET
            self._opened = pl.scan_parquet(self.file.handle) if is_parquet else pl.scan_ipc(self._content)
        # Unlike pl.col, a selector takes names literally, never as patterns.
        return self._opened if names is None else self._opened.select(pl.selectors.by_name(names))


def _holds(dtype: "pl.DataType") -> str:
    """Return what a cell of this type holds: "number", "text", "vector", or "" for anything else."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return "number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "vector" if isinstance(dtype, (pl.List, pl.Array)) and not dtype.inner.is_nested() else ""
