"""Limits beyond which a file is refused, and the sizes that files declare, which are checked before polars reads them.

An impossible length, such as a negative number of values in a page of a Parquet file, makes polars 2.1 request more
memory than there is, which ends the process without an exception, however the file is read: 2 to 4 in 1,000 changes of
a single byte in Arrow files of 1 kB did. Trying each file in another process first would import polars and read the
file twice. So headers are read here: those of Parquet by compiled code, without which they are not checked, and those
of Arrow messages, which are FlatBuffers tables, in Python.
"""

import os
import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

from calibrant._border.files import OpenFile
from calibrant._border.numerals import as_given, count, counted
from calibrant._border.text import damaged
from calibrant._core.library import library
from calibrant._core.parquet import chunks_of, unpacked_sizes
from calibrant.exceptions import InputError
from calibrant.io.sniff import Kind

MAX_BYTES = 8 * 2**30
"""Maximum size in memory of the arrays of one file."""

MAX_RATIO = 1000
"""Maximum ratio of unpacked to compressed bytes in an archive."""

RATIO_FREE_BYTES = 10**6
"""Members of an archive up to this unpacked size may have any ratio."""

MAX_LINE_BYTES = 64 * 2**20
"""Longest row of a text file, so that a file without line ends is not read into memory as a whole."""

MAX_TEXT_BYTES = 2**16
"""Longest text in a column of labels or groups; names are shorter."""

BLOCK_BYTES = 8 * 2**20
"""Size of the blocks in which text is parsed, so that memory does not depend on the size of the file."""

BATCH_ROWS, BATCH_CELLS = 2**18, 4_000_000
"""Most rows, and most cells, of a table that are passed on at a time."""

MARK = b"ARROW1"
"""First and last bytes of a file; a stream has none."""

_CONTINUATION = b"\xff\xff\xff\xff"
_DICTIONARY, _RECORDS = 2, 3


def check_bytes(
    file: str, n_bytes: int, does: str = "would unpack to", remedy: str = "Split it", what: str = ""
) -> None:
    """Refuse content that would not fit into memory, before it is read."""
    if n_bytes > MAX_BYTES:
        size = f"{as_given(MAX_BYTES / 2**30)} GiB{what}"
        raise InputError(f"{file} {does} more than {size}. {remedy}, or keep a sample of the rows.")


def check_size(file: str, rows: int, width: int) -> None:
    """Refuse a matrix that would not fit, before it is allocated."""
    check_bytes(file, rows * width * 8, "holds", what=f" of numbers ({counted(rows)}, {count(width)} columns)")


def check_parquet(file: OpenFile, names: Collection[str]) -> None:
    """Refuse a file if a size that it declares for one of these columns is impossible or too large."""

    def read(position: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(file.handle.fileno(), size, position)
        file.handle.seek(position)
        return file.handle.read(size)

    end = read(max(file.size - 8, 0), 8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length + 12 > file.size:
        raise damaged(file.name, Kind.PARQUET, "its end is missing")
    if library() is None:
        return
    chunks = chunks_of(read(file.size - 8 - length, length))
    if chunks is None:
        raise damaged(file.name, Kind.PARQUET, "its metadata is broken")
    own = [chunk for chunk in chunks if chunk.name.decode("utf-8", "replace") in names]
    check_size(file.name, max((chunk.values for chunk in own), default=0), 1)
    sizes = unpacked_sizes(own, read)
    if sizes is None:
        raise damaged(file.name, Kind.PARQUET, "the size of a page is impossible, or its place")
    check_bytes(file.name, max(sizes, default=0))


def check_arrow(file: str, content: bytes) -> None:
    """Refuse content in which a length is impossible or too large."""
    find = _messages_of_file if content.startswith(MARK) else _messages_of_stream
    try:
        total = sum(_unpacked(_Table(content, header), body) for header, body in find(content))
    except (struct.error, IndexError, OverflowError) as error:
        raise damaged(file, Kind.IPC, "its metadata is broken") from error
    check_bytes(file, total)


def _messages_of_file(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the positions of header and body of each message, from the footer of the file."""
    end = len(content) - len(MARK) - 4
    _require(content.endswith(MARK) and end > 0)
    footer = _Table(content, end - struct.unpack_from("<i", content, end)[0]).follow()
    for field in (2, 3):
        for offset, length, _, _ in footer.structures(field, "<qiiq"):
            _require(offset >= 0)
            header = offset + (8 if content[offset : offset + 4] == _CONTINUATION else 4)
            yield _Table(content, header).follow().start, offset + length


def _messages_of_stream(content: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(content) and (length := struct.unpack_from("<i", content, position + 4)[0]):
        _require(length > 0 and content[position : position + 4] == _CONTINUATION)
        message, body = _Table(content, position + 8).follow(), position + 8 + length
        yield message.start, body
        position = body + message.number(3, "q")


def _unpacked(message: "_Table", body: int) -> int:
    """Return the unpacked size of a message, whose buffers must all lie inside the file."""
    available = len(message.data) - body
    _require(body >= 0 and 0 <= message.number(3, "q") <= available)
    kind = message.number(1, "B")
    if kind not in (_RECORDS, _DICTIONARY):
        return 0
    batch = message.table(2).table(1) if kind == _DICTIONARY else message.table(2)
    is_compressed = batch.place(3) > 0
    total = 0
    for offset, length in batch.structures(2, "<qq"):
        _require(offset >= 0 and 0 <= length <= available - offset)
        plain = struct.unpack_from("<q", message.data, body + offset)[0] if is_compressed and length else -1
        _require(plain >= -1)
        total += length if plain == -1 else plain
    # Every value takes at least one bit, unless its type is null.
    most = batch.number(0, "q") + 8 * total
    _require(all(0 <= length <= most for length, _ in batch.structures(1, "<qq")))
    return total


def _require(holds: bool) -> None:
    if not holds:
        raise IndexError


class _Table(NamedTuple):
    """A FlatBuffers table: a list of offsets tells where its fields are."""

    data: bytes
    start: int

    def follow(self) -> "_Table":
        """Return the table that the offset here points to."""
        _require(self.start >= 0)
        return _Table(self.data, self.start + struct.unpack_from("<I", self.data, self.start)[0])

    def place(self, field: int) -> int:
        """Return the position of a field, 0 if it is absent."""
        places = self.start - struct.unpack_from("<i", self.data, self.start)[0]
        _require(places >= 0)
        is_known = 4 + 2 * field < struct.unpack_from("<H", self.data, places)[0]
        offset: int = struct.unpack_from("<H", self.data, places + 4 + 2 * field)[0] if is_known else 0
        return self.start + offset if offset else 0

    def number(self, field: int, code: str) -> int:
        """Return a number, 0 if it is absent."""
        place = self.place(field)
        return int(struct.unpack_from("<" + code, self.data, place)[0]) if place else 0

    def table(self, field: int) -> "_Table":
        """Return the table in a field."""
        place = self.place(field)
        _require(place > 0)
        return _Table(self.data, place).follow()

    def structures(self, field: int, code: str) -> Iterator[tuple[int, ...]]:
        """Yield the structures in a list, none if it is absent."""
        if self.place(field):
            start = self.table(field).start
            for i in range(struct.unpack_from("<I", self.data, start)[0]):
                yield struct.unpack_from(code, self.data, start + 4 + i * struct.calcsize(code))
