"""What a Parquet file says of its own size, checked before memory is allocated for it.

polars ends the whole process if a damaged number makes it ask for more memory than can exist. The footer and the page
headers, which hold these numbers, are therefore read here first: Thrift structures in the compact protocol.
"""

from collections.abc import Collection, Iterator
from typing import Any

from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind, OpenFile
from calibrant.io.text import damaged
from calibrant.io.values import check_size

_MAX_DEPTH = 32
_USUAL_BYTES, _MOST_BYTES = 4096, 2**20
"""How much is read to find a page header: a little, and more if that was not enough."""


def check_parquet(file: OpenFile, names: Collection[str]) -> None:
    """Refuse a file in which a size of one of these columns cannot be right or is beyond the limits."""
    try:
        footer = _footer(file)
        check_size(file.name, footer[3], len(names))
        for group in footer[4]:
            for chunk in group[1]:
                column = chunk[3]
                if column[3][0].decode("utf-8", "replace") in names:
                    _check_pages(file, column, group[3])
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(file.name, Kind.PARQUET, "its description of itself is broken") from error


def _footer(file: OpenFile) -> dict[int, Any]:
    file.handle.seek(max(file.size - 8, 0))
    end = file.handle.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length + 12 > file.size:
        raise damaged(file.name, Kind.PARQUET, "its end is missing")
    file.handle.seek(file.size - 8 - length)
    return _Thrift(file.handle.read(length)).structure()


def _check_pages(file: OpenFile, column: dict[int, Any], rows: int) -> None:
    expected = column[5]
    if rows < 0 or expected < 0:
        raise damaged(file.name, Kind.PARQUET, "a number of rows is negative")
    total = found = 0
    for page in _pages(file, column.get(11) or column[9]):
        sizes = [page[2], *(page.get(kind, {}).get(1, 0) for kind in (5, 7, 8))]
        found += page.get(5, page.get(8, {})).get(1, 0)
        total += page[2]
        if min(sizes) < 0 or found > expected:
            raise damaged(file.name, Kind.PARQUET, "the size of a page is impossible")
        if total > limits.MAX_BYTES:
            raise InputError(f"{file.name} would unpack to more than {limits.MAX_BYTES / 2**30:g} GiB. Split it.")
        if found == expected:
            return


def _pages(file: OpenFile, position: int) -> Iterator[dict[int, Any]]:
    """Yield page headers, one after the other, from a position in the file."""
    while 0 <= position < file.size:
        header, length = _page_header(file, position)
        yield header
        if header[3] < 0:
            break
        position += length + header[3]
    raise damaged(file.name, Kind.PARQUET, "a page lies outside of the file")


def _page_header(file: OpenFile, position: int) -> tuple[dict[int, Any], int]:
    try:
        return _structure_at(file, position, _USUAL_BYTES)
    except IndexError:  # Statistics in the header can be long.
        return _structure_at(file, position, _MOST_BYTES)


def _structure_at(file: OpenFile, position: int, length: int) -> tuple[dict[int, Any], int]:
    file.handle.seek(position)
    thrift = _Thrift(file.handle.read(length))
    return thrift.structure(), thrift.position


class _Thrift:
    """A reader of Thrift's compact protocol: structures become dicts from field numbers to values."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise RecursionError
        readers = {1: self._byte, 2: self._byte, 3: self._byte, 4: self._integer, 5: self._integer, 6: self._integer}
        if kind in readers:
            return readers[kind]()
        if kind in (7, 8):
            return self._bytes(8 if kind == 7 else self._unsigned())
        if kind in (9, 10):
            return self._list(depth)
        if kind == 12:
            return self.structure(depth)
        raise KeyError(kind)

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length = head >> 4 if head >> 4 < 15 else self._unsigned()
        return [self._value(head & 15, depth + 1) for _ in range(length)]

    def _byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def _bytes(self, length: int) -> bytes:
        self.position += length
        if self.position > len(self.data):
            raise IndexError
        return self.data[self.position - length : self.position]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
