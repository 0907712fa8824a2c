"""Sizes that a Parquet file declares, checked before polars allocates memory for them.

A negative number of values in a page makes polars 2.1 ask for more memory than can exist, which ends the process: no
exception can be caught. Of the file, only the footer and the page headers are read here (Thrift's compact protocol).
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind
from calibrant.io.values import check_size

_USUAL_BYTES, _HEADER_BYTES = 256, 2**20
"""Bytes that most page headers fit into, and the longest one; statistics in it can be long."""


def check_parquet(file: OpenFile, names: Collection[str]) -> None:
    """Refuse a file in which a size of one of these columns cannot be right or is beyond the limits."""
    try:
        for group in _footer(file)[4]:
            for chunk in group[1]:
                if chunk[3][3][0].decode("utf-8", "replace") in names:
                    _check_pages(file, chunk[3])
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(file.name, Kind.PARQUET, "its metadata is broken") from error


def _footer(file: OpenFile) -> dict[int, Any]:
    file.handle.seek(max(file.size - 8, 0))
    end = file.handle.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length + 12 > file.size:
        raise damaged(file.name, Kind.PARQUET, "its end is missing")
    file.handle.seek(file.size - 8 - length)
    return _Thrift(file.handle.read(length)).structure()


def _check_pages(file: OpenFile, column: dict[int, Any]) -> None:
    """Compare the pages of a column chunk with the number of values that the footer gives."""
    expected, found, total = column[5], 0, 0
    check_size(file.name, expected, 1)
    for page in _pages(file, column.get(11) or column[9]):
        values = [page.get(kind, {}).get(1, 0) for kind in (5, 7, 8)]  # Data, dictionary, data of version 2.
        found += values[0] + values[2]
        total += page[2]
        if min(expected, page[2], *values) < 0 or found > expected:
            raise damaged(file.name, Kind.PARQUET, "the size of a page is impossible")
        if total > limits.MAX_BYTES:
            raise InputError(f"{file.name} would unpack to more than {limits.MAX_BYTES / 2**30:g} GiB. Split it.")
        if found == expected:
            return


def _pages(file: OpenFile, position: int) -> Iterator[dict[int, Any]]:
    """Yield the page headers of a column chunk."""
    while 0 <= position < file.size:
        file.handle.seek(position)
        data = _Thrift(file.handle.read(_USUAL_BYTES))
        try:
            page = data.structure()
        except IndexError:
            data = _Thrift(data.content + file.handle.read(_HEADER_BYTES))
            page = data.structure()
        yield page
        position = position + data.at + page[3] if page[3] >= 0 else -1
    raise damaged(file.name, Kind.PARQUET, "a page lies outside of the file")


class _Thrift:
    """Bytes of Thrift's compact protocol, read one value after another; IndexError where they end too early."""

    __slots__ = ("at", "content")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def structure(self) -> dict[int, Any]:
        """Return a structure as a dict from field numbers to values."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else _VALUES[kind](self)
        return fields

    def byte(self) -> int:
        value = self.content[self.at]
        self.at += 1
        return value

    def unsigned(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def integer(self) -> int:
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def exactly(self, length: int) -> bytes:
        start, self.at = self.at, self.at + length
        if self.at > len(self.content):
            raise IndexError
        return self.content[start : self.at]

    def items(self) -> list[Any]:
        head = self.byte()
        read = _VALUES[head & 15]
        return [read(self) for _ in range(head >> 4 if head >> 4 < 15 else self.unsigned())]


_VALUES: dict[int, Callable[[_Thrift], Any]] = {
    **dict.fromkeys((1, 2, 3), _Thrift.byte),
    **dict.fromkeys((4, 5, 6), _Thrift.integer),
    7: lambda data: data.exactly(8),
    8: lambda data: data.exactly(data.unsigned()),
    **dict.fromkeys((9, 10), _Thrift.items),
    12: _Thrift.structure,
}
