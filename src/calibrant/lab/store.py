"""Store results of units of work in files, such that a run that was stopped can continue.

A file is written completely or not at all. Its name identifies everything that determines its content, and its
checksum is verified whenever it is read. `calibrant.lab.runner` computes the missing files.
"""

import contextlib
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import lock
from calibrant.exceptions import InputError
from calibrant.io import printable, write_atomically, write_text

State = Literal["done", "missing", "damaged"]


class Unit(Protocol):
    """A unit of work, whose result is one file."""

    @property
    def filename(self) -> str:
        """Name of the file, unique among units and settings."""


Work = TypeVar("Work", bound=Unit)


def filename(name: str, digest: str, suffix: str) -> str:
    """Return the name of a unit's file, given the checksum of everything that determines its content.

    Examples
    --------
    >>> filename("seed 0: fit ts", "0123456789abcdef0123", ".json")
    'seed_0_fit_ts-0123456789abcdef.json'
    """
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '_', name)}-{digest[:16]}{suffix}"


class Store:
    """The folder of a run.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = folder / "steps"

    def path(self, unit: Unit) -> Path:
        """Return the file of a unit."""
        return self.steps / unit.filename

    def state(self, unit: Unit) -> State:
        """Return whether the result of a unit exists and is unchanged since it was written."""
        if not self.path(unit).is_file() or not self._seal(unit).is_file():
            return "missing"
        return "damaged" if self.find(unit) is None else "done"

    def missing(self, units: Iterable[Work]) -> list[Work]:
        """Return the units whose files are missing or damaged."""
        return [unit for unit in units if self.find(unit) is None]

    def write(self, unit: Unit, content: bytes) -> None:
        """Write the result of a unit, then its checksum; a file without a checksum counts as missing."""
        self.steps.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self._seal(unit).unlink()
        with write_atomically(self.path(unit)) as file:
            file.write(content)
        # In the format of the command sha256sum, which can check it with the option -c.
        write_text(self._seal(unit), f"{hashlib.sha256(content).hexdigest()}  {unit.filename}\n")

    def read(self, unit: Unit) -> bytes:
        """Return the result of a unit."""
        content = self.find(unit)
        if content is None:
            raise InputError(f"{printable(self.path(unit))} is damaged. Run the experiment again to repair it.")
        return content

    def checkpoint(self, unit: Unit) -> Path:
        """Return the path of a unit's checkpoint, and create its folder."""
        folder = self.folder / "checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / unit.filename

    def drop_checkpoint(self, unit: Unit) -> None:
        """Remove the checkpoint of a completed unit."""
        with contextlib.suppress(FileNotFoundError):
            self.checkpoint(unit).unlink()

    def _seal(self, unit: Unit) -> Path:
        return self.steps / f"{unit.filename}.sha256"

    def find(self, unit: Unit) -> bytes | None:
        """Return the result of a unit, or None if it is missing or damaged."""
        try:
            content = self.path(unit).read_bytes()
            sealed = self._seal(unit).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return content if sealed.partition(" ")[0] == hashlib.sha256(content).hexdigest() else None


def pack(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return arrays as an NPZ archive; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of an NPZ archive."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return dict(archive)


def pack_json(record: object) -> bytes:
    """Return a record as JSON, from which numbers can be restored to the last bit."""
    return json.dumps(record, indent=1).encode()


@contextlib.contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Lock a folder, which is created if needed, against other runs while the body runs.

    The operating system releases the lock however the process ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+b") as handle:
        if not lock(handle):
            raise InputError(f"another process is running the {what} in {printable(folder)}. Wait until it ends.")
        yield


def is_running(folder: Path) -> bool:
    """Return whether a process is running in a folder."""
    with contextlib.suppress(OSError), (folder / "lock").open("rb") as handle:
        return not lock(handle)
    return False
