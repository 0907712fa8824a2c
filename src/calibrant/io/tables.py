"""What all tables have in common: rows that are read in batches."""

import gzip
import re
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import OpenFile
from calibrant._border.text import quoted
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.matching import find_column
from calibrant.io.sniff import Kind
from calibrant.io.sources import Source, undamaged
from calibrant.io.values import Collector, Stack, as_array

if TYPE_CHECKING:
    import polars as pl

WIDE = {
    "probs": "a whole row of probabilities",
    "draws": "all draws of a row",
    "values": "all quantiles of a row",
}
"""Arguments that are matrices, and what a cell is called that holds a row of one; all others are single columns."""


class Table(Source):
    """A file with named columns, read in batches of rows."""

    _width: int | None = None  # Numbers in each cell of a nested column.

    @abstractmethod
    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, those in `numbers` converted to numbers if the file holds text."""

    @abstractmethod
    def frame(self) -> "pl.DataFrame":
        """Read all columns."""

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> dict[str, Any]:
        """Read the chosen columns, each number once; what is missing is NaN, or None among labels."""
        stacks = {argument: Stack(self.file.name) for argument in numbers}
        labels = Collector()
        rows = 0
        texts = [label] if label else []
        for frame in self._checked(texts, [name for names in numbers.values() for name in names]):
            for argument, names in numbers.items():
                stacks[argument].append(self.matrix(frame, names, rows))
            if label:
                labels.append(frame[label])
            rows += len(frame)
        if not rows:
            raise InputError(f"{self.file.name} has columns but no rows. At least one row is needed.")
        return self.assembled(stacks, labels if label else None)

    def assembled(self, stacks: Mapping[str, Stack], labels: Collector | None) -> dict[str, Any]:
        """Return what was read as `read` does."""
        arrays: dict[str, object] = {a: s.values if a in WIDE else s.values[:, 0] for a, s in stacks.items()}
        return arrays if labels is None else arrays | {"label": labels.result()}

    def column(self, name: str) -> NDArray[np.generic]:
        """Read one column of any type."""
        find_column(self.file.name, self.names, name)
        collector = Collector()
        for frame in self._checked([name], []):
            collector.append(frame[name])
        return as_array(collector.result())

    def matrix(self, frame: "pl.DataFrame", names: Sequence[str], start: int) -> FloatArray:
        """Return the numbers of a batch, of which the first row is row `start` of the file, side by side."""
        import polars as pl

        if names and names[0] in self.nested:
            return self._whole_rows(frame[names[0]].cast(pl.List(pl.Float64)), start)
        # Numbers in single precision stay in it: `Predictions` converts them once.
        dtype = pl.Float32 if all(frame[name].dtype == pl.Float32 for name in names) else pl.Float64
        return np.column_stack([frame[name].cast(dtype).to_numpy() for name in names])

    def _whole_rows(self, every: "pl.Series", start: int) -> FloatArray:
        """Return a column that holds a whole row of numbers in each cell."""
        is_there = every.is_not_null().to_numpy()
        cells = every.drop_nulls()
        lengths = cells.list.len().to_numpy()
        if self._width is None:
            self._width = int(lengths[0]) if len(lengths) else 1
        bad = lengths != self._width
        if bad.any() or not self._width:
            row = int(np.flatnonzero(is_there)[bad.argmax()])
            raise InputError(
                f"{self.file.name}, {self.place(start + row)}, column {quoted(every.name)}: every cell must hold as "
                f"many numbers as the first ({self._width}), but this one holds {lengths[bad.argmax()]}."
            )
        present = cells.explode().to_numpy().reshape(-1, self._width)
        if is_there.all():
            return present
        matrix = np.full((len(every), self._width), np.nan)
        matrix[is_there] = present
        return matrix

    def rows(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, of which values may be missing."""
        yield from self._checked(texts, numbers)

    def _checked(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        start = 0
        for frame in self.batches(texts, numbers):
            for name in texts:
                self._check_length(frame[name], start)
            yield frame
            start += len(frame)
        self.file.check_unchanged()

    def _check_length(self, cells: "pl.Series", start: int) -> None:
        """Refuse endless texts: to copy, compare or print them would take much time and memory."""
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


class TextTable(Table):
    """A table in a file of text.

    Attributes
    ----------
    gzipped : bool
        Whether it is compressed with gzip.
    percent : bool
        Whether numbers may end in a percent sign.
    """

    percent = False

    def __init__(self, file: OpenFile, *, gzipped: bool) -> None:
        self.file = file
        self.gzipped = gzipped

    def lines(self) -> Iterator[str]:
        """Yield the lines as they are."""
        with intact(self.file):
            yield from self._decoded(self._content())

    def _decoded(self, content: BinaryIO) -> Iterator[str]:
        """Yield the decoded lines; no more of the file is consumed than was requested."""
        file, number = self.file.name, 0
        while raw := content.readline(limits.MAX_LINE_BYTES + 1):
            number += 1
            self._check_ratio(content)
            if len(raw) > limits.MAX_LINE_BYTES:
                raise InputError(
                    f"{file}, line {number}: the line is longer than {limits.MAX_LINE_BYTES:,} bytes. "
                    "Is this a table with one row per line?"
                )
            if b"\0" in raw:
                raise InputError(
                    f"{file}, line {number}: there is a NUL byte. The file may be damaged; write it again."
                )
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{file}, line {number}: byte 0x{raw[error.start]:02x} is not UTF-8 text. Save the file as UTF-8."
                ) from error

    def _content(self) -> BinaryIO:
        self.file.handle.seek(0)
        return unpacked(self.file) if self.gzipped else self.file.handle

    def _check_ratio(self, content: BinaryIO) -> None:
        if self.gzipped and content.tell() > limits.RATIO_FREE_BYTES + limits.MAX_RATIO * self.file.size:
            raise InputError(
                f"{self.file.name} unpacks to more than {limits.MAX_RATIO} times its size, like a decompression bomb."
            )


def need_polars() -> None:
    """Refuse to read a table that only polars can read, if it is not installed."""
    try:
        import polars as pl  # noqa: F401 (only whether it is installed)
    except ImportError as error:
        raise ImportError(
            'Tables are read with polars, which is not installed: pip install "calibrant[cli]". '
            "NPZ and NPY files can be read without it."
        ) from error


def intact(file: OpenFile) -> AbstractContextManager[None]:
    """Turn what gzip says of a damaged file into one clear line."""
    return undamaged(file.name, Kind.GZIP, gzip.BadGzipFile, EOFError, zlib.error)


def unpacked(file: OpenFile) -> BinaryIO:
    """Return the content of a file that is compressed with gzip."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=file.handle))


def no_number(where: str, cell: str) -> InputError:
    """Return the error for a cell in which a number is needed."""
    return InputError(f"{where}: {quoted(cell)} is not a number. {_remedy(cell.strip())}")


def _remedy(cell: str) -> str:
    """Say how to mend what should have been a number."""
    if re.fullmatch(r"[-+]?[0-9]*,[0-9]+", cell):
        return "Use a point as the decimal separator, and no thousands separator."
    if re.fullmatch(r"[-+]?[0-9][0-9 _'’.,\u00a0\u202f]*", cell):  # noqa: RUF001 (typographic thousands signs)
        return "Write numbers without thousands separators."
    if cell.endswith("%"):
        return "If all of them are percentages, read them with percent=True."
    if cell.lower().startswith("0x"):
        return "Write the number in decimal."
    return "Write a number or drop the row."
