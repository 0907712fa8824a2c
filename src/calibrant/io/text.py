"""Text files, compressed or not: their lines, and tables in them."""

import gzip
import io
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, cast

from calibrant._border.files import OpenFile
from calibrant._border.numerals import count
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind
from calibrant.io.sources import undamaged
from calibrant.io.tables import Table, need_polars

if TYPE_CHECKING:
    import polars as pl


class TextTable(Table):
    """A table in a text file.

    Attributes
    ----------
    gzipped : bool
        Whether the file is compressed with gzip.
    """

    def __init__(self, file: OpenFile, *, gzipped: bool) -> None:
        self.file = file
        self.gzipped = gzipped

    @abstractmethod
    def blocks(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns, with texts as they are in the file."""

    def batches(self, texts: Sequence[str], numbers: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield the rows of some columns; texts are stripped, and empty ones are null."""
        need_polars()
        import polars as pl

        with intact(self.file):
            for block in self.blocks(texts, numbers):
                self.file.check_unchanged()
                bare = [block[name].str.strip_chars() for name in texts]
                yield block.with_columns(pl.DataFrame([cells.set(cells == "", None) for cells in bare]))

    def lines(self) -> Iterator[str]:
        """Yield the decoded lines."""
        with intact(self.file):
            yield from self.decoded(self.content())

    def content(self) -> BinaryIO:
        """Return the unpacked content from its beginning."""
        self.file.handle.seek(0)
        return unpacked(self.file) if self.gzipped else self.file.handle

    def decoded(self, content: BinaryIO) -> Iterator[str]:
        """Yield the decoded lines, without reading ahead."""
        number, n_bytes = 0, content.tell()
        while raw := content.readline(limits.MAX_LINE_BYTES + 1):
            number += 1
            n_bytes += len(raw)
            self.check_ratio(n_bytes)
            if len(raw) > limits.MAX_LINE_BYTES:
                raise self._unreadable(
                    number,
                    f"the line is longer than {count(limits.MAX_LINE_BYTES)} bytes. "
                    "Is this a table with one row per line?",
                )
            if b"\0" in raw:
                raise self._unreadable(number, "there is a NUL byte. The file may be damaged; write it again.")
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{raw[error.start]:02x}"
                raise self._unreadable(number, f"{byte} is not UTF-8 text. Save the file as UTF-8.") from error

    def _unreadable(self, number: int, why: str) -> InputError:
        return InputError(f"{self.file.name}, line {number}: {why}")

    def check_ratio(self, n_bytes: int) -> None:
        """Refuse content that is compressed better than any text could be."""
        if self.gzipped and n_bytes > limits.RATIO_FREE_BYTES + limits.MAX_RATIO * self.file.size:
            raise InputError(
                f"{self.file.name} unpacks to more than {limits.MAX_RATIO} times its size, like a decompression bomb."
            )


def intact(file: OpenFile) -> AbstractContextManager[None]:
    """Turn errors of gzip about a damaged file into one clear line."""
    return undamaged(file.name, Kind.GZIP, gzip.BadGzipFile, EOFError, zlib.error)


def unpacked(file: OpenFile) -> BinaryIO:
    """Return the content of a file that is compressed with gzip."""
    packed = cast("io.RawIOBase", gzip.GzipFile(fileobj=file.handle))
    return io.BufferedReader(packed)  # Which reads lines far faster.
