"""What a data set is: three splits, scaled by what the first of them says."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._border.types import IntArray, Scalar
from calibrant.exceptions import InputError

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False, init=False)
class Split:
    """Inputs of a network with their labels; both arrays are read-only.

    Parameters
    ----------
    inputs : array-like of shape (n, ...)
        Finite numbers. Kept as 32-bit floats.
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
            raise InputError(f"inputs and labels must have one row each, but have {len(rows)} and {len(classes)}.")
        object.__setattr__(self, "inputs", rows)
        object.__setattr__(self, "labels", classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in three splits that share no row.

    Attributes
    ----------
    name : str
    classes : tuple of str
        Their names, in the order of the labels.
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
    """Return the data set with inputs that have mean 0 and variance 1 over all entries of the training split."""
    mean = np.mean(data.train.inputs, dtype=np.float64)
    spread = np.std(data.train.inputs, dtype=np.float64)

    def scaled(split: Split) -> Split:
        return Split((split.inputs - np.float32(mean)) / np.float32(spread), split.labels)

    return replace(data, train=scaled(data.train), calibration=scaled(data.calibration), test=scaled(data.test))


def _as_inputs(values: NDArray[np.number]) -> Float32Array:
    if values.dtype.kind not in "buif":
        raise TypeError(f"inputs must be numbers, but have dtype {values.dtype}. Convert them first.")
    if values.ndim < 2 or values.size == 0:
        raise InputError(f"inputs must be rows of at least one number, but have the shape {values.shape}.")
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
