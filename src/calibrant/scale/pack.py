"""The bytes of a sketch: one form for one content, with a version and a checksum, and no code in them.

All numbers are little-endian. After the magic word and the version come the length of a head and the head, JSON with
sorted keys: classes, digits, counters, sums and the number of occupied cells of every line. Then the cells of each line
in turn: their numbers as 32 bits, and their columns as 64 bits, one after the other; there are more columns if rows
have weights, that is, unless "units" in the head is null. Sums of waves are behind them, if there are any. At the end
is the SHA-256 of all that is before it.

Version 1 knew no weights; its files are read like those of version 2 without. Version 3 is written where rows with
weights have waves, in two parts each ("pairs" in the head of waves); all else is written as version 2.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import IntArray
from calibrant.binning.cells.line import COLUMNS
from calibrant.binning.cells.weights import COLUMNS as MASSES
from calibrant.exceptions import InputError

MAGIC, VERSION = b"calibrant sketch", 3
CHECK = 32
"""Bytes of the checksum."""


def sealed(magic: bytes, version: int, head: str, parts: Iterable[bytes]) -> bytes:
    """Return a head and what follows it, behind a magic word and before a checksum."""
    text = head.encode()
    start = [magic, version.to_bytes(2, "little"), len(text).to_bytes(4, "little"), text]
    body = b"".join([*start, *parts])
    return body + hashlib.sha256(body).digest()


def opened(data: bytes, magic: bytes, latest: int, what: str) -> tuple[dict[str, Any], int]:
    """Return the head of what was sealed, and where the parts begin; refuse what is damaged or of another kind."""
    if data[: len(magic)] != magic:
        raise InputError(f"this is not a {what}: it does not begin like one. Make one with `calibrant sketch`.")
    start = len(magic) + 6
    if len(data) < start + CHECK or hashlib.sha256(data[:-CHECK]).digest() != data[-CHECK:]:
        raise InputError(f"this {what} is damaged: its checksum is wrong. Copy or make it again.")
    version = int.from_bytes(data[start - 6 : start - 4], "little")
    if not 1 <= version <= latest:
        raise InputError(
            f"this {what} has version {version}, but this version of calibrant reads 1 to {latest}. Update calibrant."
        )
    end = start + int.from_bytes(data[start - 4 : start], "little")
    return json.loads(data[start:end]), end


class Packed(NamedTuple):
    """The content of the bytes: the head, the occupied cells of each line with their columns, and the sums of waves."""

    head: dict[str, Any]
    lines: list[tuple[NDArray[np.intp], IntArray]]
    waves: IntArray | None = None


def pack(content: Packed) -> bytes:
    """Return the bytes of a sketch."""
    head = content.head | {"cells": [len(cells) for cells, _ in content.lines]}
    parts = []
    for cells, columns in content.lines:
        parts += [cells.astype("<u4").tobytes(), columns.T.astype("<i8").tobytes()]
    if content.waves is not None:
        parts.append(content.waves.astype("<i8").tobytes())
    version = VERSION if "pairs" in (head["waves"] or {}) else 2
    return sealed(MAGIC, version, json.dumps(head, sort_keys=True, separators=(",", ":")), parts)


def unpack(data: bytes) -> Packed:
    """Return what the bytes of a sketch hold."""
    found, end = opened(data, MAGIC, VERSION, "sketch")
    head = {"units": None, "waves": None} | found
    lines = []
    n_columns = COLUMNS + (0 if head["units"] is None else MASSES)
    for count in head.pop("cells"):
        cells = np.frombuffer(data, "<u4", count, end).astype(np.intp)
        columns = np.frombuffer(data, "<i8", count * n_columns, end + 4 * count).reshape(n_columns, count)
        lines.append((cells, columns.T.astype(np.int64)))
        end += count * (4 + 8 * n_columns)
    if (waves := head["waves"]) is None:
        return Packed(head, lines)
    return Packed(head, lines, np.frombuffer(data, "<i8", math.prod(waves["shape"]), end).reshape(waves["shape"]))
