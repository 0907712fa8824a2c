"""NPZ archives and NPY files, read by NumPy; malicious archives are refused first, and no pickle is ever loaded."""

import stat
import tokenize
import warnings
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import IO, Any, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from calibrant._border.files import OpenFile, open_regular
from calibrant._border.text import CELL_LIMIT, brief, listing, printable, quoted, repeated
from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.columns import choose_arrays
from calibrant.io.forecast_columns import choose_forecasts
from calibrant.io.header import ARGUMENTS, Columns
from calibrant.io.request import ForecastRequest, Request, weights_of
from calibrant.io.sniff import Kind, recognise
from calibrant.io.sources import Content, Numbers, Source

_BROKEN = (ValueError, TypeError, SyntaxError, OverflowError, MemoryError, RecursionError, tokenize.TokenError)

_FOREIGN = {
    "[Content_Types].xml": "It looks like an Excel workbook: save the sheet as CSV.",
    "data.pkl": "It looks like a PyTorch file: save the tensors with numpy.savez.",
}
"""What else is a zip archive, by the end of the name of a member."""


def read_array(where: str, handle: IO[bytes]) -> NDArray[np.void]:
    """Read one array, which must be the whole content."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # About headers written by Python 2.
            values: NDArray[np.void] = npy.read_array(handle, allow_pickle=False, max_header_size=65536)
    except _BROKEN as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{where} holds pickled Python objects, which are never loaded because they can run code. "
                "Save it as an array of numbers or text."
            ) from error
        raise InputError(f"{where} has NPY data that cannot be understood ({brief(error)}). Write it again.") from error
    if handle.read(1):  # In an archive, reading to the end also compares the checksum.
        raise InputError(
            f"{where}: there are more bytes than an array of shape {values.shape} has. The file is damaged; write it "
            "again."
        )
    dtype = values.dtype
    fields = [dtype[name].base for name in dtype.names] if dtype.names else [dtype]
    if not all(field.kind in "fiubUS" and field.itemsize for field in fields):
        raise InputError(
            f"{where} must hold numbers, booleans or text, but its type is {printable(dtype.str, CELL_LIMIT)}."
        )
    return _checked(where, values)


def _checked(where: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return values that every later step can handle, whatever the bytes are."""
    if values.dtype.kind == "b":
        return values.view(np.uint8) != 0
    if values.dtype.kind == "S":
        try:
            return np.char.decode(values, "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{where} holds bytes that are not UTF-8 text. Save it as text.") from error
    if values.dtype.kind == "U":
        letters = np.ascontiguousarray(values).view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        if letters.size and letters.max() > 0x10FFFF:
            raise InputError(f"{where} holds text that is damaged. Write it again.")
    return values


class Arrays(Source):
    """A file of named arrays."""

    @abstractmethod
    def get(self, name: str) -> NDArray[np.generic]:
        """Read one array."""

    def read(self, numbers: Mapping[str, Sequence[str]], label: str = "") -> Content:
        """Read the chosen arrays."""
        arrays = {argument: self._joined(argument, names) for argument, names in numbers.items()}
        content = Content(cast("Numbers", arrays), self.get(label) if label else None)
        self.file.check_unchanged()
        return content

    def column(self, name: str) -> NDArray[np.generic]:
        """Read one array, which must have one entry per row."""
        values = self.get(self.header.find(name))
        if values.ndim != 1:
            raise InputError(
                f"{self.file.name}: {quoted(name)} must have one entry per row, but has shape {values.shape}."
            )
        return values

    def _joined(self, argument: str, names: Sequence[str]) -> NDArray[np.generic]:
        arrays = [self.get(name) for name in names]
        if len(arrays) == 1:
            return arrays[0]
        for name, values in zip(names, arrays, strict=True):
            if values.ndim != 1 or len(values) != len(arrays[0]):
                raise InputError(
                    f"{self.file.name}: {quoted(name)} must have one entry per row, as {quoted(names[0])}, but has "
                    f"shape {values.shape}. An array of whole rows must be the only one: name it alone with "
                    f"{ARGUMENTS.get(argument, argument)}=."
                )
        return np.column_stack(arrays)


class Archive(Arrays):
    """An NPZ file."""

    kind = Kind.NPZ
    foreign = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        with self.undamaged():
            self.zip = zipfile.ZipFile(file.handle)
        members = self.zip.infolist()
        _check_members(file, members)
        self._members = {m.filename.removesuffix(".npy"): m for m in members if m.filename.endswith(".npy")}
        self.names = tuple(self._members)
        if not self.names:
            ends = [end for end in _FOREIGN if any(name.endswith(end) for name in self.zip.namelist())]
            hint = _FOREIGN[ends[0]] if ends else "Write it with numpy.savez."
            raise InputError(f"{file.name} is a zip archive without NumPy arrays in it. {hint}")
        self.nested = frozenset(filter(self._is_matrix, self.names))

    def choose(self, request: Request | ForecastRequest) -> Columns:
        """Choose the arrays that are requested, or that have usual names."""
        if isinstance(request, Request):
            return choose_arrays(self.header, request)
        # Any array may hold whole rows; those that do not are refused for their shape.
        return choose_forecasts(self.header._replace(nested=self.names), request)

    def get(self, name: str) -> NDArray[np.generic]:
        """Read one array."""
        with self.undamaged(), self.zip.open(self._members[name]) as handle:
            return read_array(f"{self.file.name}, array {quoted(name)}", handle)

    def _is_matrix(self, name: str) -> bool:
        """Whether the header of an array says so; if it cannot be read, the array will be refused when it is."""
        with suppress(Exception), self.zip.open(self._members[name]) as handle:
            return npy.read_magic(handle) == (1, 0) and len(npy.read_array_header_1_0(handle)[0]) > 1
        return False


def _check_members(file: OpenFile, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse a malicious archive before anything in it is unpacked."""
    twice = repeated([member.filename for member in members])
    if twice is not None:
        raise InputError(f"{file.name} holds the member {quoted(twice)} twice. Write it again with numpy.savez.")
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        most = max(limits.RATIO_FREE_BYTES, limits.MAX_RATIO * max(member.compress_size, 1))
        problems = {
            "points outside the archive": path.is_absolute() or ".." in path.parts,
            "is a symbolic link": stat.S_ISLNK(member.external_attr >> 16),
            "is encrypted": bool(member.flag_bits & 1),
            "is compressed in a way that NumPy does not use": member.compress_type
            not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
            f"unpacks to more than {limits.MAX_RATIO} times its size, as a zip bomb does": member.file_size > most,
        }
        problem = next((problem for problem, found in problems.items() if found), None)
        if problem is not None:
            raise InputError(f"{file.name} holds the member {quoted(member.filename)}, which {problem}.")
    limits.check_bytes(file.name, sum(member.file_size for member in members))


class Structured(Arrays):
    """An NPY file with named fields."""

    def __init__(self, file: OpenFile, values: NDArray[np.void]) -> None:
        self.file, self.values = file, values.ravel()
        self.names = tuple(values.dtype.names or ())
        self.nested = frozenset(name for name in self.names if values.dtype[name].shape)

    def get(self, name: str) -> NDArray[np.generic]:
        """Return one field."""
        return _checked(f"{self.file.name}, field {quoted(name)}", np.ascontiguousarray(self.values[name]))


class SingleArray(Arrays):
    """An NPY file with one array; labels, targets and weights are in separate files, whose paths are given."""

    names = ()

    def __init__(self, file: OpenFile, values: NDArray[np.generic]) -> None:
        self.file = file
        self.values = values
        self.nested = _OWN if values.ndim > 1 else frozenset()

    def choose(self, request: Request | ForecastRequest) -> Columns:
        """Take the array as probabilities or as draws."""
        if isinstance(request, Request):
            label = self._file_of("labels", "label", "probs", request.label) if request.needs_label else ""
            if request.probs is not None:
                raise InputError(f"{self.file.name} holds one array without names: leave out probs=.")
            return Columns({"probs": ("probs",), **weights_of(request)}, label, request.classes)
        if any(given is not None for given in (request.mean, request.sd, request.draws, request.quantiles)):
            raise InputError(
                f"{self.file.name} holds one array without names, which is read as draws: leave out mean=, sd=, draws= "
                "and quantiles=."
            )
        target = self._file_of("targets", "target", "draws", request.target)
        return Columns({"targets": (target,), "draws": ("draws",), **weights_of(request)})

    def _file_of(self, what: str, argument: str, array: str, name: str | None) -> str:
        if name is None or not name.endswith(".npy"):
            raise InputError(
                f"{self.file.name} holds one array without names, so the {what} must be in a separate file: pass "
                f"{argument}='{what}.npy', or save both with numpy.savez(file, {array}=..., {what}=...)."
            )
        return name

    def get(self, name: str) -> NDArray[np.generic]:
        """Return the array, or read the one in another file."""
        if name in _OWN:
            return self.values
        if not name.endswith(".npy"):
            raise InputError(f"{self.file.name} has no names in it: {quoted(name)} must be the path of an .npy file.")
        with open_regular(name) as file:
            if recognise(file) is not Kind.NPY:
                raise InputError(f"{file.name} must be an NPY file.")
            source = open_npy(file)
        if isinstance(source, SingleArray):
            return source.values
        raise InputError(f"{file.name} must hold one array, but has the fields {listing(source.names)}.")


_OWN = frozenset({"probs", "draws"})
"""What an array without a name is called."""


def open_npy(file: OpenFile) -> Arrays:
    """Return an NPY file as a source."""
    limits.check_bytes(file.name, file.size, "holds")
    values = read_array(file.name, file.handle)
    return Structured(file, values) if values.dtype.names else SingleArray(file, values)
