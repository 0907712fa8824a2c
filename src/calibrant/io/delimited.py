"""CSV and its relatives: text tables, read block by block; where one is wrong, line by line, to say where."""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calibrant._border.files import OpenFile
from calibrant._border.text import brief, listing, quoted, repeated
from calibrant._border.types import BoolArray
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.plain import MOST_BYTES, plain_columns, portions
from calibrant.io.tables import TextTable, intact, need_polars, no_number
from calibrant.io.values import NUMBER_MARKS, Collector, Stack

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = (",", ";", "\t", "|")

_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?$"
_BLANK_LINES = re.compile(rb'"[^"]*"|\n(?:\r?\n)+')


class Delimited(TextTable):
    """A text table with a header line, perhaps compressed with gzip."""

    def __init__(self, file: OpenFile, *, gzipped: bool) -> None:
        super().__init__(file, gzipped=gzipped)
        self.separator = self._guess_separator()
        with intact(self.file):
            _, fields = next(self._rows(self._content()))
        self.names = tuple(name.strip() for name in fields)
        self._positions = {name: j for j, name in enumerate(self.names)}
        _check_header(file.name, self.names)

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> dict[str, Any]:
        """Read the chosen columns, without polars if the table is small and plain."""
        is_small = not self.gzipped and self.file.size <= MOST_BYTES
        found = self._read_plain(numbers, label) if is_small else None
        return super().read(numbers, label) if found is None else found

    def _read_plain(self, numbers: Mapping[str, Sequence[str]], label: str) -> dict[str, Any] | None:
        """Read the columns, unless there are no rows, or something unusual stands in one."""
        places = [self._positions[name] for names in numbers.values() for name in names]
        texts = [self._positions[label]] if label else []
        stacks, labels, rows = {argument: Stack(self.file.name) for argument in numbers}, Collector(), 0
        content = self._content()
        next(self._rows(content))  # Leaves the file at the first row.
        for block in self._blocks(content):
            self.file.check_unchanged()
            for part in portions(block):
                found = plain_columns(part, self.separator, len(self.names), places, texts)
                if found is None:
                    return None
                columns = iter(found.numbers)
                for argument, names in numbers.items():
                    stacks[argument].append(np.column_stack([*islice(columns, len(names))]))
                for coded in found.texts:
                    labels.append_coded(coded)
                rows += found.n_rows
        self.file.check_unchanged()
        return self.assembled(stacks, labels if label else None) if rows else None

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, those in `numbers` converted to numbers."""
        need_polars()
        with intact(self.file):
            content = self._content()
            next(self._rows(content))  # Leaves the file at the first row.
            for block in self._blocks(content):
                self.file.check_unchanged()
                yield self._parse(block, texts, numbers)

    def place(self, row: int) -> str:
        """Say on which line of the file a row begins."""
        found = next(islice(self._rows(self._content()), row + 1, None), None)
        if found is None:
            raise InputError(f"{self.file.name} changed while it was being read. Try again.")
        return f"line {found[0]}"

    def frame(self) -> "pl.DataFrame":
        """Read all columns, as numbers where no text loses anything by becoming one."""
        need_polars()
        import polars as pl

        _, cells = self.cells()
        filled = cells.with_columns(pl.when(pl.all() != "").then(pl.all()))
        names = [name or f"column_{j}" for j, name in enumerate(self.names)]
        return pl.DataFrame([_typed(column).alias(name) for name, column in zip(names, filled, strict=True)])

    def cells(self) -> tuple[list[str], "pl.DataFrame"]:
        """Read the header and all cells as the texts that they are, in columns named by their position."""
        need_polars()
        import polars as pl

        every = [*range(len(self.names))]
        with intact(self.file):
            content = self._content()
            _, header = next(self._rows(content))
            return header, pl.concat([self._read_csv(block, every) for block in self._blocks(content)])

    def _rows(self, content: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Yield the header and the rows, each with the line on which it begins; blank lines are skipped."""
        reader = csv.reader(self._decoded(content), delimiter=self.separator)
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader, None)
            except csv.Error as error:
                raise InputError(f"{self.file.name}, line {line}: {_csv_trouble(error)}") from error
            if fields is None:
                return
            if fields:
                yield line, fields

    def _guess_separator(self) -> str:
        """Return the separator that occurs most often in the header."""
        header = next((line for line in self.lines() if line.strip()), None)
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
                raise self._endless_row()
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest and _quotes_open(rest)[-1]:
            raise self._endless_row()
        if rest:
            yield rest

    def _parse(self, block: bytes, texts: Sequence[str], numbers: Sequence[str]) -> "pl.DataFrame":
        """Return the wanted columns of a block; numbers with spaces around them are read, what is missing is null."""
        import polars as pl

        wanted = [self._positions[name] for name in (*texts, *numbers)]
        try:
            frame = self._read_csv(block, wanted, wanted[len(texts) :])
        except pl.exceptions.PolarsError:
            frame = self._read_csv(block, wanted)
            frame = self._as_numbers(frame, frame.columns[len(texts) :], numbers)
        text = pl.col(frame.columns[: len(texts)]).str.strip_chars()
        frame = frame.with_columns(pl.when(text != "").then(text).name.keep())
        frame.columns = [*texts, *numbers]
        return frame

    def _read_csv(self, block: bytes, wanted: Sequence[int], numbers: Collection[int] = ()) -> "pl.DataFrame":
        """Return columns by their position, which is their name: texts, and numbers, which may fail by an exception."""
        import polars as pl

        if b"\0" in block:
            raise self._first_problem()
        rows = _without_blank_lines(block)  # Of which polars would make rows too.
        schema = {str(j): pl.Float64() if j in numbers else pl.String() for j in range(len(self.names))}
        # polars takes the number of columns from the first line that it sees: from one that is then dropped.
        guide = self.separator.encode() * (len(self.names) - 1) + b"\n"
        options: dict[str, Any] = {"separator": self.separator, "schema": schema, "columns": [*wanted]}
        try:
            frame = pl.read_csv(guide + rows, has_header=False, **options)[1:]
        except pl.exceptions.PolarsError as error:
            if numbers:
                raise
            raise self._first_problem(brief(error)) from error
        # Polars completes rows that are too short.
        if _count_outside_quotes(rows, self.separator) != len(frame) * (len(self.names) - 1):
            raise self._first_problem()
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
        place = self._positions[column]
        for line, fields in islice(self._rows(self._content()), 1, None):
            if len(fields) != len(self.names):
                break
            if fields[place].strip() == cell.strip():
                return no_number(f"{self.file.name}, line {line}, column {quoted(column)}", cell)
        return self._first_problem()

    def _first_problem(self, otherwise: str = "the rows cannot be separated") -> InputError:
        """Return the error for the first row with too many or too few fields, or else for a stray quotation mark."""
        file, stray = self.file.name, None
        try:
            for line, fields in self._rows(self._content()):
                if len(fields) != len(self.names):
                    return InputError(f"{file}, line {line}: {_ragged(fields, len(self.names))}")
                if stray is None and any('"' in field for field in fields):
                    stray = line
        except InputError as error:
            return error
        if stray is None:
            return InputError(f"{file} cannot be read as CSV: {otherwise}.")
        return InputError(
            f"{file}, line {stray}: a quotation mark stands inside a field. Put the field in quotation marks, and "
            "double those inside it."
        )

    def _endless_row(self) -> InputError:
        """Return the error for a row that does not end within reason."""
        last = 1
        try:
            for line, _ in self._rows(self._content()):
                last = line
        except InputError as error:
            return error
        return InputError(f"{self.file.name}, line {last}: a quotation mark on this line is never closed.")


def _check_header(file: str, names: Sequence[str]) -> None:
    """Refuse a header in which a name occurs twice; columns without a name are never requested."""
    twice = repeated([name for name in names if name])
    if twice is None:
        return
    is_number = re.fullmatch(r"[-+.0-9eE]+", twice)
    hint = "The first line must name the columns." if is_number else "Rename one of the columns."
    raise InputError(f"{file}, line 1: the column {quoted(twice)} occurs twice in the header. {hint}")


def _csv_trouble(error: csv.Error) -> str:
    if "new-line" in str(error):
        return "the line ends with a carriage return alone. Save the file with line feeds."
    if "field larger" in str(error):
        most = csv.field_size_limit()
        return f"a field is longer than {most:,} characters. Is a quotation mark on this line never closed?"
    return f"{brief(error)}. Is a quotation mark on this line never closed?"


def _ragged(fields: Sequence[str], width: int) -> str:
    """Say what is wrong with a row that has too many or too few fields."""
    problem = f"the row has {len(fields)} field{'s' * (len(fields) != 1)}, but the header names {width} columns."
    if any("\n" in field for field in fields):
        return f"{problem} Is a quotation mark on this line never closed?"
    if len(fields) == width + 1 and not fields[-1].strip():
        return f"{problem} Remove the separator at the end of the row, or add one to the header."
    if len(fields) > width:
        return f"{problem} Are commas decimal or thousands separators? Fields: {listing(fields, 6)}."
    return f"{problem} Is the row cut off? Fields: {listing(fields, 6)}."


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


def _count_outside_quotes(text: bytes, separator: str) -> int:
    found = np.frombuffer(text, np.uint8) == ord(separator)
    if b'"' in text:
        found &= ~_quotes_open(text)
    return int(np.count_nonzero(found))


def _without_blank_lines(text: bytes) -> bytes:
    text = text.lstrip(b"\r\n")
    if b"\n\n" not in text and b"\n\r\n" not in text:
        return text
    return _BLANK_LINES.sub(lambda found: found[0] if found[0].startswith(b'"') else b"\n", text)


def _typed(cells: "pl.Series") -> "pl.Series":
    """Return texts as numbers, if none of them loses anything by that."""
    import polars as pl

    for pattern, dtype in ((_WHOLE, pl.Int64), (_DECIMAL, pl.Float64)):
        if cells.str.contains(pattern).all() and cells.null_count() < len(cells):
            return cells.cast(dtype)
    return cells
