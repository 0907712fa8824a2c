"""Files of arrays as sources of predictions: NPZ archives, structured and plain NPY files."""

import errno
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io import limits
from calibrant.io.arrays import checked, read_array
from calibrant.io.columns import Columns, Request, choose_columns, choose_keys, find_column
from calibrant.io.sniff import Kind, OpenFile, open_regular, recognise
from calibrant.io.tables import Arrays
from calibrant.io.text import brief, damaged, listing, quoted, repeated
from calibrant.io.values import as_labels


class ArrayFile(ABC):
    """A file of named arrays."""

    file: OpenFile
    names: tuple[str, ...]

    @abstractmethod
    def get(self, name: str) -> NDArray[Any]:
        """Read one array."""

    @abstractmethod
    def choose(self, request: Request) -> Columns:
        """Choose the arrays to read."""

    def place(self, row: int) -> str:
        """Say where in the file a row is."""
        return f"row {row}"

    def read(self, columns: Columns) -> Arrays:
        """Read the chosen arrays."""
        labels = as_labels(self.file.name, self.get(columns.label), columns)
        weights = None if columns.weight is None else self.get(columns.weight)
        probs = self._side_by_side(columns.probs)
        self.file.check_unchanged()
        return Arrays(probs, labels, weights)

    def scores(self, columns: Columns) -> NDArray[Any]:
        """Read the probabilities alone."""
        probs = self._side_by_side(columns.probs)
        self.file.check_unchanged()
        return probs

    def column(self, name: str) -> NDArray[Any]:
        """Read one array, which must have one entry a row."""
        values = self.get(find_column(self.file.name, self.names, name))
        if values.ndim != 1:
            raise InputError(
                f"{self.file.name}: {quoted(name)} must have one entry a row, but has shape {values.shape}."
            )
        return values

    def _side_by_side(self, names: Sequence[str]) -> NDArray[Any]:
        arrays = [self.get(name) for name in names]
        if len(arrays) == 1:
            return arrays[0]
        wide = next((name for name, array in zip(names, arrays, strict=True) if array.ndim != 1), None)
        if wide is not None:
            raise InputError(
                f"{self.file.name}: {quoted(wide)} holds a whole row of probabilities in each entry, so it must be the "
                "only one. Name it alone with probs=."
            )
        return np.column_stack(arrays)


class Archive(ArrayFile):
    """An NPZ file."""

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        with self._undamaged():
            self._zip = zipfile.ZipFile(file.handle)
        members = self._zip.infolist()
        _check_members(file, members)
        self._members = {m.filename.removesuffix(".npy"): m for m in members if m.filename.endswith(".npy")}
        self.names = tuple(self._members)
        if not self.names:
            raise InputError(f"{file.name} is a zip archive without NumPy arrays in it.{_guess(members)}")

    def choose(self, request: Request) -> Columns:
        """Choose the arrays to read."""
        return choose_keys(self.file.name, self.names, request)

    def get(self, name: str) -> NDArray[Any]:
        """Read one array."""
        member = self._members[name]
        where = f"{self.file.name}, array {quoted(name)}"
        with self._undamaged(), self._zip.open(member) as handle:
            values = read_array(where, handle, member.file_size)
            handle.read(1)  # At the end of the member its checksum is compared.
            return values

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        foreign = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
        try:
            yield
        except InputError:
            raise
        except foreign as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            raise damaged(self.file.name, Kind.NPZ, brief(error)) from error


def _check_members(file: OpenFile, members: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse an archive that is built to harm before anything in it is unpacked."""
    twice = repeated([member.filename for member in members])
    if twice is not None:
        raise InputError(f"{file.name} holds the member {quoted(twice)} twice. Write it again with numpy.savez.")
    for member in members:
        problem = _problem(member)
        if problem:
            raise InputError(f"{file.name} holds the member {quoted(member.filename)}, which {problem}.")
    total = sum(member.file_size for member in members)
    if total > limits.MAX_BYTES:
        raise InputError(
            f"{file.name} would unpack to {total:,} bytes, more than {limits.MAX_BYTES / 2**30:g} GiB. "
            "Split it, or keep a sample of the rows."
        )


def _problem(member: zipfile.ZipInfo) -> str | None:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    packed_too_well = member.file_size > limits.MAX_RATIO * max(member.compress_size, 1)
    problems = {
        "points outside the archive": path.is_absolute() or ".." in path.parts,
        "is a symbolic link": stat.S_ISLNK(member.external_attr >> 16),
        "is encrypted": bool(member.flag_bits & 1),
        "is compressed in a way that NumPy does not use": member.compress_type
        not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
        f"unpacks to more than {limits.MAX_RATIO} times its size, as a zip bomb does": packed_too_well
        and member.file_size > limits.RATIO_FREE_BYTES,
    }
    return next((problem for problem, found in problems.items() if found), None)


def _guess(members: Sequence[zipfile.ZipInfo]) -> str:
    names = [member.filename for member in members]
    if "[Content_Types].xml" in names:
        return " It looks like an Excel workbook: save the sheet as CSV."
    if any(name.endswith("data.pkl") for name in names):
        return " It looks like a PyTorch file: save the tensors with numpy.savez."
    return " Write it with numpy.savez."


class Structured(ArrayFile):
    """An NPY file with named fields."""

    def __init__(self, file: OpenFile, values: NDArray[Any]) -> None:
        self.file = file
        self.values = values.ravel()
        self.names = tuple(values.dtype.names or ())

    def choose(self, request: Request) -> Columns:
        """Choose the fields to read."""
        nested = {name for name in self.names if self.values.dtype[name].shape}
        return choose_columns(self.file.name, self.names, nested, request)

    def get(self, name: str) -> NDArray[Any]:
        """Return one field."""
        where = f"{self.file.name}, field {quoted(name)}"
        return checked(where, np.ascontiguousarray(self.values[name]))


class Plain(ArrayFile):
    """An NPY file with one array of probabilities; the labels are in a file of their own."""

    names = ()

    def __init__(self, file: OpenFile, values: NDArray[Any]) -> None:
        self.file = file
        self.values = values

    def choose(self, request: Request) -> Columns:
        """Take the labels, and the weights if there are any, from the files named in their place."""
        if request.label is None or not request.label.endswith(".npy"):
            raise InputError(
                f"{self.file.name} holds one array without names, so the labels must be in a file of their own: "
                "pass label='labels.npy', or save both with numpy.savez(file, probs=..., labels=...)."
            )
        if request.probs is not None:
            raise InputError(f"{self.file.name} holds one array without names: leave out probs=.")
        return Columns(request.label, (), request.weight, request.classes)

    def get(self, name: str) -> NDArray[Any]:
        """Read the array in another file."""
        if not name.endswith(".npy"):
            raise InputError(f"{self.file.name} has no names in it: {quoted(name)} must be the path of an .npy file.")
        with open_regular(name) as file:
            if recognise(file) is not Kind.NPY:
                raise InputError(f"{file.name} must be an NPY file.")
            values = read_array(file.name, file.handle, file.size)
        if values.dtype.names:
            raise InputError(f"{file.name} must hold one array, but has the fields {listing(values.dtype.names)}.")
        return values

    def _side_by_side(self, names: Sequence[str]) -> NDArray[Any]:  # noqa: ARG002 (there is only one)
        return self.values


def open_npy(file: OpenFile) -> ArrayFile:
    """Return an NPY file as a source."""
    values = read_array(file.name, file.handle, file.size)
    return Structured(file, values) if values.dtype.names else Plain(file, values)
