"""Fashion-MNIST, from the files of Debian's package."""

from pathlib import Path

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io import printable
from calibrant.lab.datasets.base import Dataset, Split, standardised
from calibrant.lab.datasets.idx import ByteArray, read_idx

PACKAGE = "dataset-fashion-mnist"
USUAL_FOLDER = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package puts the files."""

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
    """Return the images as (n, 1, 28, 28): half of the training files to train, the other half to calibrate."""
    folder = USUAL_FOLDER if folder is None else folder
    if not folder.is_dir():
        raise FileNotFoundError(
            f"Fashion-MNIST is not in {printable(folder)}. Install Debian's package with "
            f"apt-get install {PACKAGE}, or name the folder that holds its four files."
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
            f"{printable(label_file)} must hold a label for each of the {len(images)} images, "
            f"but has shape {labels.shape}."
        )
    if labels.max(initial=0) >= len(CLASSES):
        raise InputError(f"{printable(label_file)} must hold labels from 0 to 9, but one is {labels.max()}.")
    return images[:, None], labels
