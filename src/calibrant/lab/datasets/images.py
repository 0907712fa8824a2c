"""Image data sets: scikit-learn's digits, and Fashion-MNIST from the files of Debian's package."""

import gzip
import math
import os
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import open_regular
from calibrant.exceptions import InputError
from calibrant.io import printable
from calibrant.lab.datasets.dataset import Dataset, Split, standardised


def load_digits(folder: Path | None, seed: int) -> Dataset:
    """Return 1797 digits as a table with 64 columns, in three splits of equal size."""
    from sklearn import datasets

    if folder is not None:
        raise InputError(f"folder must be None, because the digits are in scikit-learn, but is {str(folder)!r}.")
    pixels, labels = datasets.load_digits(return_X_y=True)
    splits = [Split(pixels[rows], labels[rows]) for rows in _thirds(len(labels), seed)]
    return standardised(Dataset("digits", tuple("0123456789"), *splits))


def _thirds(n: int, seed: int) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    return np.array_split(np.random.default_rng(seed).permutation(n), 3)


ByteArray: TypeAlias = NDArray[np.uint8]

UNSIGNED_BYTE = 0x08
"""The only supported type of values, which all files of the MNIST family have."""

MAX_VALUES = 2**28
"""Largest supported number of values."""


def read_idx(path: str | os.PathLike[str]) -> ByteArray:
    """Return the array in a gzip-compressed IDX file of unsigned bytes.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        If the content is not such an array, is incomplete, or is damaged.
    OSError
        If the file cannot be read.
    """
    with open_regular(path) as file:
        try:
            with gzip.open(file.handle) as stream:
                return _array(stream)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{file.name} must be compressed with gzip, but is not, or is damaged or incomplete: {error}. "
                "Install or copy it again."
            ) from error
        except InputError as error:
            raise InputError(f"{file.name} cannot be read as IDX: {error} Install or copy it again.") from error


def _array(stream: BinaryIO | gzip.GzipFile) -> ByteArray:
    shape = _shape(stream)
    size = math.prod(shape)
    # One byte more than expected, so that the end is reached and gzip's checksum is verified.
    content = stream.read(size + 1)
    if len(content) != size:
        found = "more" if len(content) > size else str(len(content))
        raise InputError(f"its header announces {size} values, but there are {found}.")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _shape(stream: BinaryIO | gzip.GzipFile) -> tuple[int, ...]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0":
        raise InputError(f"it must begin with two zero bytes, a type and a number of axes, but begins with {magic!r}.")
    kind, n_axes = magic[2], magic[3]
    if kind != UNSIGNED_BYTE:
        raise InputError(f"its values must be unsigned bytes (type 0x08), but have the type 0x{kind:02X}.")
    if n_axes == 0:
        raise InputError("it must have at least one axis, but has none.")
    header = stream.read(4 * n_axes)
    if len(header) != 4 * n_axes:
        raise InputError(f"it ends inside the lengths of its {n_axes} axes.")
    shape = struct.unpack(f">{n_axes}I", header)
    if not 0 < math.prod(shape) <= MAX_VALUES:
        raise InputError(f"it must hold 1 to {MAX_VALUES} values, but announces the shape {shape}.")
    return shape


PACKAGE = "dataset-fashion-mnist"
USUAL_FOLDER = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package installs the files."""

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def load_fashion_mnist(folder: Path | None, seed: int) -> Dataset:
    """Return the images as (n, 1, 28, 28): half of the training rows to train, the other half to calibrate."""
    folder = USUAL_FOLDER if folder is None else folder
    if not folder.is_dir():
        raise FileNotFoundError(
            f"Fashion-MNIST is not in {printable(folder)}. Install Debian's package with "
            f"apt-get install {PACKAGE}, or pass the folder that contains its four files."
        )
    images, labels = _read(folder, "train")
    order = np.random.default_rng(seed).permutation(len(labels))
    train, calibration = np.array_split(order, 2)
    return standardised(
        Dataset(
            "fashion-mnist",
            CLASSES,
            Split(images[train], labels[train]),
            Split(images[calibration], labels[calibration]),
            Split(*_read(folder, "t10k")),
        )
    )


def _read(folder: Path, part: str) -> tuple[ByteArray, ByteArray]:
    image_file, label_file = folder / f"{part}-images-idx3-ubyte.gz", folder / f"{part}-labels-idx1-ubyte.gz"
    images, labels = read_idx(image_file), read_idx(label_file)
    if images.shape[1:] != (28, 28):
        raise InputError(f"{printable(image_file)} must hold images of 28 x 28 pixels, but has shape {images.shape}.")
    if labels.shape != images.shape[:1]:
        raise InputError(
            f"{printable(label_file)} must hold one label for each of the {len(images)} images, "
            f"but has shape {labels.shape}."
        )
    if labels.max(initial=0) >= len(CLASSES):
        raise InputError(f"{printable(label_file)} must hold labels from 0 to 9, but one is {labels.max()}.")
    return images[:, None], labels
