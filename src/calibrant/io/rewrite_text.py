"""Text tables written again, cell by cell."""

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.columns import Columns
from calibrant.io.delimited import Delimited

if TYPE_CHECKING:
    import polars as pl

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")


def replace_cells(source: Delimited, columns: Columns, new: FloatArray, content: BinaryIO, separator: str) -> None:
    """Write a text table with new numbers and every other cell as it is."""
    text = io.TextIOWrapper(content, encoding="utf-8", newline="")
    places = [source.names.index(name) for name in columns.probs]
    numbers = new.reshape(len(new), -1).tolist()
    row = -1  # The header.
    for record in _records(source.lines()):
        body = record.rstrip("\r\n")
        fields = _fields(body, source.separator)
        if body and 0 <= row < len(numbers):
            for place, number in zip(places, numbers[row], strict=True):
                fields[place] = repr(number)
        row += bool(body)
        text.write(_joined(fields, source.separator, separator) + record[len(body) :])
    if row != len(numbers):
        raise InputError(f"{source.file.name} has {len(numbers)} rows or {row}: quotation marks are misplaced.")
    text.flush()
    text.detach()


def _records(lines: Iterator[str]) -> Iterator[str]:
    """Yield rows with their line ends; a row goes on while a quotation mark is open."""
    parts: list[str] = []
    is_open = False
    for line in lines:
        parts.append(line)
        is_open ^= line.count('"') % 2 == 1
        if not is_open:
            yield "".join(parts)
            parts = []


def _fields(record: str, separator: str) -> list[str]:
    """Return the fields of a row as they are written, quotation marks included."""
    pieces = record.split(separator)
    if '"' not in record:
        return pieces
    fields: list[str] = []
    is_open = False
    for piece in pieces:
        if is_open:
            fields[-1] += separator + piece
        else:
            fields.append(piece)
        is_open ^= piece.count('"') % 2 == 1
    return fields


def _joined(fields: list[str], before: str, after: str) -> str:
    """Return fields as a row, in quotation marks where the new separator needs them."""
    if before != after:
        fields = [f'"{f}"' if after in f and not f.lstrip().startswith('"') else f for f in fields]
    return after.join(fields)


def typed(source: Delimited) -> "pl.DataFrame":
    """Return a text table with columns of numbers where no text loses anything by being one."""
    import polars as pl

    rows = source.rows()
    names = [name or f"column_{j}" for j, name in enumerate(source.names)]
    next(rows)
    return pl.DataFrame([_typed_column(n, c) for n, c in zip(names, zip(*rows, strict=True), strict=True)])


def _typed_column(name: str, texts: Sequence[str]) -> "pl.Series":
    import polars as pl

    cells = [text or None for text in texts]
    filled = [text for text in cells if text is not None]
    if filled and all(_WHOLE.fullmatch(text) for text in filled):
        return pl.Series(name, cells, dtype=pl.String).cast(pl.Int64)
    if filled and all(_DECIMAL.fullmatch(text) for text in filled):
        return pl.Series(name, cells, dtype=pl.String).cast(pl.Float64)
    return pl.Series(name, cells, dtype=pl.String)
