"""Sizes that Parquet files declare, checked before polars allocates memory for them.

A negative number of values in a page makes polars 2.1 request more memory than can exist, which ends the process
without an exception, however the file is read. Trying each file in another process first would import polars and read
the file twice. Only headers are read here, in Thrift's compact protocol.
"""

import io
import os
from collections.abc import Callable, Collection
from typing import Any, BinaryIO

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged
from calibrant._core.parquet import chunks_of, unpacked_sizes
from calibrant.io import limits
from calibrant.io.sniff import Kind

_LONGEST = 2**28
"""Longest text that is read from a header."""


def check_parquet(file: OpenFile, names: Collection[str]) -> None:
    """Refuse a file if a size that it declares for one of these columns is impossible or beyond the limits."""
    handle = file.handle
    handle.seek(max(file.size - 8, 0))
    end = handle.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length + 12 > file.size:
        raise damaged(file.name, Kind.PARQUET, "its end is missing")
    handle.seek(file.size - 8 - length)
    footer = handle.read(length)
    if _is_usual(file, footer, names):
        return
    try:
        for group in _structure(io.BytesIO(footer))[4]:
            for chunk in group[1]:
                if chunk[3][3][0].decode("utf-8", "replace") in names:
                    _check_pages(file, chunk[3])
    except (IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(file.name, Kind.PARQUET, "its metadata is broken") from error


def _is_usual(file: OpenFile, footer: bytes, names: Collection[str]) -> bool:
    """Whether compiled code finds all sizes right; if not, the slower reader names the fault."""

    def read(position: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(file.handle.fileno(), size, position)
        file.handle.seek(position)
        return file.handle.read(size)

    chunks = chunks_of(footer)
    if chunks is None:
        return False
    own = [chunk for chunk in chunks if chunk.name.decode("utf-8", "replace") in names]
    largest = max((chunk.values for chunk in own), default=0)
    sizes = unpacked_sizes(own, read) if 8 * largest <= limits.MAX_BYTES else None
    return sizes is not None and all(size <= limits.MAX_BYTES for size in sizes)


def _check_pages(file: OpenFile, column: dict[int, Any]) -> None:
    """Compare the pages of a column chunk with the number of values that the footer gives."""
    expected, position, found, total = column[5], column.get(11) or column[9], 0, 0
    limits.check_size(file.name, expected, 1)
    while 0 <= position < file.size:
        file.handle.seek(position)
        page = _structure(file.handle)
        values = [page.get(kind, {}).get(1, 0) for kind in (5, 7, 8)]  # Data, dictionary, data of version 2.
        found += values[0] + values[2]
        total += page[2]
        if min(expected, page[2], *values) < 0 or found > expected:
            raise damaged(file.name, Kind.PARQUET, "the size of a page is impossible")
        limits.check_bytes(file.name, total)
        if found == expected:
            return
        position = file.handle.tell() + page[3] if page[3] >= 0 else -1
    raise damaged(file.name, Kind.PARQUET, "a page lies outside the file")


def _structure(data: BinaryIO) -> dict[int, Any]:
    """Return a Thrift structure as a dict from field numbers to values; IndexError if the bytes end too early."""
    fields: dict[int, object] = {}
    number = 0
    while head := data.read(1)[0]:
        number = number + (head >> 4) if head >> 4 else _signed(data)
        kind = head & 15
        fields[number] = kind == 1 if kind in (1, 2) else _VALUES[kind](data)
    return fields


def _unsigned(data: BinaryIO) -> int:
    value = shift = 0
    while (byte := data.read(1)[0]) & 128:
        value |= (byte & 127) << shift
        shift += 7
    return value | byte << shift


def _signed(data: BinaryIO) -> int:
    value = _unsigned(data)
    return value >> 1 ^ -(value & 1)


def _text(data: BinaryIO) -> bytes:
    length = _unsigned(data)
    found = data.read(min(length, _LONGEST))
    if len(found) < length:
        raise IndexError
    return found


def _items(data: BinaryIO) -> list[object]:
    head = data.read(1)[0]
    read = _VALUES[head & 15]
    return [read(data) for _ in range(head >> 4 if head >> 4 < 15 else _unsigned(data))]


_VALUES: dict[int, Callable[[BinaryIO], Any]] = {
    **dict.fromkeys((1, 2, 3), lambda data: data.read(1)[0]),
    **dict.fromkeys((4, 5, 6), _signed),
    7: lambda data: data.read(8),
    8: _text,
    **dict.fromkeys((9, 10), _items),
    12: _structure,
}
"""Readers of Thrift values, by type number."""
