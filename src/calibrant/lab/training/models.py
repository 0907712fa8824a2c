"""Networks, a convolutional one for images and a perceptron for tables, and their logits."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from calibrant._border.types import Rng
from calibrant.exceptions import InputError
from calibrant.io import write_atomically
from calibrant.lab.datasets import Dataset

WIDTH = 16
"""Number of channels of the first convolution; the second has twice as many, the third four times."""

HIDDEN = 128
"""Number of units of a hidden layer."""


class Builder(Protocol):
    """A function that builds a network for a shape of inputs, without the row axis, and a number of classes."""

    def __call__(self, shape: tuple[int, ...], n_classes: int, *, rng: Rng = 0) -> nn.Module:
        """Return a network with random weights that depend only on `rng`."""


def convolutional(shape: tuple[int, ...], n_classes: int, *, rng: Rng = 0) -> nn.Module:
    """Return a network for images: three convolutions with batch normalisation, two of them pooled, a hidden layer.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width; at least 4 x 4 pixels.
    n_classes : int
    rng : Generator, int or None, default=0
        Decides the initial weights.
    """
    if len(shape) != 3 or min(shape[1:]) < 4:
        raise InputError(
            f"the shape of an input must be channels, height and width, with at least 4 x 4 pixels, but is {shape}. "
            'Use the model "mlp" for tables.'
        )
    channels, height, width = shape
    _check_classes(n_classes)
    with seeded(int(np.random.default_rng(rng).integers(2**63))):
        return nn.Sequential(
            *_convolution(channels, WIDTH, pooled=True),
            *_convolution(WIDTH, 2 * WIDTH, pooled=True),
            *_convolution(2 * WIDTH, 4 * WIDTH, pooled=False),
            nn.Flatten(),
            nn.Linear(4 * WIDTH * (height // 4) * (width // 4), HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, n_classes),
        )


def perceptron(shape: tuple[int, ...], n_classes: int, *, rng: Rng = 0) -> nn.Module:
    """Return a network with two hidden layers, for tables or any flattened inputs.

    Parameters
    ----------
    shape : tuple of int
    n_classes : int
    rng : Generator, int or None, default=0
        Decides the initial weights.
    """
    if not shape or min(shape) < 1:
        raise InputError(f"the shape of an input must be one or more positive numbers, but is {shape}.")
    _check_classes(n_classes)
    with seeded(int(np.random.default_rng(rng).integers(2**63))):
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(math.prod(shape), HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, n_classes),
        )


MODELS: dict[str, Builder] = {
    "cnn": convolutional,
    "mlp": perceptron,
}
"""The networks by name."""


def _convolution(n_in: int, n_out: int, *, pooled: bool) -> list[nn.Module]:
    # Pooling comes first: normalising and rectifying only a quarter of the values saves a third of the time.
    pool = [nn.MaxPool2d(2)] if pooled else []
    return [nn.Conv2d(n_in, n_out, 3, padding=1, bias=False), *pool, nn.BatchNorm2d(n_out), nn.ReLU()]


def _check_classes(n_classes: int) -> None:
    if n_classes < 2:
        raise InputError(f"n_classes must be at least 2, but is {n_classes}.")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the random numbers of initial weights and of dropout on the CPU."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def threaded(threads: int | None) -> Iterator[None]:
    """Set the number of PyTorch's threads; None leaves it unchanged."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def predict_logits(model: nn.Module, inputs: NDArray[np.float32], batch_size: int = 1000) -> NDArray[np.float32]:
    """Return the logits of a network.

    Parameters
    ----------
    model : torch.nn.Module
        Applied in evaluation mode; its mode is restored afterwards.
    inputs : ndarray of shape (n, ...)
    batch_size : int, default=1000
        Number of rows at a time.

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
        The arrays are `train_logits` and `train_labels`, the same for `calibration` and `test`, and `classes`. An
        experiment with `source = "logits"` reads a folder of such files, one per network.
    """
    arrays: dict[str, NDArray[np.generic]] = {"classes": np.array(data.classes)}
    for part in ("train", "calibration", "test"):
        split = getattr(data, part)
        arrays[f"{part}_logits"] = predict_logits(model, split.inputs)
        arrays[f"{part}_labels"] = split.labels
    with write_atomically(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


@contextmanager
def in_mode(model: nn.Module, *, training: bool) -> Iterator[None]:
    """Set all modules of a network to training or evaluation mode, and restore their modes afterwards."""
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
            f"the network must return one row of logits per input, but returned the shape {tuple(logits.shape)} "
            f"for {len(batch)} inputs."
        )
    return np.asarray(logits.float().cpu())
