"""What all tables have in common: rows that are read in batches."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._border.text import quoted
from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.columns import find_column
from calibrant.io.sources import Source
from calibrant.io.values import Collector, Stack, as_array

if TYPE_CHECKING:
    import polars as pl

WIDE = {"probs": "a whole row of probabilities", "draws": "all draws of a row"}
"""Arguments that are matrices, and what a cell is called that holds a row of one; all others are single columns."""


class Table(Source):
    """A file with named columns, read in batches of rows."""

    @abstractmethod
    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, those in `numbers` converted to numbers if the file holds text."""

    @abstractmethod
    def frame(self) -> "pl.DataFrame":
        """Read all columns."""

    def missing_cell(self, row: int, column: str) -> InputError:
        """Return the error for a cell that holds no value."""
        return InputError(
            f"{self.file.name}, {self.place(row)}, column {quoted(column)}: the value is missing. "
            "Fill it in or drop the row."
        )

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> dict[str, Any]:
        """Read the chosen columns, each number once."""
        stacks = {argument: Stack(self.file.name) for argument in numbers}
        labels = Collector()
        rows = 0
        texts = [label] if label else []
        for frame in self._checked(texts, [name for names in numbers.values() for name in names]):
            self._check_missing(frame, rows)
            for argument, names in numbers.items():
                stacks[argument].append(self.matrix(frame, names, rows))
            if label:
                labels.append(frame[label])
            rows += len(frame)
        if not rows:
            raise InputError(f"{self.file.name} has columns but no rows. At least one row is needed.")
        arrays: dict[str, Any] = {a: s.values if a in WIDE else s.values[:, 0] for a, s in stacks.items()}
        return arrays | {"label": labels.result()} if label else arrays

    def column(self, name: str) -> NDArray[Any]:
        """Read one column of any type."""
        find_column(self.file.name, self.names, name)
        collector = Collector()
        for frame in self._checked([name], []):
            collector.append(frame[name])
        return as_array(collector.result())

    def matrix(self, frame: "pl.DataFrame", names: Sequence[str], start: int) -> FloatArray:  # noqa: ARG002 (`start` is for messages)
        """Return columns of a batch, of which the first row is row `start` of the file, side by side."""
        import polars as pl

        return np.column_stack([frame[name].cast(pl.Float64).to_numpy() for name in names])

    def _checked(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        start = 0
        for frame in self.batches(texts, numbers):
            for name in texts:
                self._check_length(frame[name], start)
            yield frame
            start += len(frame)
        self.file.check_unchanged()

    def _check_length(self, cells: "pl.Series", start: int) -> None:
        """Refuse endless texts: whoever copies, compares or prints them would need much time and memory."""
        import polars as pl

        if cells.dtype != pl.String:
            return
        lengths = cells.str.len_bytes().fill_null(0)
        row = lengths.arg_max()
        if row is not None and lengths[row] > limits.MAX_TEXT_BYTES:
            raise InputError(
                f"{self.file.name}, {self.place(start + row)}, column {quoted(cells.name)}: the text is "
                f"{lengths[row]:,} bytes long, but {limits.MAX_TEXT_BYTES:,} are allowed. Is it the right column, and "
                "is every quotation mark closed?"
            )

    def _check_missing(self, frame: "pl.DataFrame", start: int) -> None:
        counts = dict(zip(frame.columns, frame.null_count().row(0), strict=True))
        first = {name: frame[name].is_null().arg_max() or 0 for name, count in counts.items() if count}
        if first:
            column = min(first, key=lambda name: first[name])
            raise self.missing_cell(start + first[column], column)
