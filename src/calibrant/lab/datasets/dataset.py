"""Data sets in three splits, scaled by the training split, and the logits that are part of the package."""

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._border.types import IntArray, Scalar
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Inputs of a network and their labels; both arrays are read-only.

    Parameters
    ----------
    inputs : array-like of shape (n, ...)
        Finite numbers. Stored as 32-bit floats.
    labels : array-like of shape (n,)
        Integers from 0.

    Examples
    --------
    >>> Split([[0.5, 1.0], [2.0, -1.0]], [0, 1]).inputs.dtype
    dtype('float32')
    """

    inputs: Float32Array
    labels: IntArray

    def __init__(self, inputs: ArrayLike, labels: ArrayLike) -> None:
        rows, classes = _as_inputs(np.asarray(inputs)), _as_labels(np.asarray(labels))
        if len(rows) != len(classes):
            raise InputError(
                f"inputs and labels must have the same number of rows, but have {len(rows)} and {len(classes)}."
            )
        object.__setattr__(self, "inputs", rows)
        object.__setattr__(self, "labels", classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in three disjoint splits.

    Attributes
    ----------
    name : str
    classes : tuple of str
        The names of the classes, in the order of the labels.
    train : Split
        To train and fine-tune networks.
    calibration : Split
        To fit calibrators and to choose bandwidths.
    test : Split
        For the final evaluation.
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    calibration: Split
    test: Split


def standardised(data: Dataset) -> Dataset:
    """Return the data set with inputs scaled to mean 0 and variance 1 over all entries of the training split."""
    mean = np.mean(data.train.inputs, dtype=np.float64)
    spread = np.std(data.train.inputs, dtype=np.float64)

    def scaled(split: Split) -> Split:
        return Split((split.inputs - np.float32(mean)) / np.float32(spread), split.labels)

    return replace(data, train=scaled(data.train), calibration=scaled(data.calibration), test=scaled(data.test))


def _as_inputs(values: NDArray[np.number]) -> Float32Array:
    if values.dtype.kind not in "buif":
        raise TypeError(f"inputs must be numbers, but have dtype {values.dtype}. Convert them first.")
    if values.ndim < 2 or values.size == 0:
        raise InputError(f"inputs must have the shape (n, ...) and not be empty, but have the shape {values.shape}.")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        raise InputError(f"inputs must be finite, but row {row} is not. Drop or repair such rows.")
    return _read_only(values.astype(np.float32))


def _as_labels(values: NDArray[np.number]) -> IntArray:
    if values.dtype.kind not in "ui":
        raise TypeError(f"labels must be integers, but have dtype {values.dtype}. Number the classes from 0.")
    if values.ndim != 1:
        raise InputError(f"labels must be one integer per row, but have the shape {values.shape}.")
    if values.size and values.min() < 0:
        row = int(np.argmax(values < 0))
        raise InputError(f"labels must be integers from 0, but row {row} has {values[row]}. Number the classes from 0.")
    return _read_only(values.astype(np.int64))


def _read_only(values: NDArray[Scalar]) -> NDArray[Scalar]:
    values.setflags(write=False)
    return values


NETWORKS = ("ce", "focal-2", "focal-3", "focal-5", "flsd-53")
"""Networks trained with cross entropy, or fine-tuned from there with the focal loss of gamma 2, 3, 5 or FLSD-53."""


class _SplitPredictions(NamedTuple):
    """Logits and labels of a network, for the calibration rows and the test rows."""

    calibration: Predictions
    test: Predictions


def logits_folder() -> Path:
    """Return the folder of the archives NAME.npz, which `calibrant experiment` reads with `source = "bundled"`."""
    return Path(str(files("calibrant.lab.datasets") / "logits"))


def load_logits(network: str = "ce") -> _SplitPredictions:
    """Return the logits of a small convolutional network for Fashion-MNIST.

    Parameters
    ----------
    network : {"ce", "focal-2", "focal-3", "focal-5", "flsd-53"}, default="ce"

    Returns
    -------
    SplitPredictions
        30 000 rows to calibrate, and the 10 000 of the test set; the network was trained on 27 000 others.

    Notes
    -----
    They were computed by `calibrant experiment run fashion-mnist`, seed 0, and are stored as 16-bit floats.

    Examples
    --------
    >>> calibration, test = load_logits("ce")
    >>> calibration.n_samples, test.n_samples, test.classes[:3]
    (30000, 10000, ('T-shirt/top', 'Trouser', 'Pullover'))
    """
    if network not in NETWORKS:
        raise InputError(f"network must be one of {', '.join(NETWORKS)}, but is {network!r:.80}.")
    with np.load(logits_folder() / f"{network}.npz", allow_pickle=False) as archive:
        classes = archive["classes"].tolist()
        return _SplitPredictions(
            *(
                Predictions.from_logits(archive[f"{part}_logits"], archive[f"{part}_labels"], classes=classes)
                for part in _SplitPredictions._fields
            )
        )
