"""The handwritten digits that come with scikit-learn."""

from pathlib import Path

import numpy as np

from calibrant.exceptions import InputError
from calibrant.lab.datasets.base import Dataset, Split, standardised


def load_digits(folder: Path | None, seed: int) -> Dataset:
    """Return 1797 digits as a table of 64 columns, in three splits of the same size."""
    from sklearn import datasets

    if folder is not None:
        raise InputError(f"folder must be None, since the digits come with scikit-learn, but is {str(folder)!r}.")
    pixels, labels = datasets.load_digits(return_X_y=True)
    splits = [Split(pixels[rows], labels[rows]) for rows in _thirds(len(labels), seed)]
    return standardised(Dataset("digits", tuple("0123456789"), *splits))


def _thirds(n: int, seed: int) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    return np.array_split(np.random.default_rng(seed).permutation(n), 3)
