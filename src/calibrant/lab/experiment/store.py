"""Files of steps: written completely or not at all, sealed with a checksum that is verified whenever one is read."""

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import lock
from calibrant.exceptions import InputError
from calibrant.io import printable, write_atomically, write_text
from calibrant.lab.experiment.steps import Step

State = Literal["done", "missing", "damaged"]


class Store:
    """The folder of an experiment.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = folder / "steps"

    def path(self, step: Step) -> Path:
        """Return the file of a step."""
        return self.steps / step.filename

    def state(self, step: Step) -> State:
        """Return whether the result of a step exists, unchanged since it was written."""
        if not self.path(step).is_file() or not self._seal(step).is_file():
            return "missing"
        return "damaged" if self._content(step) is None else "done"

    def write(self, step: Step, content: bytes) -> None:
        """Write the result of a step, then its seal: without one the file does not count."""
        self.steps.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self._seal(step).unlink()
        with write_atomically(self.path(step)) as file:
            file.write(content)
        # As the command sha256sum writes it and checks it with the option -c.
        write_text(self._seal(step), f"{hashlib.sha256(content).hexdigest()}  {step.filename}\n")

    def read(self, step: Step) -> bytes:
        """Return the result of a step."""
        content = self._content(step)
        if content is None:
            raise InputError(f"{printable(self.path(step))} is damaged. Run the experiment again to repair it.")
        return content

    def checkpoint(self, step: Step) -> Path:
        """Return the file that training may continue from; its folder exists."""
        folder = self.folder / "checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / step.filename

    def drop_checkpoint(self, step: Step) -> None:
        """Remove what is of no use once the step is done."""
        with contextlib.suppress(FileNotFoundError):
            self.checkpoint(step).unlink()

    def _seal(self, step: Step) -> Path:
        return self.steps / f"{step.filename}.sha256"

    def _content(self, step: Step) -> bytes | None:
        try:
            content = self.path(step).read_bytes()
            sealed = self._seal(step).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return content if sealed.partition(" ")[0] == hashlib.sha256(content).hexdigest() else None


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return arrays as an NPZ archive; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an NPZ archive."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return dict(archive)


def pack_json(record: object) -> bytes:
    """Return a record as JSON; numbers come back to the last bit."""
    return json.dumps(record, indent=1).encode()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder while the body runs.

    The lock belongs to the process: the system releases it however the process ends, so none is left behind.
    """
    with (folder / "lock").open("a+b") as handle:
        if not lock(handle):
            raise InputError(f"another process is running the experiment in {printable(folder)}. Wait until it ends.")
        yield


def is_running(folder: Path) -> bool:
    """Return whether a process is running in a folder."""
    with contextlib.suppress(OSError), (folder / "lock").open("rb") as handle:
        return not lock(handle)
    return False
