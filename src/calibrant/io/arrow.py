"""Lengths that an Arrow IPC file declares, checked before polars allocates memory for them.

A damaged length of a buffer, or of what it unpacks to, makes polars 2.1 ask for more memory than can exist, which ends
the process: no exception can be caught. Only the headers of the messages are read here (tables of FlatBuffers).
"""

import struct
from collections.abc import Iterator
from typing import Any

from calibrant._border.text import damaged
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind

_DICTIONARY, _RECORDS = 2, 3
_CONTINUATION = b"\xff\xff\xff\xff"


def check_arrow(file: str, kind: Kind, content: bytes) -> None:
    """Refuse content in which a length cannot be right or is beyond the limits."""
    find = _messages_of_file if kind is Kind.IPC_FILE else _messages_of_stream
    try:
        total = sum(_unpacked(content, *message) for message in find(content))
    except (struct.error, IndexError, OverflowError) as error:
        raise damaged(file, kind, "its metadata is broken") from error
    if total > limits.MAX_BYTES:
        raise InputError(f"{file} would unpack to more than {limits.MAX_BYTES / 2**30:g} GiB. Split it.")


def _messages_of_file(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the header and the body of each message are, by the table at the end of the file."""
    _require(content.endswith(b"ARROW1"))
    footer = _follow(content, len(content) - 10 - _number(content, len(content) - 10, "i"))
    for field in (2, 3):
        for offset, length, _, _ in _vector(content, footer, field, "qiiq"):
            yield offset + (8 if content[offset : offset + 4] == _CONTINUATION else 4), offset + length


def _messages_of_stream(content: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(content):
        length = _number(content, position + 4, "i")
        if length == 0:
            return
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
    for offset, length in _vector(content, batch, 2, "qq"):
        _require(offset >= 0 and 0 <= length <= available - offset)
        plain = _number(content, body + offset, "q") if is_compressed and length else -1
        _require(plain >= -1)
        total += length if plain == -1 else plain
    # A value takes at least a bit, unless it is null by its type.
    most = _field(content, batch, 0, "q") + 8 * total
    _require(all(0 <= length <= most for length, _ in _vector(content, batch, 1, "qq")))
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
            position = start + 4 + i * struct.calcsize("<" + code)
            yield struct.unpack_from("<" + code, content, position)
