"""Sizes that Parquet and Arrow IPC files declare, checked before polars allocates memory for them.

A negative number of values in a page, or a length beyond the file, makes polars 2.1 ask for more memory than can exist,
which ends the process: no exception can be caught, whichever way it reads. Of all changes of single bytes in files of
1 kB, 4 to 22 in 10,000 did that. To try each file in another process first would import polars and read it twice. Only
headers are read here: Thrift's compact protocol and tables of FlatBuffers.
"""

import io
import struct
from collections.abc import Callable, Collection, Iterator
from typing import Any, BinaryIO

from calibrant._border.files import OpenFile
from calibrant._border.text import damaged
from calibrant._core.parquet import chunks_of, unpacked_size
from calibrant.io import limits
from calibrant.io.sniff import Kind

_LONGEST = 2**28
"""Longest text in a header."""

_DICTIONARY, _RECORDS = 2, 3
_CONTINUATION = b"\xff\xff\xff\xff"


def check_parquet(file: OpenFile, names: Collection[str]) -> None:
    """Refuse a file in which a size of one of these columns cannot be right or is beyond the limits."""
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
    """Whether compiled code recognises all sizes, which then are right; otherwise the faults have to be named."""

    def read(position: int, size: int) -> bytes:
        file.handle.seek(position)
        return file.handle.read(size)

    chunks = chunks_of(footer)
    if chunks is None:
        return False
    own = [chunk for chunk in chunks if chunk.name.decode("utf-8", "replace") in names]
    largest = max((chunk.values for chunk in own), default=0)
    sizes = [unpacked_size(chunk, read) for chunk in own] if 8 * largest <= limits.MAX_BYTES else [None]
    return all(size is not None and size <= limits.MAX_BYTES for size in sizes)


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
    raise damaged(file.name, Kind.PARQUET, "a page lies outside of the file")


def _structure(data: BinaryIO) -> dict[int, Any]:
    """Return a structure of Thrift as a dict from field numbers to values; IndexError where the bytes end too early."""
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
    _require(len(found) == length)
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
"""What reads a value of Thrift, by the number of its type."""


def check_arrow(file: str, kind: Kind, content: bytes) -> None:
    """Refuse content in which a length cannot be right or is beyond the limits."""
    find = _messages_of_file if kind is Kind.IPC_FILE else _messages_of_stream
    try:
        total = sum(_unpacked(content, *message) for message in find(content))
    except (struct.error, IndexError, OverflowError) as error:
        raise damaged(file, kind, "its metadata is broken") from error
    limits.check_bytes(file, total)


def _messages_of_file(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the header and the body of each message are, by the table at the end of the file."""
    _require(content.endswith(b"ARROW1"))
    footer = _follow(content, len(content) - 10 - _number(content, len(content) - 10, "i"))
    for field in (2, 3):
        for offset, length, _, _ in _vector(content, footer, field, "<qiiq"):
            yield offset + (8 if content[offset : offset + 4] == _CONTINUATION else 4), offset + length


def _messages_of_stream(content: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(content) and (length := _number(content, position + 4, "i")):
        _require(length > 0 and content[position : position + 4] == _CONTINUATION)
        start = position + 8
        yield start, start + length
        position = start + length + _field(content, _follow(content, start), 3, "q")


def _unpacked(content: bytes, header: int, body: int) -> int:
    """Return how many bytes a message unpacks to, after checking that all of its buffers lie inside the file."""
    message = _follow(content, header)
    available = len(content) - body
    _require(body >= 0 and 0 <= _field(content, message, 3, "q") <= available)
    kind = _field(content, message, 1, "B")
    if kind not in (_RECORDS, _DICTIONARY):
        return 0
    batch = _table(content, message, 2)
    if kind == _DICTIONARY:
        batch = _table(content, batch, 1)
    is_compressed = _field(content, batch, 3, "I") != 0
    total = 0
    for offset, length in _vector(content, batch, 2, "<qq"):
        _require(offset >= 0 and 0 <= length <= available - offset)
        plain = _number(content, body + offset, "q") if is_compressed and length else -1
        _require(plain >= -1)
        total += length if plain == -1 else plain
    # A value takes at least a bit, unless it is null by its type.
    most = _field(content, batch, 0, "q") + 8 * total
    _require(all(0 <= length <= most for length, _ in _vector(content, batch, 1, "<qq")))
    return total


def _require(holds: bool) -> None:
    if not holds:
        raise IndexError


def _number(content: bytes, position: int, code: str) -> int:
    """Return the little-endian number at a position inside the content."""
    _require(position >= 0)
    return int(struct.unpack_from("<" + code, content, position)[0])


def _follow(content: bytes, position: int) -> int:
    """Return where the offset at a position points to."""
    return position + _number(content, position, "I")


def _place(content: bytes, table: int, field: int) -> int:
    """Return where a field of a table is, 0 if it is left out."""
    fields = table - _number(content, table, "i")
    is_known = 4 + 2 * field < _number(content, fields, "H")
    offset = _number(content, fields + 4 + 2 * field, "H") if is_known else 0
    return table + offset if offset else 0


def _field(content: bytes, table: int, field: int, code: str) -> int:
    place = _place(content, table, field)
    return _number(content, place, code) if place else 0


def _table(content: bytes, table: int, field: int) -> int:
    place = _place(content, table, field)
    _require(place > 0)
    return _follow(content, place)


def _vector(content: bytes, table: int, field: int, code: str) -> Iterator[tuple[Any, ...]]:
    """Yield the structures in a vector, nothing if it is left out."""
    place = _place(content, table, field)
    if place:
        start = _follow(content, place)
        for i in range(_number(content, start, "I")):
            yield struct.unpack_from(code, content, start + 4 + i * struct.calcsize(code))
