"""NPY and NPZ files, of which no byte is trusted and no pickle loaded."""

import ast
import math
import re
import struct
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.text import CELL_LIMIT, brief, printable

_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 65536
_TYPE = re.compile(r"[<>|=]?(f(2|4|8|16)|[iu][1248]|b1|[US][1-9][0-9]{0,8})")


@dataclass(frozen=True)
class Header:
    """What an NPY file says about itself."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @property
    def n_bytes(self) -> int:
        """Size of the data that must follow."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_array(where: str, handle: IO[bytes], size: int) -> NDArray[Any]:
    """Read one array.

    Parameters
    ----------
    where : str
        Names the file, and the member of an archive, in messages.
    handle : file object
        At the beginning of the NPY data.
    size : int
        How many bytes there are; the header must agree with it before anything is allocated.
    """
    header, used = _read_header(where, handle)
    if header.n_bytes != size - used:
        raise InputError(
            f"{where}: the header promises {header.n_bytes:,} bytes of data, shape {header.shape}, but there are "
            f"{size - used:,}. The file is damaged or incomplete; write it again."
        )
    if header.n_bytes > limits.MAX_BYTES:
        raise InputError(f"{where} holds more than {limits.MAX_BYTES / 2**30:g} GiB. Split it, or keep a sample.")
    values = np.frombuffer(_read_exactly(where, handle, header.n_bytes), dtype=header.dtype)
    return checked(where, values).reshape(header.shape, order="F" if header.fortran else "C")


def _read_exactly(where: str, handle: IO[bytes], size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    done = 0
    while done < size:
        piece = handle.read(min(limits.BLOCK_BYTES, size - done))
        if not piece:
            raise InputError(f"{where} is cut off after {done:,} of {size:,} bytes. Write it again.")
        view[done : done + len(piece)] = piece
        done += len(piece)
    return data


def _read_header(where: str, handle: IO[bytes]) -> tuple[Header, int]:
    start = handle.read(8)
    width = {1: 2, 2: 4, 3: 4}.get(start[6]) if len(start) == 8 and start.startswith(_MAGIC) else None
    if width is None:
        raise InputError(f"{where} is not in the NPY format, or in a version of it that is not known.")
    raw = handle.read(width)
    length = struct.unpack("<H" if width == 2 else "<I", raw)[0] if len(raw) == width else 0
    if not 0 < length <= _MAX_HEADER:
        raise InputError(f"{where} has an NPY header of {length:,} bytes, which cannot be right. Write it again.")
    text = _read_exactly(where, handle, length).decode("utf-8" if start[6] == 3 else "latin-1", "replace")
    return _parse_header(where, text), 8 + width + length


def _parse_header(where: str, text: str) -> Header:
    try:
        fields = ast.literal_eval(text.strip())
        shape = tuple(fields["shape"])
        fortran = bool(fields["fortran_order"])
        descr = fields["descr"]
    except (ValueError, TypeError, KeyError, IndexError, SyntaxError, MemoryError, RecursionError) as error:
        raise InputError(f"{where} has an NPY header that cannot be understood ({brief(error)}).") from error
    sound = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**62 for n in shape)
    if not sound or len(shape) > 8:
        raise InputError(f"{where} has an NPY header with the impossible shape {printable(str(shape), CELL_LIMIT)}.")
    return Header(_dtype(where, descr), shape, fortran)


def _dtype(where: str, descr: Any) -> np.dtype[Any]:
    """Return a type of numbers, booleans or text, or a structure of them; everything else is refused."""
    if isinstance(descr, str):
        _check_type(where, descr)
        return np.dtype(descr)
    try:
        for field in descr:
            _check_type(where, field[1])
        return np.dtype([tuple(field) for field in descr])
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where} has a data type that cannot be understood ({brief(error)}).") from error


def _check_type(where: str, descr: Any) -> None:
    if "O" in str(descr):
        raise InputError(
            f"{where} holds pickled Python objects, which are never loaded because they can run code. "
            "Save it with a type of numbers or text."
        )
    if not isinstance(descr, str) or not _TYPE.fullmatch(descr):
        raise InputError(
            f"{where} must hold numbers, booleans or text, but its type is {printable(str(descr), CELL_LIMIT)}."
        )


def checked(where: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return values that every later step can digest, whatever the bytes were."""
    if values.dtype.kind == "b":
        return values.view(np.uint8) != 0
    if values.dtype.kind == "S":
        try:
            return np.char.decode(values, "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{where} holds bytes that are not UTF-8 text. Save it as text.") from error
    if values.dtype.kind == "U":
        letters = values.view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        if letters.size and letters.max() > 0x10FFFF:
            raise InputError(f"{where} holds text that is damaged. Write it again.")
    return values
