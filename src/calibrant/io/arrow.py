"""What an Arrow IPC file says of its own size, checked before memory is allocated for it.

polars ends the whole process if a damaged length makes it ask for more memory than can exist. The lengths, which are
FlatBuffers structures, are therefore read here first; what compressed buffers unpack to is limited on the way.
"""

import struct
from collections.abc import Iterator
from typing import Any

from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.sniff import Kind
from calibrant.io.text import damaged

_RECORDS, _DICTIONARY = 3, 2
_CONTINUATION = b"\xff\xff\xff\xff"


def check_arrow(file: str, kind: Kind, content: bytes) -> None:
    """Refuse content in which a length cannot be right or is beyond the limits."""
    find = _messages_of_file if kind is Kind.IPC_FILE else _messages_of_stream
    try:
        total = sum(_unpacked(content, *message) for message in find(content))
    except (struct.error, IndexError, OverflowError) as error:
        raise damaged(file, kind, "its description of itself is broken") from error
    if total > limits.MAX_BYTES:
        raise InputError(f"{file} would unpack to more than {limits.MAX_BYTES / 2**30:g} GiB. Split it.")


class _Flat:
    """A table of FlatBuffers: fields are found by number through offsets."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def number(self, field: int, code: str) -> int:
        """Return an integer field, 0 if it is left out."""
        place = self._place(field)
        return int(read(self.data, place, code)[0]) if place else 0

    def table(self, field: int) -> "_Flat":
        place = self._place(field)
        if not place:
            raise IndexError
        return _Flat(self.data, place + read(self.data, place, "I")[0])

    def vector(self, field: int, code: str) -> Iterator[tuple[Any, ...]]:
        """Yield the structures in a vector, nothing if it is left out."""
        place = self._place(field)
        if place:
            start = place + read(self.data, place, "I")[0]
            size = struct.calcsize("<" + code)
            for i in range(read(self.data, start, "I")[0]):
                yield read(self.data, start + 4 + i * size, code)

    def _place(self, field: int) -> int | None:
        table = self.position - read(self.data, self.position, "i")[0]
        if 4 + 2 * field >= read(self.data, table, "H")[0]:
            return None
        offset = read(self.data, table + 4 + 2 * field, "H")[0]
        return self.position + offset if offset else None


def read(data: bytes, position: int, code: str) -> tuple[Any, ...]:
    """Unpack little-endian numbers at a position inside the data."""
    if position < 0:
        raise IndexError
    return struct.unpack_from("<" + code, data, position)


def _root(data: bytes, position: int) -> _Flat:
    return _Flat(data, position + read(data, position, "I")[0])


def _messages_of_file(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the description and the body of each message are, by the table at the end of the file."""
    if not content.endswith(b"ARROW1"):
        raise IndexError
    footer = _root(content, len(content) - 10 - read(content, len(content) - 10, "i")[0])
    for blocks in (2, 3):
        for offset, length, _, _ in footer.vector(blocks, "qiiq"):
            yield offset + (8 if content[offset : offset + 4] == _CONTINUATION else 4), offset + length


def _messages_of_stream(content: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(content):
        length = read(content, position + 4, "i")[0]
        if length == 0:
            return
        if length < 0 or content[position : position + 4] != _CONTINUATION:
            raise IndexError
        start = position + 8
        yield start, start + length
        position = start + length + _root(content, start).number(3, "q")


def _unpacked(content: bytes, start: int, body: int) -> int:
    """Return how many bytes a message unpacks to, after checking that all of its buffers lie inside the file."""
    message = _root(content, start)
    available = len(content) - body
    if body < 0 or not 0 <= message.number(3, "q") <= available:
        raise IndexError
    if message.number(1, "B") not in (_RECORDS, _DICTIONARY):
        return 0
    batch = message.table(2) if message.number(1, "B") == _RECORDS else message.table(2).table(1)
    is_compressed = batch.number(3, "I") != 0
    total = 0
    for offset, length in batch.vector(2, "qq"):
        if offset < 0 or length < 0 or offset + length > available:
            raise IndexError
        plain = read(content, body + offset, "q")[0] if is_compressed and length else -1
        if plain < -1:
            raise IndexError
        total += length if plain == -1 else plain
    # A value takes at least a bit, unless it is null by its type.
    most = batch.number(0, "q") + 8 * total
    if not all(0 <= length <= most for length, _ in batch.vector(1, "qq")):
        raise IndexError
    return total
