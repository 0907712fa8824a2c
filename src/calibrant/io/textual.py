"""What all files of text have in common: lines, perhaps compressed with gzip, and cells that should be numbers."""

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, cast

from calibrant._border.files import OpenFile
from calibrant._border.text import quoted
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind
from calibrant.io.sources import undamaged
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

    def lines(self) -> Iterator[str]:
        """Yield the lines as they are."""
        with intact(self.file):
            yield from self._decoded(self._content())

    def _decoded(self, content: BinaryIO) -> Iterator[str]:
        """Yield the decoded lines; no more of the file is consumed than was requested."""
        file, number = self.file.name, 0
        while raw := content.readline(limits.MAX_LINE_BYTES + 1):
            number += 1
            self._check_ratio(content)
            if len(raw) > limits.MAX_LINE_BYTES:
                raise InputError(
                    f"{file}, line {number}: the line is longer than {limits.MAX_LINE_BYTES:,} bytes. "
                    "Is this a table with one row per line?"
                )
            if b"\0" in raw:
                raise InputError(
                    f"{file}, line {number}: there is a NUL byte. The file may be damaged; write it again."
                )
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{file}, line {number}: byte 0x{raw[error.start]:02x} is not UTF-8 text. Save the file as UTF-8."
                ) from error

    def _content(self) -> BinaryIO:
        self.file.handle.seek(0)
        return unpacked(self.file) if self.gzipped else self.file.handle

    def _check_ratio(self, content: BinaryIO) -> None:
        if self.gzipped and content.tell() > limits.RATIO_FREE_BYTES + limits.MAX_RATIO * self.file.size:
            raise InputError(
                f"{self.file.name} unpacks to more than {limits.MAX_RATIO} times its size, like a decompression bomb."
            )


def intact(file: OpenFile) -> AbstractContextManager[None]:
    """Turn what gzip says of a damaged file into one clear line."""
    return undamaged(file.name, Kind.GZIP, gzip.BadGzipFile, EOFError, zlib.error)


def unpacked(file: OpenFile) -> BinaryIO:
    """Return the content of a file that is compressed with gzip."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=file.handle))


def no_number(where: str, cell: str) -> InputError:
    """Return the error for a cell in which a number is needed."""
    return InputError(f"{where}: {quoted(cell)} is not a number. {_remedy(cell.strip())}")


def _remedy(cell: str) -> str:
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
