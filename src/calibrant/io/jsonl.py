"""JSON Lines: one object per line; its fields are the columns."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from calibrant._border.files import OpenFile
from calibrant._border.text import quoted
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.text import TextTable, stripped

if TYPE_CHECKING:
    import polars as pl

HEAD_ROWS = 1000
"""Columns are the fields of the first objects, up to this many; a field that an object lacks is a missing value."""


class JsonLines(TextTable):
    """A file with a JSON object on every line."""

    def __init__(self, file: OpenFile, *, gzipped: bool = False) -> None:
        super().__init__(file, gzipped=gzipped)
        head = [fields for _, fields in islice(self._objects(), HEAD_ROWS)]
        self.names = tuple(dict.fromkeys(name for fields in head for name in fields))
        self.nested = frozenset(name for fields in head for name, value in fields.items() if isinstance(value, list))

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some fields as texts, or as lists of numbers if the field holds these."""
        import polars as pl

        lists = {name for name in numbers if name in self.nested}
        schema = {name: pl.List(pl.Float64) if name in lists else pl.String() for name in (*texts, *numbers)}
        objects = self._objects()
        while chunk := list(islice(objects, limits.BATCH_ROWS)):
            cells = {
                name: [(self._list if name in lists else self._text)(line, name, row.get(name)) for line, row in chunk]
                for name in schema
            }
            yield stripped(pl.DataFrame(cells, schema=schema), texts)

    def place(self, row: int) -> str:
        """Return the line of an object."""
        return f"line {next(islice(self._objects(), row, None))[0]}"

    def frame(self) -> "pl.DataFrame":
        """Read all fields."""
        import polars as pl

        return pl.DataFrame([fields for _, fields in self._objects()], infer_schema_length=None)

    def _objects(self) -> Iterator[tuple[int, dict[str, object]]]:
        """Yield the objects, each with its line; blank lines are skipped."""
        for number, line in enumerate(self.lines(), start=1):
            if not line.strip():
                continue
            where = f"{self.file.name}, line {number}"
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = str(error).split(":")[0]
                if line.strip() in ("{", "["):
                    why = "the object does not end on the line on which it begins"
                raise InputError(
                    f"{where}: this is not a JSON object ({why}). Write one object per line (JSON Lines)."
                ) from error
            if not isinstance(found, dict):
                raise InputError(
                    f'{where}: every line must hold a JSON object such as {{"label": 1, "p": 0.8}}, but this one holds '
                    f"{quoted(line.strip())}."
                )
            yield number, found

    def _at(self, line: int, name: str) -> str:
        return f"{self.file.name}, line {line}, column {quoted(name)}"

    def _text(self, line: int, name: str, value: object) -> str | None:
        """Return a value as CSV would write it."""
        if isinstance(value, (list, dict)):
            raise InputError(f"{self._at(line, name)}: there must be one value, but there are several.")
        if isinstance(value, bool):
            return str(value).lower()
        return value if value is None or isinstance(value, str) else str(value)

    def _list(self, line: int, name: str, value: object) -> list[float] | None:
        """Return a list of numbers."""
        if value is None:
            return None
        if not isinstance(value, list) or not all(e is None or isinstance(e, (int, float)) for e in value):
            raise InputError(
                f"{self._at(line, name)}: there must be a list of numbers, as in other rows, but there is "
                f"{quoted(json.dumps(value))}."
            )
        return value
