"""Sizes that a Parquet file declares, checked before polars allocates memory for them.

A negative number of values in a page makes polars 2.1 ask for more memory than can exist, which ends the process: no
exception can be caught. Of the file, only the footer and the page headers are read here (Thrift's compact protocol).
"""

import io
from collections.abc import Callable, Collection, Iterator
from typing import Any, BinaryIO

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind
from calibrant.io.values import check_size

_HEADER_BYTES = 2**20
"""Longest page header; statistics in it can be long."""


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
    return _structure(io.BytesIO(file.handle.read(length)))


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
        data = io.BytesIO(file.handle.read(4096))
        try:
            page = _structure(data)
        except IndexError:
            data = io.BytesIO(data.getvalue() + file.handle.read(_HEADER_BYTES))
            page = _structure(data)
        yield page
        position = position + data.tell() + page[3] if page[3] >= 0 else -1
    raise damaged(file.name, Kind.PARQUET, "a page lies outside of the file")


def _structure(data: BinaryIO) -> dict[int, Any]:
    """Return a Thrift structure as a dict from field numbers to values."""
    fields: dict[int, Any] = {}
    number = 0
    while head := _byte(data):
        number = number + (head >> 4) if head >> 4 else _integer(data)
        kind = head & 15
        fields[number] = kind == 1 if kind in (1, 2) else _VALUES[kind](data)
    return fields


def _exactly(data: BinaryIO, length: int) -> bytes:
    content = data.read(length)
    if len(content) < length:
        raise IndexError
    return content


def _byte(data: BinaryIO) -> int:
    return _exactly(data, 1)[0]


def _unsigned(data: BinaryIO) -> int:
    value = shift = 0
    while (byte := _byte(data)) & 128:
        value |= (byte & 127) << shift
        shift += 7
    return value | byte << shift


def _integer(data: BinaryIO) -> int:
    value = _unsigned(data)
    return value >> 1 ^ -(value & 1)


def _items(data: BinaryIO) -> list[Any]:
    head = _byte(data)
    read = _VALUES[head & 15]
    return [read(data) for _ in range(head >> 4 if head >> 4 < 15 else _unsigned(data))]


_VALUES: dict[int, Callable[[BinaryIO], Any]] = {
    **dict.fromkeys((1, 2, 3), _byte),
    **dict.fromkeys((4, 5, 6), _integer),
    7: lambda data: _exactly(data, 8),
    8: lambda data: _exactly(data, _unsigned(data)),
    **dict.fromkeys((9, 10), _items),
    12: _structure,
}
