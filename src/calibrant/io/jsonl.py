"""JSON Lines: one object per line, whose fields are columns."""

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from calibrant._border.files import OpenFile
from calibrant._border.text import quoted
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.tables import TextTable, no_number
from calibrant.io.values import NUMBER, NUMBER_MARKS

if TYPE_CHECKING:
    import polars as pl

HEAD_ROWS = 1000
"""The fields of this many first objects are the columns; a field that an object lacks is missing."""


class JsonLines(TextTable):
    """A file with a JSON object on every line."""

    def __init__(self, file: OpenFile, *, gzipped: bool = False) -> None:
        super().__init__(file, gzipped=gzipped)
        head = [fields for _, fields in islice(self._objects(), HEAD_ROWS)]
        self.names = tuple(dict.fromkeys(name for fields in head for name in fields))
        self.nested = frozenset(name for fields in head for name, value in fields.items() if isinstance(value, list))

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some fields, those in `numbers` converted to numbers."""
        import polars as pl

        objects = self._objects()
        while chunk := list(islice(objects, limits.BATCH_ROWS)):
            columns = {name: [self._text(line, row, name) for line, row in chunk] for name in texts}
            cells = {name: [self._number(line, row, name) for line, row in chunk] for name in numbers}
            kinds = {name: pl.List(pl.Float64) if name in self.nested else pl.Float64 for name in numbers}
            schema: Any = dict.fromkeys(texts, pl.String) | kinds
            yield pl.DataFrame(columns | cells, schema=schema)

    def place(self, row: int) -> str:
        """Say on which line of the file an object is."""
        line, _ = next(islice(self._objects(), row, None))
        return f"line {line}"

    def frame(self) -> "pl.DataFrame":
        """Read all fields."""
        import polars as pl

        return pl.DataFrame([fields for _, fields in self._objects()], infer_schema_length=None)

    def _objects(self) -> Iterator[tuple[int, dict[str, object]]]:
        """Yield the objects, each with its line; blank lines are skipped."""
        for number, line in enumerate(self.lines(), start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.file.name}, line {number}: {_trouble(line, error)}") from error
            if not isinstance(found, dict):
                raise InputError(
                    f"{self.file.name}, line {number}: every line must hold a JSON object such as "
                    f'{{"label": 1, "p": 0.8}}, but this one holds {quoted(line.strip())}.'
                )
            yield number, found

    def _text(self, line: int, fields: dict[str, object], name: str) -> str | None:
        value = fields.get(name)
        if isinstance(value, (list, dict)):
            raise InputError(
                f"{self.file.name}, line {line}, field {quoted(name)}: one value is needed, but there are several."
            )
        if isinstance(value, bool):
            return str(value).lower()
        return None if value is None or value == "" else str(value)

    def _number(self, line: int, fields: dict[str, object], name: str) -> object:
        value = fields.get(name)
        if isinstance(value, list):
            return [self._number(line, {name: entry}, name) for entry in value]
        if isinstance(value, str):
            value = _read(value, percent=self.percent)
        if value is None or (isinstance(value, (bool, int, float)) and abs(value) < 2**1023):
            return value if value is None else float(value)
        if isinstance(value, float):
            return value
        raise no_number(f"{self.file.name}, line {line}, field {quoted(name)}", str(fields[name]))


def _read(text: str, *, percent: bool) -> float | str | None:
    """Return the number that a text holds, None for a mark of a missing value, and any other text as it is."""
    plain = text.strip().removesuffix("%" if percent else "").rstrip()
    if not plain or plain.lower() in NUMBER_MARKS:
        return None
    if plain.lower().lstrip("+-") in ("inf", "infinity"):
        return -math.inf if plain.startswith("-") else math.inf
    return float(plain) if NUMBER.fullmatch(plain) else text


def _trouble(line: str, error: Exception) -> str:
    if line.strip() in ("{", "["):
        return "the object does not end on the line on which it begins. Write one object per line (JSON Lines)."
    return f"this is not a JSON object ({str(error).split(':')[0]}). Write one object per line (JSON Lines)."
