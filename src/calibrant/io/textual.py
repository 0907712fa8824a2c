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
from calibrant.io.sniff import Kind, check_text, read_head
from calibrant.io.sources import undamaged
from calibrant.io.tables import Table

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


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
            check_text(file, unpacked_head(file))

    def lines(self) -> Iterator[str]:
        """Yield the lines as they are."""
        with self._undamaged():
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
        return _unpacked(self.file) if self.gzipped else _rewound(self.file)

    def _check_ratio(self, content: BinaryIO) -> None:
        if self.gzipped and content.tell() > limits.RATIO_FREE_BYTES + limits.MAX_RATIO * self.file.size:
            raise InputError(
                f"{self.file.name} unpacks to more than {limits.MAX_RATIO} times its size, like a decompression bomb."
            )

    def _undamaged(self) -> AbstractContextManager[None]:
        return _undamaged(self.file)


def unpacked_head(file: OpenFile) -> bytes:
    """Return the beginning of what is compressed with gzip."""
    with _undamaged(file):
        return read_head(_unpacked(file))


def _rewound(file: OpenFile) -> BinaryIO:
    file.handle.seek(0)
    return file.handle


def _unpacked(file: OpenFile) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=_rewound(file)))


def _undamaged(file: OpenFile) -> AbstractContextManager[None]:
    return undamaged(file.name, Kind.GZIP, gzip.BadGzipFile, EOFError, zlib.error)


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
