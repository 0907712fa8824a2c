"""Headers of Parquet files read field by field: the definition of what the compiled reader recognises."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO

from calibrant._core.parquet import Chunk

BROKEN = (IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What `structure` raises if the bytes are not a structure."""

_LONGEST = 2**28
"""Longest text that is read from a header."""


def chunks_of(footer: bytes) -> list[Chunk] | None:
    """Return all columns of all groups of rows, None if the footer is broken."""
    try:
        columns = [chunk[3] for group in structure(io.BytesIO(footer))[4] for chunk in group[1]]
        return [Chunk(one[3][0], one[5], one.get(11) or one[9]) for one in columns]
    except BROKEN:
        return None


def has_possible_pages(content: bytes, chunk: Chunk) -> bool:
    """Whether the pages of a chunk lie in the file and hold as many values as the chunk."""
    handle, position, found = io.BytesIO(content), chunk.position, 0
    while 0 <= position < len(content):
        handle.seek(position)
        try:
            page = structure(handle)
            values = [page.get(kind, {}).get(1, 0) for kind in (5, 7, 8)]  # Data, dictionary, data of version 2.
            found += values[0] + values[2]
            if min(page[2], page[3], *values) < 0 or found > chunk.values:
                return False
        except BROKEN:
            return False
        if found == chunk.values:
            return True
        position = handle.tell() + page[3]
    return False


def structure(data: BinaryIO) -> dict[int, Any]:
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
    12: structure,
}
"""Readers of Thrift values, by type number."""
