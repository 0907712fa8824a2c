"""Text files, compressed or not: their lines, and JSON Lines, whose objects have columns as fields."""

import gzip
import io
import json
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import BinaryIO, cast

from calibrant._border.files import OpenFile
from calibrant._border.numerals import count
from calibrant._border.text import quoted
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.polars import pl
from calibrant.io.sniff import Kind
from calibrant.io.sources import undamaged
from calibrant.io.tables import Table

HEAD_ROWS = 1000
"""Columns are the fields of the first objects, up to this many; a field that an object lacks is a missing value."""


class TextTable(Table):
    """A table in a text file."""

    @abstractmethod
    def numbered(self) -> Iterator[tuple[int, object]]:
        """Yield the rows, each with the line on which it begins; blank lines are skipped."""

    def place(self, row: int) -> str:
        """Return the line on which a row begins."""
        line, _ = next(islice(self.numbered(), row, None), (0, None))
        if not line:
            raise InputError(f"{self.file.name} changed while it was being read. Try again.")
        return f"line {line}"

    def content(self) -> BinaryIO:
        """Return the content from its beginning."""
        self.file.handle.seek(0)
        return self.file.handle

    def lines(self, content: BinaryIO | None = None) -> Iterator[str]:
        """Yield the decoded lines, of the file unless its content is given, without reading ahead."""
        content = self.content() if content is None else content
        number = 0
        while raw := content.readline(limits.MAX_LINE_BYTES + 1):
            number += 1
            where = f"{self.file.name}, line {number}"
            if len(raw) > limits.MAX_LINE_BYTES:
                raise InputError(
                    f"{where}: the line is longer than {count(limits.MAX_LINE_BYTES)} bytes. "
                    "Is this a table with one row per line?"
                )
            if b"\0" in raw:
                raise InputError(f"{where}: there is a NUL byte. The file may be damaged; write it again.")
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{raw[error.start]:02x}"
                raise InputError(f"{where}: {byte} is not UTF-8 text. Save the file as UTF-8.") from error


def stripped(frame: "pl.DataFrame", texts: Sequence[str]) -> "pl.DataFrame":
    """Return a table with texts without surrounding spaces, and null in place of empty ones."""
    return frame.with_columns(pl.selectors.by_name(texts).str.strip_chars().replace("", None))


class JsonLines(TextTable):
    """A file with a JSON object on every line."""

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        head = [fields for _, fields in islice(self.numbered(), HEAD_ROWS)]
        self.names = tuple(dict.fromkeys(name for fields in head for name in fields))
        self.nested = frozenset(name for fields in head for name, value in fields.items() if isinstance(value, list))

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some fields as texts, or as lists of numbers if the field holds these."""
        lists = {name for name in numbers if name in self.nested}
        schema = {name: pl.List(pl.Float64) if name in lists else pl.String() for name in (*texts, *numbers)}
        objects = self.numbered()
        while chunk := list(islice(objects, limits.BATCH_ROWS)):
            cells = {
                name: [self._value(line, name, row.get(name), is_list=name in lists) for line, row in chunk]
                for name in schema
            }
            yield stripped(pl.DataFrame(cells, schema=schema), texts)

    def frame(self) -> "pl.DataFrame":
        """Read all fields."""
        return pl.DataFrame([fields for _, fields in self.numbered()], infer_schema_length=None)

    def numbered(self) -> Iterator[tuple[int, dict[str, object]]]:
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

    def _value(self, line: int, name: str, value: object, *, is_list: bool) -> object:
        """Return a list of numbers, or a value as CSV would write it."""
        if value is None:
            return None
        if is_list and isinstance(value, list) and all(e is None or isinstance(e, (int, float)) for e in value):
            return value
        if is_list or isinstance(value, (list, dict)):
            lists = f"a list of numbers, as in other rows, but there is {quoted(json.dumps(value))}"
            needed = lists if is_list else "one value, but there are several"
            raise InputError(f"{self.file.name}, line {line}, column {quoted(name)}: there must be {needed}.")
        return str(value).lower() if isinstance(value, bool) else str(value)


class _Unpacked(gzip.GzipFile):
    """Unpacked content, which is refused if it is damaged, or compressed better than any text could be."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(fileobj=file.handle)
        self._file = file

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        with undamaged(self._file.name, Kind.GZIP, gzip.BadGzipFile, EOFError, zlib.error):
            found = super().read(size)
        if self.tell() > limits.RATIO_FREE_BYTES + limits.MAX_RATIO * self._file.size:
            raise InputError(
                f"{self._file.name} unpacks to more than {limits.MAX_RATIO} times its size, like a decompression bomb."
            )
        return found

    def close(self) -> None:
        """Close the file as well."""
        super().close()
        self._file.handle.close()


def unpacked(file: OpenFile) -> OpenFile:
    """Return a file that is compressed with gzip with its unpacked content."""
    # As a buffer, it is read line by line far faster.
    return replace(file, handle=io.BufferedReader(cast("io.RawIOBase", _Unpacked(file))))
