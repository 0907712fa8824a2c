"""Text tables read slowly and by line, to say exactly where one of them is wrong."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from calibrant._border.text import brief, listing, quoted, repeated
from calibrant.exceptions import InputError
from calibrant.io import limits


def lines(file: str, content: BinaryIO) -> Iterator[str]:
    """Yield the decoded lines; no more of the file is consumed than was requested."""
    number = 0
    while raw := content.readline(limits.MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > limits.MAX_LINE_BYTES:
            raise InputError(
                f"{file}, line {number}: the line is longer than {limits.MAX_LINE_BYTES:,} bytes. "
                "Is this a table with one row per line?"
            )
        if b"\0" in raw:
            raise InputError(f"{file}, line {number}: there is a NUL byte. The file may be damaged; write it again.")
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{file}, line {number}: byte 0x{raw[error.start]:02x} is not UTF-8 text. Save the file as UTF-8."
            ) from error


def rows(file: str, decoded: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, each with the line on which it begins; blank lines are skipped."""
    reader = csv.reader(decoded, delimiter=separator)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{file}, line {line}: {_csv_trouble(error)}") from error
        if fields is None:
            return
        if fields:
            yield line, fields


def _csv_trouble(error: csv.Error) -> str:
    if "new-line" in str(error):
        return "the line ends with a carriage return alone. Save the file with line feeds."
    if "field larger" in str(error):
        most = csv.field_size_limit()
        return f"a field is longer than {most:,} characters. Is a quotation mark on this line never closed?"
    return f"{brief(error)}. Is a quotation mark on this line never closed?"


def check_header(file: str, names: Sequence[str]) -> None:
    """Refuse a header in which a name occurs twice; columns without a name are never requested."""
    twice = repeated([name for name in names if name])
    if twice is None:
        return
    hint = "Rename one of the columns."
    if re.fullmatch(r"[-+.0-9eE]+", twice):
        hint = "The first line must name the columns."
    raise InputError(f"{file}, line 1: the column {quoted(twice)} occurs twice in the header. {hint}")


def bad_cell(file: str, line: int, column: str, cell: str) -> InputError:
    """Return the error for a cell in which a number is needed."""
    where = f"{file}, line {line}, column {quoted(column)}"
    return InputError(f"{where}: {quoted(cell)} is not a number. {advice(cell.strip())}")


def advice(cell: str) -> str:
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


def first_problem(
    file: str, numbered: Iterator[tuple[int, list[str]]], width: int, otherwise: str = "the rows cannot be separated"
) -> InputError:
    """Return the error for the first row with too many or too few fields, or else for a misplaced quotation mark."""
    stray = None
    try:
        for line, fields in numbered:
            if len(fields) != width:
                return _ragged(file, line, fields, width)
            if stray is None and any('"' in field for field in fields):
                stray = line
    except InputError as error:
        return error
    if stray is not None:
        return InputError(
            f"{file}, line {stray}: a quotation mark stands inside a field. Put the field in quotation marks, and "
            "double those inside it."
        )
    return InputError(f"{file} cannot be read as CSV: {otherwise}.")


def _ragged(file: str, line: int, fields: Sequence[str], width: int) -> InputError:
    found = f"{len(fields)} field{'s' * (len(fields) != 1)}"
    problem = f"{file}, line {line}: the row has {found}, but the header names {width} columns."
    if any("\n" in field for field in fields):
        return InputError(f"{problem} Is a quotation mark on this line never closed?")
    if len(fields) == width + 1 and not fields[-1].strip():
        return InputError(f"{problem} Remove the separator at the end of the row, or add one to the header.")
    if len(fields) > width:
        return InputError(f"{problem} Are commas decimal or thousands separators? Fields: {listing(fields, 6)}.")
    return InputError(f"{problem} Is the row cut off? Fields: {listing(fields, 6)}.")


def endless_row(file: str, numbered: Iterator[tuple[int, list[str]]]) -> InputError:
    """Return the error for a row that does not end within reason."""
    last = 1
    try:
        for line, _ in numbered:
            last = line
    except InputError as error:
        return error
    return InputError(f"{file}, line {last}: a quotation mark on this line is never closed.")
