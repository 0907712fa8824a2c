"""Image data sets: scikit-learn's digits, and Fashion-MNIST from the files of Debian's package."""

import gzip
import math
import os
import struct
import zlib
from pathlib import Path
from typing import TypeAlias

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

MAGIC = b"\0\0\x08"
"""How IDX files of unsigned bytes begin; the number of axes follows. All files of the MNIST family are such."""

MAX_VALUES = 2**28
"""Largest supported number of values."""


def read_idx(path: str | os.PathLike[str]) -> ByteArray:
    """Return the array in a gzip-compressed IDX file of unsigned bytes."""
    with open_regular(path) as file:
        try:
            with gzip.open(file.handle) as stream:
                magic = stream.read(4)
                lengths = stream.read(4 * magic[3] if len(magic) == 4 else 0)
                shape = struct.unpack(f">{len(lengths) // 4}I", lengths[: len(lengths) // 4 * 4])
                size = math.prod(shape)
                # One byte more than expected, so that the end is reached and gzip's checksum is verified.
                content = stream.read(min(size, MAX_VALUES) + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{file.name} must be compressed with gzip, but is not, or is damaged or incomplete: {error}. "
                "Install or copy it again."
            ) from error
    if magic != MAGIC + bytes([len(shape)]) or not shape or not 0 < size == len(content) <= MAX_VALUES:
        raise InputError(
            f"{file.name} cannot be read as IDX: it must begin with {MAGIC!r} and a number of axes, but begins with "
            f"{magic!r}; then come the lengths of the axes, here {shape}, and 1 to {MAX_VALUES} values, as many as the "
            f"lengths say, but there are {len(content)}. Install or copy it again."
        )
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


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
