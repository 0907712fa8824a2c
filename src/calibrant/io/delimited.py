"""CSV and its relatives: text tables, read block by block."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calibrant._border.files import OpenFile
from calibrant._border.text import brief
from calibrant._border.types import BoolArray
from calibrant.exceptions import InputError
from calibrant.io import csv_errors, limits
from calibrant.io.missing import NUMBER_MARKS
from calibrant.io.textual import TextTable

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = (",", ";", "\t", "|")

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")
_BLANK_LINES = re.compile(rb'"[^"]*"|\n(?:\r?\n)+')


class Delimited(TextTable):
    """A text table with a header line, perhaps compressed with gzip."""

    def __init__(self, file: OpenFile, *, gzipped: bool) -> None:
        super().__init__(file, gzipped=gzipped)
        with self._undamaged():
            self.separator = self._guess_separator()
            _, fields = next(self._lines())
        self.names = tuple(name.strip() for name in fields)
        self._positions = {name: j for j, name in enumerate(self.names)}
        csv_errors.check_header(file.name, self.names)

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, those in `numbers` converted to numbers."""
        with self._undamaged():
            content = self._content()
            lines = csv_errors.lines(self.file.name, content)
            next(csv_errors.rows(self.file.name, lines, self.separator))  # Leaves the file at the first row.
            for block in self._blocks(content):
                self.file.check_unchanged()
                yield self._parse(block, texts, numbers)

    def place(self, row: int) -> str:
        """Say on which line of the file a row begins."""
        return f"line {self._row(row)[0]}"

    def frame(self) -> "pl.DataFrame":
        """Read all columns, as numbers where no text loses anything by becoming one."""
        import polars as pl

        with self._undamaged():
            lines = self._lines()
            next(lines)
            columns = zip(*(fields for _, fields in lines), strict=True)
            names = (name or f"column_{j}" for j, name in enumerate(self.names))
            return pl.DataFrame([_typed(name, cells) for name, cells in zip(names, columns, strict=True)])

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the header and the rows, each with the line on which it begins."""
        return csv_errors.rows(self.file.name, csv_errors.lines(self.file.name, self._content()), self.separator)

    def _row(self, row: int) -> tuple[int, list[str]]:
        lines = self._lines()
        next(lines)
        for index, found in enumerate(lines):
            if index == row:
                return found
        raise InputError(f"{self.file.name} changed while it was being read. Try again.")

    def _guess_separator(self) -> str:
        """Return the separator that occurs most often in the header."""
        lines = csv_errors.lines(self.file.name, self._content())
        header = next((line for line in lines if line.strip()), None)
        if header is None:
            raise InputError(f"{self.file.name} holds only blank lines. It needs a header line and at least one row.")
        unquoted = re.sub(r'"[^"]*"', "", header)
        return max(SEPARATORS, key=unquoted.count)

    def _blocks(self, content: BinaryIO) -> Iterator[bytes]:
        """Yield the rows in blocks that end where a row ends."""
        rest = b""
        while chunk := content.read(limits.BLOCK_BYTES):
            self._check_ratio(content)
            rest += chunk
            end = _last_row_end(rest)
            if not end and len(rest) > limits.MAX_LINE_BYTES:
                raise csv_errors.endless_row(self.file.name, self._lines())
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest and _quotes_open(rest)[-1]:
            raise csv_errors.endless_row(self.file.name, self._lines())
        if rest:
            yield rest

    def _parse(self, block: bytes, texts: Sequence[str], numbers: Sequence[str]) -> "pl.DataFrame":
        if b"\0" in block:
            raise csv_errors.first_problem(self.file.name, self._lines(), len(self.names))
        if self._has_too_many_lines(block):
            return self._parse_full_lines(block, texts, numbers)
        frame = self._cells(block, texts, numbers)
        separators = _count_outside_quotes(block, self.separator.encode())
        if separators == len(frame) * (len(self.names) - 1):
            return frame
        # Some line is blank, of which polars makes a row too, or too short.
        return self._parse_full_lines(block, texts, numbers)

    def _has_too_many_lines(self, block: bytes) -> bool:
        """Whether rows cannot all be complete; as rows, millions of blank lines would take much memory."""
        width = len(self.names)
        if width == 1:
            return _without_blank_lines(block) != block
        return _count_outside_quotes(block, b"\n") * width > len(block)

    def _parse_full_lines(self, block: bytes, texts: Sequence[str], numbers: Sequence[str]) -> "pl.DataFrame":
        full = _without_blank_lines(block)
        if full == block:
            raise csv_errors.first_problem(self.file.name, self._lines(), len(self.names))
        return self._parse(full, texts, numbers)

    def _cells(self, block: bytes, texts: Sequence[str], numbers: Sequence[str]) -> "pl.DataFrame":
        """Return the wanted columns; numbers with spaces around them are read too, and what is no number is null."""
        import polars as pl

        try:
            frame = self._read_csv(block, texts, numbers, pl.Float64())
        except pl.exceptions.PolarsError:
            try:
                frame = self._read_csv(block, texts, numbers, pl.String())
            except pl.exceptions.PolarsError as error:
                raise csv_errors.first_problem(self.file.name, self._lines(), len(self.names), brief(error)) from error
            frame = self._as_numbers(frame, frame.columns[len(texts) :], numbers)
        text = pl.col(frame.columns[: len(texts)]).str.strip_chars()
        frame = frame.with_columns(pl.when(text != "").then(text).name.keep())
        frame.columns = [*texts, *numbers]
        return frame

    def _as_numbers(self, frame: "pl.DataFrame", places: Sequence[str], names: Sequence[str]) -> "pl.DataFrame":
        """Convert columns of text to numbers, null where a value is missing; refuse anything else."""
        import polars as pl

        cells = frame.with_columns(pl.col(places).str.strip_chars())
        if self.percent:
            cells = cells.with_columns(pl.col(places).str.strip_suffix("%").str.strip_chars_end())
        found = cells.with_columns(pl.col(places).cast(pl.Float64, strict=False))
        rows: dict[str, int] = {}
        for at in places:
            is_mark = cells[at].str.to_lowercase().is_in(("", *NUMBER_MARKS)).fill_null(value=True)
            wrong = found[at].is_null() & ~is_mark
            rows |= {at: wrong.arg_max() or 0} if wrong.any() else {}
        if rows:
            at = min(rows, key=lambda each: rows[each])
            raise self._no_number(names[places.index(at)], frame[at][rows[at]])
        return found

    def _no_number(self, column: str, cell: str) -> InputError:
        """Return the error for a cell of the file that is not a number, at its first line."""
        lines, place = self._lines(), self._positions[column]
        next(lines)
        for line, fields in lines:
            if len(fields) != len(self.names):
                break
            if fields[place].strip() == cell.strip():
                return csv_errors.bad_cell(self.file.name, line, column, cell)
        return csv_errors.first_problem(self.file.name, self._lines(), len(self.names))

    def _read_csv(
        self, block: bytes, texts: Sequence[str], numbers: Sequence[str], number: "pl.DataType"
    ) -> "pl.DataFrame":
        """Return the wanted columns, named by their position."""
        import polars as pl

        wanted = [self._positions[name] for name in (*texts, *numbers)]
        schema: dict[str, pl.DataType] = {str(j): pl.String() for j in range(len(self.names))}
        schema.update({str(self._positions[name]): number for name in numbers})
        # polars takes the number of columns from the first line that it sees: from one that is then dropped.
        guide = self.separator.encode() * (len(self.names) - 1) + b"\n"
        options: dict[str, Any] = {"separator": self.separator, "schema": schema, "columns": wanted}
        return pl.read_csv(guide + block, has_header=False, **options)[1:]


def _quotes_open(text: bytes) -> BoolArray:
    """Return for every byte whether a quotation mark is open there."""
    marks = np.frombuffer(text, np.uint8) == ord('"')
    return np.cumsum(marks, dtype=np.uint8) % 2 == 1  # Wrapping at 256 keeps odd and even apart.


def _last_row_end(text: bytes) -> int:
    """Return the position after the last line end that is not quoted, 0 if there is none."""
    if b'"' not in text:
        return text.rfind(b"\n") + 1
    ends = np.flatnonzero((np.frombuffer(text, np.uint8) == ord("\n")) & ~_quotes_open(text))
    return int(ends[-1]) + 1 if len(ends) else 0


def _count_outside_quotes(text: bytes, separator: bytes) -> int:
    found = np.frombuffer(text, np.uint8) == separator[0]
    if b'"' in text:
        found &= ~_quotes_open(text)
    return int(np.count_nonzero(found))


def _without_blank_lines(text: bytes) -> bytes:
    return _BLANK_LINES.sub(lambda found: found[0] if found[0].startswith(b'"') else b"\n", text.lstrip(b"\r\n"))


def _typed(name: str, texts: Sequence[str]) -> "pl.Series":
    import polars as pl

    cells = pl.Series(name, [text or None for text in texts], dtype=pl.String)
    filled = [text for text in texts if text]
    for pattern, dtype in ((_WHOLE, pl.Int64), (_DECIMAL, pl.Float64)):
        if filled and all(pattern.fullmatch(text) for text in filled):
            return cells.cast(dtype)
    return cells
