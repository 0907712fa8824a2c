"""Weights and checkpoints of networks; from a checkpoint, an interrupted training continues."""

import hashlib
import io
import os
import pickle
import zipfile
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from calibrant._border.files import open_regular
from calibrant.exceptions import InputError
from calibrant.io import printable, write_atomically
from calibrant.lab.schedule import Epoch

_MAGIC = b"calibrant checkpoint 1\n"
_SEAL_BYTES = 32


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a training after an epoch. Random numbers are a function of the seed and the epoch."""

    settings: str  # Digest of everything that determines the weights.
    epochs: tuple[Epoch, ...]
    model: dict[str, Tensor]
    optimizer: dict[str, object]
    best: dict[str, Tensor] | None  # The network after the best epoch, if the schedule keeps that one.

    def write(self, path: Path) -> None:
        """Replace the file by this checkpoint, completely or not at all."""
        payload = as_bytes(vars(self) | {"epochs": [astuple(epoch) for epoch in self.epochs]})
        with write_atomically(path) as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)


def read_checkpoint(path: Path, settings: str) -> Checkpoint | None:
    """Return the checkpoint in a file, or None, so that training starts again, if it is missing, empty or damaged.

    A checkpoint of other settings, or what is no checkpoint, is refused, and not overwritten.
    """
    if not path.exists():
        return None
    with open_regular(path) as file:
        content = file.handle.read()
    if not content.startswith(_MAGIC[: len(content)]):
        raise InputError(f"{printable(path)} must be a checkpoint, but is not, and is not replaced. Name another file.")
    seal, payload = content[len(_MAGIC) :][:_SEAL_BYTES], content[len(_MAGIC) + _SEAL_BYTES :]
    if hashlib.sha256(payload).digest() != seal:
        return None
    document = from_bytes(payload)
    if document["settings"] != settings:
        raise InputError(
            f"{printable(path)} belongs to another training: the data, the loss, the schedule, the seed or the "
            "initial weights differ. Name another file, or remove this one. To continue, build the network anew; one "
            "that is partly trained has other initial weights."
        )
    return Checkpoint(**{**document, "epochs": tuple(Epoch(*values) for values in document["epochs"])})


def save_weights(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write the weights of a network to a file, completely or not at all.

    Parameters
    ----------
    model : torch.nn.Module
    path : str or path
        An existing file is replaced. `torch.load` reads it too.
    """
    with write_atomically(path) as file:
        file.write(as_bytes(model.state_dict()))


def load_weights(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Load weights from a file into a network of the same architecture; nothing in the file is executed.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place, completely or not at all.
    path : str or path
        A file that `save_weights` has written.

    Raises
    ------
    InputError
        If the content is damaged, or belongs to another architecture.
    OSError
        If the file cannot be read.
    """
    with open_regular(path) as file:
        content = file.handle.read()
    try:
        state = from_bytes(content)
    except InputError as error:
        raise InputError(f"{printable(path)} cannot be used as weights: {error} Write it again.") from error
    check_fits(model, state, printable(path))
    model.load_state_dict(state)


def check_fits(model: nn.Module, state: object, name: str) -> None:
    """Refuse weights of another architecture before PyTorch loads some of them and fails."""
    expected = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    found = (
        {key: tuple(getattr(tensor, "shape", ())) for key, tensor in state.items()} if isinstance(state, dict) else {}
    )
    odd = sorted(map(str, expected.items() ^ found.items()))
    if odd:
        raise InputError(
            f"{name} belongs to another network: {len(odd)} names or shapes of weights differ, such as {odd[0][:100]}. "
            "Build the network as it was saved."
        )


def as_bytes(document: object) -> bytes:
    """Return the bytes that `torch.save` writes."""
    buffer = io.BytesIO()
    torch.save(document, buffer)
    return buffer.getvalue()


def from_bytes(content: bytes) -> Any:
    """Return the document that `as_bytes` was given: only tensors and plain values; checksums are verified."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise InputError(f"its part {damaged[:80]} is damaged.")
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (zipfile.BadZipFile, pickle.UnpicklingError, RuntimeError, EOFError, KeyError) as error:
        raise InputError("it is not a file of weights, or it is damaged.") from error


def digest(model: nn.Module) -> str:
    """Return a checksum of names, shapes and values of all weights."""
    total = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        values = tensor.detach().cpu().contiguous()
        total.update(repr((name, tuple(values.shape), str(values.dtype))).encode())
        total.update(values.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
