"""Text files, compressed or not: their lines, and tables in them."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, cast

from calibrant._border.files import OpenFile
from calibrant._border.numerals import count
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind
from calibrant.io.sources import undamaged
from calibrant.io.tables import Table

if TYPE_CHECKING:
    import polars as pl


class TextTable(Table):
    """A table in a text file, which may be compressed with gzip."""

    def __init__(self, file: OpenFile, *, gzipped: bool = False) -> None:
        self.file = file
        self.gzipped = gzipped

    def content(self) -> BinaryIO:
        """Return the unpacked content from its beginning."""
        self.file.handle.seek(0)
        return unpacked(self.file) if self.gzipped else self.file.handle

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
    import polars as pl

    bare = [frame[name].str.strip_chars() for name in texts]
    return frame.with_columns(pl.DataFrame([cells.set(cells == "", None) for cells in bare]))


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


def unpacked(file: OpenFile) -> BinaryIO:
    """Return the content of a file that is compressed with gzip."""
    return io.BufferedReader(cast("io.RawIOBase", _Unpacked(file)))  # Which reads lines far faster.
