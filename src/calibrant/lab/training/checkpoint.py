"""Checkpoints: a training that was killed continues where it stopped."""

import hashlib
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from calibrant._border.files import open_regular
from calibrant.exceptions import InputError
from calibrant.io import printable, write_atomically
from calibrant.lab.training.schedule import Epoch
from calibrant.lab.training.weights import as_bytes, from_bytes

_MAGIC = b"calibrant checkpoint 1\n"
_SEAL_BYTES = 32


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a training after an epoch; random numbers are a function of the seed and the epoch.

    Attributes
    ----------
    settings : str
        Digest of everything that decides the weights.
    epochs : tuple of Epoch
        Those that are over.
    model, optimizer : dict
        Their states.
    best : dict or None
        The state of the network after the best epoch, if it is to be kept.
    """

    settings: str
    epochs: tuple[Epoch, ...]
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    best: dict[str, Tensor] | None

    def write(self, path: Path) -> None:
        """Replace the file by this checkpoint, completely or not at all."""
        payload = as_bytes(
            {
                "settings": self.settings,
                "epochs": [astuple(epoch) for epoch in self.epochs],
                "model": self.model,
                "optimizer": self.optimizer,
                "best": self.best,
            }
        )
        with write_atomically(path) as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)


def read_checkpoint(path: Path, settings: str) -> Checkpoint | None:
    """Return the checkpoint in a file; None if there is no file, or an empty or damaged one, and training starts anew.

    Raises
    ------
    InputError
        If the file is a checkpoint of other settings, or no checkpoint: it is somebody's work, and is not replaced.
    """
    if not path.exists():
        return None
    with open_regular(path) as file:
        content = file.handle.read()
    if not content.startswith(_MAGIC[: len(content)]):
        raise InputError(f"{printable(path)} is not a checkpoint, and is not replaced. Name another file.")
    seal, payload = content[len(_MAGIC) :][:_SEAL_BYTES], content[len(_MAGIC) + _SEAL_BYTES :]
    if hashlib.sha256(payload).digest() != seal:
        return None
    document = from_bytes(payload)
    if document["settings"] != settings:
        raise InputError(
            f"{printable(path)} belongs to another training: the data, the loss, the schedule, the seed or the "
            "initial weights differ. Name another file, or remove it. A network that was trained in part has to be "
            "built anew."
        )
    return Checkpoint(**{**document, "epochs": tuple(Epoch(*values) for values in document["epochs"])})
