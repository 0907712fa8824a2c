"""What all files of text have in common: lines, perhaps compressed with gzip."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from calibrant._border.files import OpenFile
from calibrant._border.text import brief, damaged
from calibrant.exceptions import InputError
from calibrant.io import csv_errors, limits
from calibrant.io.sniff import Kind, check_text, read_head
from calibrant.io.tables import Table


class TextTable(Table):
    """A table in a file of text.

    Attributes
    ----------
    gzipped : bool
        Whether it is compressed with gzip.
    percent : bool
        Whether numbers may end in a percent sign.
    """

    percent = False

    def __init__(self, file: OpenFile, *, gzipped: bool) -> None:
        self.file = file
        self.gzipped = gzipped
        if gzipped:
            with self._undamaged():
                check_text(file, read_head(self._content()))

    def lines(self) -> Iterator[str]:
        """Yield the lines as they are."""
        with self._undamaged():
            yield from csv_errors.lines(self.file.name, self._content())

    def _content(self) -> BinaryIO:
        self.file.handle.seek(0)
        return unpacked(self.file) if self.gzipped else self.file.handle

    def _check_ratio(self, content: BinaryIO) -> None:
        if self.gzipped and content.tell() > limits.RATIO_FREE_BYTES + limits.MAX_RATIO * self.file.size:
            raise InputError(
                f"{self.file.name} unpacks to more than {limits.MAX_RATIO} times its size, like a decompression bomb."
            )

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        with undamaged(self.file.name):
            yield


def unpacked(file: OpenFile) -> BinaryIO:
    """Return the content of a file that is compressed with gzip."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=file.handle))


@contextmanager
def undamaged(name: str) -> Iterator[None]:
    """Turn what gzip says of a damaged file into one clear line."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(name, Kind.GZIP, brief(error)) from error
