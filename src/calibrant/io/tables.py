"""What all tables have in common: rows read in batches into the arguments of `Predictions`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.columns import Columns, Request, choose_columns, find_column
from calibrant.io.sniff import OpenFile
from calibrant.io.text import quoted
from calibrant.io.values import Collector, Stack, as_array, as_labels

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Arrays:
    """The three arguments of `Predictions`, as the file gives them."""

    probs: NDArray[Any]
    labels: NDArray[Any]
    weights: NDArray[Any] | None


class Table(ABC):
    """A file with named columns, read in batches of rows."""

    file: OpenFile
    names: tuple[str, ...]
    nested: frozenset[str] = frozenset()

    @abstractmethod
    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, those in `numbers` converted to numbers if the file holds text."""

    def place(self, row: int) -> str:
        """Say where in the file a row is."""
        return f"row {row}"

    def missing_cell(self, row: int, column: str) -> InputError:
        """Return the error for a cell that holds no value."""
        return InputError(
            f"{self.file.name}, {self.place(row)}, column {quoted(column)}: the value is missing. "
            "Fill it in or drop the row."
        )

    def choose(self, request: Request) -> Columns:
        """Choose the columns to read."""
        return choose_columns(self.file.name, self.names, self.nested, request)

    def read(self, columns: Columns) -> Arrays:
        """Read the chosen columns."""
        probs, weights, labels = Stack(self.file.name), Stack(self.file.name), Collector()
        weight = [] if columns.weight is None else [columns.weight]
        for start, frame in self._numbered([columns.label], [*columns.probs, *weight]):
            self._check_missing(frame, start)
            probs.append(self.matrix(frame, columns.probs, start))
            labels.append(frame[columns.label])
            if weight:
                weights.append(as_numbers(frame, weight))
        if not len(probs.values):
            raise InputError(f"{self.file.name} has columns but no rows. At least one row is needed.")
        values = as_labels(self.file.name, labels.result(), columns)
        return Arrays(probs.values, values, weights.values if weight else None)

    def scores(self, columns: Columns) -> NDArray[Any]:
        """Read the probabilities alone, (n, m) for m columns."""
        probs = Stack(self.file.name)
        for start, frame in self._numbered([], columns.probs):
            self._check_missing(frame, start)
            probs.append(self.matrix(frame, columns.probs, start))
        if not len(probs.values):
            raise InputError(f"{self.file.name} has columns but no rows. At least one row is needed.")
        return probs.values

    def column(self, name: str) -> NDArray[Any]:
        """Read one column of any kind."""
        find_column(self.file.name, self.names, name)
        collector = Collector()
        for _, frame in self._numbered([name], []):
            collector.append(frame[name])
        return as_array(collector.result())

    def _numbered(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator[tuple[int, "pl.DataFrame"]]:
        start = 0
        for frame in self.batches(texts, numbers):
            for name in texts:
                self._check_length(frame[name], start)
            yield start, frame
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

    def matrix(self, frame: "pl.DataFrame", names: Sequence[str], start: int) -> FloatArray:  # noqa: ARG002 (`start` is for messages)
        """Return the probabilities of a batch of which the first row is row `start` of the file."""
        return as_numbers(frame, names)


def as_numbers(frame: "pl.DataFrame", names: Sequence[str]) -> FloatArray:
    """Return columns of numbers in double precision, side by side."""
    import polars as pl

    return np.column_stack([frame[name].cast(pl.Float64).to_numpy() for name in names])
