"""The IDX format of MNIST and its successors: two zero bytes, a type, the number of axes, their lengths, the values."""

import gzip
import math
import os
import struct
import zlib
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import open_regular
from calibrant.exceptions import InputError

ByteArray: TypeAlias = NDArray[np.uint8]

UNSIGNED_BYTE = 0x08
"""The only type of values that is read: all files of the MNIST family have it."""

MAX_VALUES = 2**28
"""Largest number of values that is read."""


def read_idx(path: str | os.PathLike[str]) -> ByteArray:
    """Return the array in a gzip-compressed IDX file of unsigned bytes.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        If the content is not such an array, is cut off, or is damaged.
    OSError
        If the file cannot be read.
    """
    with open_regular(path) as file:
        try:
            with gzip.open(file.handle) as stream:
                return _array(stream)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{file.name} must be compressed with gzip, but is not, or is damaged or cut off: {error}. "
                "Install or copy it again."
            ) from error
        except InputError as error:
            raise InputError(f"{file.name} cannot be read as IDX: {error} Install or copy it again.") from error


def _array(stream: BinaryIO | gzip.GzipFile) -> ByteArray:
    shape = _shape(stream)
    size = math.prod(shape)
    # One byte more than is due, so that the end is reached and the checksum of gzip is compared.
    content = stream.read(size + 1)
    if len(content) != size:
        found = "more" if len(content) > size else str(len(content))
        raise InputError(f"its header announces {size} values, but there are {found}.")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _shape(stream: BinaryIO | gzip.GzipFile) -> tuple[int, ...]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0":
        raise InputError(f"it must begin with two zero bytes, a type and a number of axes, but begins with {magic!r}.")
    kind, n_axes = magic[2], magic[3]
    if kind != UNSIGNED_BYTE:
        raise InputError(f"its values must be unsigned bytes (type 0x08), but have the type 0x{kind:02X}.")
    if n_axes == 0:
        raise InputError("it must have at least one axis, but has none.")
    header = stream.read(4 * n_axes)
    if len(header) != 4 * n_axes:
        raise InputError(f"it ends inside the lengths of its {n_axes} axes.")
    shape = struct.unpack(f">{n_axes}I", header)
    if not 0 < math.prod(shape) <= MAX_VALUES:
        raise InputError(f"it must hold 1 to {MAX_VALUES} values, but announces the shape {shape}.")
    return shape
