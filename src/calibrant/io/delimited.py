"""CSV and its relatives: read block by block, and line by line only to locate an error."""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import OpenFile
from calibrant._border.numerals import count
from calibrant._border.text import brief, listing, quoted, repeated
from calibrant._border.types import BoolArray, FloatArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.polars import pl
from calibrant.io.sources import WIDE, Content
from calibrant.io.text import TextTable, stripped
from calibrant.io.values import Coded

SEPARATORS = (",", ";", "\t", "|")

MOST_BYTES = 4 * 2**20
"""Larger tables are read faster by polars, its import included; it takes longer than reading smaller ones without."""

_IN_NUMBERS, _MOST_DIGITS = b"0123456789.eE+-", 1000
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?$"
_BLANK_LINES = re.compile(rb'("[^"]*")|\n(?:\r?\n)+')


class Delimited(TextTable):
    """A text table with a header line, perhaps compressed with gzip."""

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        first = next((line for line in self.lines() if line.strip()), None)
        if first is None:
            raise InputError(f"{file.name} holds only blank lines. It needs a header line and at least one row.")
        self.separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)
        _, self.titles = next(self._rows(self.content()))
        self.names = tuple(name.strip() for name in self.titles)
        self._positions = {name: j for j, name in enumerate(self.names)}
        twice = repeated([name for name in self.names if name])  # Columns without a name are never requested.
        if twice is not None:
            is_number = re.fullmatch(r"[-+.0-9eE]+", twice)
            hint = "The first line must name the columns." if is_number else "Rename one of the columns."
            raise InputError(f"{file.name}, line 1: the column {quoted(twice)} occurs twice in the header. {hint}")

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read the chosen columns, without polars if the table is small and plain."""
        return self._read_plain(numbers, label) or super().read(numbers, label)

    def _read_plain(self, numbers: Mapping[str, Sequence[str]], label: str) -> Content | None:
        """Read the columns without polars; None if there are no rows, too many, or anything unusual."""
        separator, width = self.separator.encode(), len(self.names)
        rows = self._below_header().read(MOST_BYTES + 1).replace(b"\r\n", b"\n")
        self.file.check_unchanged()
        has_marks = not rows.isascii() or any(mark in rows for mark in (b'"', b"\r", b"\0"))
        if has_marks or len(rows) > MOST_BYTES or _count_rows(rows, separator, width) < 1:
            return None
        cells = rows.removesuffix(b"\n").replace(b"\n", separator).split(separator)

        def column(name: str) -> list[bytes]:
            return cells[self._positions[name] :: width]

        try:
            found = {key: np.column_stack([_numbers(column(name)) for name in names]) for key, names in numbers.items()}
            matrices = {key: every if key in WIDE else every[:, 0] for key, every in found.items()}
            return Content(matrices, _coded(column(label)) if label else None)
        except ValueError:
            return None

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns; the numbers of a batch stay texts if one is written in an unusual way."""
        wanted = [self._positions[name] for name in (*texts, *numbers)]
        for block in self._blocks():
            try:
                frame = self._read_csv(block, wanted, wanted[len(texts) :])
            except pl.exceptions.PolarsError:
                frame = self._read_csv(block, wanted)
            frame.columns = [*texts, *numbers]
            yield stripped(frame, texts)

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows, without the header, each with the line on which it begins; blank lines are skipped."""
        return islice(self._rows(self.content()), 1, None)

    def frame(self) -> "pl.DataFrame":
        """Read all columns, as numbers where that loses nothing."""
        frame = self.cells()
        frame.columns = [name or f"column_{j}" for j, name in enumerate(self.names)]
        for column in frame.with_columns(pl.when(pl.all() != "").then(pl.all())):
            numeric = {} if column.null_count() == len(column) else {_WHOLE: pl.Int64, _DECIMAL: pl.Float64}
            dtype = next((dtype for form, dtype in numeric.items() if column.str.contains(form).all()), pl.String)
            frame = frame.with_columns(column.cast(dtype))
        return frame

    def cells(self) -> "pl.DataFrame":
        """Read all cells as unchanged texts, in columns named by their position."""
        return pl.concat([self._read_csv(block, range(len(self.names))) for block in self._blocks()])

    def _rows(self, content: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Yield the header and the rows, each with the line on which it begins; blank lines are skipped."""
        reader = csv.reader(self.lines(content), delimiter=self.separator)
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader, None)
            except csv.Error as error:
                problem = (
                    "the line ends with a carriage return alone. Save the file with line feeds."
                    if "new-line" in str(error)
                    else f"a field is longer than {count(csv.field_size_limit())} characters. Is a quotation mark on "
                    "this line never closed?"
                )
                raise InputError(f"{self.file.name}, line {line}: {problem}") from error
            if fields is None:
                return
            if fields:
                yield line, fields

    def _below_header(self) -> BinaryIO:
        """Return the content from the first row on."""
        content = self.content()
        next(self._rows(content))
        return content

    def _blocks(self) -> Iterator[bytes]:
        """Yield the rows, without the header, in blocks of whole rows."""
        content, rest = self._below_header(), b""
        while chunk := content.read(limits.BLOCK_BYTES):
            rest += chunk
            end = rest.rfind(b"\n") + 1
            if b'"' in rest:
                characters = np.frombuffer(rest, np.uint8)
                ends = np.flatnonzero((characters == ord("\n")) & ~_quotes_open(characters))
                end = int(ends[-1]) + 1 if len(ends) else 0
            if not end and len(rest) > limits.MAX_LINE_BYTES:
                raise self._problem("a row does not end")
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest.count(b'"') % 2:
            raise self._problem("a quotation mark in the last row is never closed")
        if rest:
            yield rest

    def _read_csv(self, block: bytes, wanted: Sequence[int], numbers: Collection[int] = ()) -> "pl.DataFrame":
        """Return columns named by their position, as texts or as numbers; polars raises if a number is unusual."""
        if b"\0" in block:
            raise self._problem("there is a NUL byte")
        rows, separator = block.lstrip(b"\r\n"), self.separator.encode()
        if b"\n\n" in rows or b"\n\r\n" in rows:  # Polars would read blank lines as rows.
            rows = _BLANK_LINES.sub(lambda found: found[1] or b"\n", rows)
        schema = {str(j): pl.Float64() if j in numbers else pl.String() for j in range(len(self.names))}
        # Polars takes the number of columns from the first line: give it one, and drop it.
        guide = separator * (len(self.names) - 1) + b"\n"
        try:
            frame = pl.read_csv(
                guide + rows, has_header=False, separator=self.separator, schema=schema, columns=[*wanted]
            )[1:]
        except pl.exceptions.PolarsError as error:
            if numbers:
                raise
            raise self._problem(brief(error)) from error
        # Polars fills rows that are too short, and ignores fields after the last wanted column.
        if _count_rows(rows, separator, len(self.names)) != len(frame):
            raise self._problem("the rows cannot be separated")
        return frame

    def _problem(self, otherwise: str) -> InputError:
        """Return the error for the first row of the wrong length, or for the first stray quotation mark."""
        file, stray = self.file.name, None
        try:
            for line, fields in self._rows(self.content()):
                if len(fields) != len(self.names):
                    return InputError(f"{file}, line {line}: {_ragged(fields, len(self.names))}")
                if stray is None and any('"' in field for field in fields):
                    stray = line
        except InputError as error:
            return error
        if stray is None:
            return InputError(f"{file} cannot be read as CSV: {otherwise}.")
        return InputError(
            f"{file}, line {stray}: there is a quotation mark inside a field. Put the field in quotation marks, and "
            "double those inside it."
        )


def _ragged(fields: Sequence[str], width: int) -> str:
    """Describe what is wrong with a row that has too many or too few fields."""
    problem = f"the row has {len(fields)} field{'s' * (len(fields) != 1)}, but the header names {width} columns."
    if any("\n" in field for field in fields):
        return f"a quotation mark on this line is never closed: {problem}"
    if len(fields) == width + 1 and not fields[-1].strip():
        return f"{problem} Remove the separator at the end of the row, or add one to the header."
    guess = "Are commas decimal or thousands separators?" if len(fields) > width else "Is the row cut off?"
    return f"{problem} {guess} Fields: {listing(fields, 6)}."


def _count_rows(rows: bytes, separator: bytes, width: int) -> int:
    r"""Return the number of rows, or -1 if one of them has too many or too few fields.

    Examples
    --------
    >>> _count_rows(b'1,"a,\nb"\n2,c\n', b",", 2), _count_rows(b"1\n2,3,4\n", b",", 2)
    (2, -1)
    """
    text = np.frombuffer(rows if rows.endswith(b"\n") else rows + b"\n", np.uint8)
    ends = text == ord("\n")
    are_marks = ends | (text == ord(separator))
    if b'"' in rows:
        are_marks &= ~_quotes_open(text)
    marks = ends[are_marks]
    found = int(np.count_nonzero(marks))
    return found if len(marks) == width * found and marks[width - 1 :: width].all() else -1


def _quotes_open(text: NDArray[np.uint8]) -> BoolArray:
    """Return for every byte whether a quotation mark is open there."""
    return np.cumsum(text == ord('"'), dtype=np.uint8) % 2 == 1  # Wrapping at 256 keeps odd and even apart.


def _numbers(cells: Sequence[bytes]) -> FloatArray:
    """Return finite decimal numbers with a sane number of digits; ValueError if a cell is anything else."""
    if max(map(len, cells)) > _MOST_DIGITS or b"".join(cells).translate(None, _IN_NUMBERS):
        raise ValueError
    found = np.fromiter(map(float, cells), np.float64, len(cells))
    if not np.isfinite(found).all():
        raise ValueError
    return found


def _coded(cells: Sequence[bytes]) -> Coded:
    """Return texts that are neither empty nor long nor surrounded by spaces; ValueError if a cell is anything else."""
    positions = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    if any(not cell or cell != cell.strip() or len(cell) > limits.MAX_TEXT_BYTES for cell in positions):
        raise ValueError
    codes = np.fromiter(map(positions.__getitem__, cells), np.int32, len(cells))
    return Coded([cell.decode("ascii") for cell in positions], codes)
