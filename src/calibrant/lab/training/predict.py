"""Logits of a network."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from calibrant.exceptions import InputError
from calibrant.io import write_atomically
from calibrant.lab.datasets import Dataset


def predict_logits(model: nn.Module, inputs: NDArray[np.float32], batch_size: int = 1000) -> NDArray[np.float32]:
    """Return the logits of a network.

    Parameters
    ----------
    model : torch.nn.Module
        Evaluated as in use, without dropout and with the stored statistics of batch normalisation; whether it is in
        training stays as it is.
    inputs : ndarray of shape (n, ...)
    batch_size : int, default=1000
        How many rows at a time.

    Returns
    -------
    ndarray of shape (n, K)
        32-bit floats.
    """
    with torch.inference_mode(), in_mode(model, training=False):
        parts = [_logits(model, torch.tensor(inputs[i : i + batch_size])) for i in range(0, len(inputs), batch_size)]
    return np.concatenate(parts)


def write_logits(model: nn.Module, data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write the logits and labels of every split of a data set to an NPZ file.

    Parameters
    ----------
    model : torch.nn.Module
    data : Dataset
    path : str or path
        The arrays are `train_logits` and `train_labels`, the same for `calibration` and `test`, and `classes`. A folder
        of such files, one per network, is what an experiment with `source = "logits"` reads.
    """
    arrays: dict[str, Any] = {"classes": np.array(data.classes)}
    for part in ("train", "calibration", "test"):
        split = getattr(data, part)
        arrays[f"{part}_logits"] = predict_logits(model, split.inputs)
        arrays[f"{part}_labels"] = split.labels
    with write_atomically(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


@contextmanager
def in_mode(model: nn.Module, *, training: bool) -> Iterator[None]:
    """Put all parts of a network in training or out of it, and each back afterwards."""
    flags = {module: module.training for module in model.modules()}
    model.train(training)
    try:
        yield
    finally:
        for module, flag in flags.items():
            module.training = flag


def placed(batch: Tensor, model: nn.Module) -> Tensor:
    """Return a batch on the device of the network."""
    first = next(model.parameters(), None)
    return batch if first is None else batch.to(first.device)


def _logits(model: nn.Module, batch: Tensor) -> NDArray[np.float32]:
    logits = model(placed(batch, model))
    if logits.ndim != 2 or len(logits) != len(batch):
        raise InputError(
            f"the network must give one row of logits for each input, but gave {tuple(logits.shape)} "
            f"for {len(batch)} inputs."
        )
    return np.asarray(logits.float().cpu())
