"""Files as sources of numbers only: every argument of a container is read from its own columns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io.archives import Archive, ArrayFile, Plain, Structured
from calibrant.io.arrays import read_array
from calibrant.io.columnar import Columnar
from calibrant.io.delimited import Delimited
from calibrant.io.forecast_columns import WHOLE_DRAWS, Arguments, ForecastRequest, choose_forecasts
from calibrant.io.sniff import OpenFile
from calibrant.io.tables import Table
from calibrant.io.text import quoted
from calibrant.io.values import Stack

Numbers = dict[str, NDArray[Any]]
"""Arguments of a container, as the file gives them."""


class NumberSource(ABC):
    """A file with columns of numbers."""

    file: OpenFile

    @abstractmethod
    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Choose the columns to read."""

    @abstractmethod
    def numbers(self, columns: Arguments) -> Numbers:
        """Read the chosen columns."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Say where in the file a row is."""


class NumberTable(Table, NumberSource):
    """A table, of which draws become a matrix and every other argument is one column."""

    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Choose the columns to read."""
        return choose_forecasts(self.file.name, self.names, self.nested, request)

    def numbers(self, columns: Arguments) -> Numbers:
        """Read the chosen columns, those of draws side by side."""
        stacks = {argument: Stack(self.file.name) for argument in columns}
        wanted = [name for names in columns.values() for name in names]
        for start, frame in self._numbered([], wanted):
            self._check_missing(frame, start)
            for argument, names in columns.items():
                stacks[argument].append(self.matrix(frame, names, start))
        if not len(stacks["targets"].values):
            raise InputError(f"{self.file.name} has columns but no rows. At least one row is needed.")
        return {a: stack.values if a == "draws" else stack.values[:, 0] for a, stack in stacks.items()}


class DelimitedNumbers(NumberTable, Delimited):
    """A text table."""


class ColumnarNumbers(NumberTable, Columnar):
    """A Parquet or an Arrow IPC file."""

    def numbers(self, columns: Arguments) -> Numbers:
        """Read the chosen columns, of types that can hold numbers."""
        for argument, names in columns.items():
            for name in names:
                self._check_type(name, lists=argument == "draws")
        with self._undamaged():
            return super().numbers(columns)

    def _check_type(self, name: str, *, lists: bool) -> None:
        import polars as pl

        dtype = self.schema[name].inner if lists and name in self.nested else self.schema[name]
        if not dtype.is_numeric() and dtype not in (pl.Boolean, pl.Null):
            raise self._wrong_type(name, "numbers")


class NumberArrays(ArrayFile, NumberSource):
    """A file of arrays, which have any shape that the container accepts."""

    def numbers(self, columns: Arguments) -> Numbers:
        """Read the chosen arrays."""
        arrays = {argument: self._joined(names) for argument, names in columns.items()}
        self.file.check_unchanged()
        return arrays

    def _joined(self, names: Sequence[str]) -> NDArray[Any]:
        arrays = [self.get(name) for name in names]
        if len(arrays) == 1:
            return arrays[0]
        for name, values in zip(names, arrays, strict=True):
            if values.ndim != 1 or len(values) != len(arrays[0]):
                raise InputError(
                    f"{self.file.name}: {quoted(name)} must have one entry a row, as {quoted(names[0])}, to be one of "
                    f"several arrays of draws, but has shape {values.shape}. Name one array with draws=."
                )
        return np.column_stack(arrays)


class ArchiveNumbers(NumberArrays, Archive):
    """An NPZ file."""

    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Choose the arrays to read."""
        return choose_forecasts(self.file.name, self.names, WHOLE_DRAWS, request)


class StructuredNumbers(NumberArrays, Structured):
    """An NPY file with named fields."""

    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Choose the fields to read."""
        nested = {name for name in self.names if self.values.dtype[name].shape}
        return choose_forecasts(self.file.name, self.names, nested, request)


class PlainNumbers(NumberArrays, Plain):
    """An NPY file with one array of draws; the targets are in a file of their own."""

    def choose_forecasts(self, request: ForecastRequest) -> Arguments:
        """Take the targets, and the weights if there are any, from the files named in their place."""
        if request.mean is not None or request.sd is not None or request.draws is not None:
            raise InputError(
                f"{self.file.name} holds one array without names, which is read as draws: leave out mean=, sd= and "
                "draws=."
            )
        if request.target is None or not request.target.endswith(".npy"):
            raise InputError(
                f"{self.file.name} holds one array without names, so the targets must be in a file of their own: pass "
                "target='targets.npy', or save both with numpy.savez(file, draws=..., targets=...)."
            )
        weights: Arguments = {} if request.weight is None else {"weights": (request.weight,)}
        return {"targets": (request.target,), "draws": (), **weights}

    def _joined(self, names: Sequence[str]) -> NDArray[Any]:
        return super()._joined(names) if names else self.values


def open_npy_numbers(file: OpenFile) -> NumberArrays:
    """Return an NPY file as a source."""
    values = read_array(file.name, file.handle, file.size)
    return StructuredNumbers(file, values) if values.dtype.names else PlainNumbers(file, values)
