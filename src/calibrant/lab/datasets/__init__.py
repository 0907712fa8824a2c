"""Data sets in three splits, to train and calibrate networks, and bundled logits of trained networks; NumPy only."""

from collections.abc import Callable
from pathlib import Path

from calibrant.exceptions import InputError
from calibrant.lab.datasets.dataset import Dataset, Split, load_logits
from calibrant.lab.datasets.images import load_digits, load_fashion_mnist

__all__ = ["DATASETS", "Dataset", "Split", "load_dataset", "load_logits"]

DATASETS: dict[str, Callable[[Path | None, int], Dataset]] = {
    "digits": load_digits,
    "fashion-mnist": load_fashion_mnist,
}
"""Functions that load a data set, given its folder (or None for the default) and the seed of its splits."""


def load_dataset(name: str, *, folder: Path | None = None, seed: int = 0) -> Dataset:
    """Return a data set by name, in three splits.

    Parameters
    ----------
    name : {"digits", "fashion-mnist"}
        "digits": the 1797 images of 8 x 8 pixels in scikit-learn, as a table with 64 columns; 599 rows to train, 599 to
        calibrate, 599 to test. "fashion-mnist": 70 000 images of 28 x 28 pixels from Debian's package
        dataset-fashion-mnist; 30 000 to train, 30 000 to calibrate, and its own test set of 10 000.
    folder : path, optional
        The folder of the files of Fashion-MNIST; by default where the package installs them.
    seed : int, default=0
        Decides which rows are in which split. The test set of Fashion-MNIST does not depend on it.

    Raises
    ------
    InputError
        If the name is unknown, or a file is damaged.
    OSError
        If a file is missing.

    Examples
    --------
    >>> load_dataset("digits").train.inputs.shape
    (599, 64)
    """
    if name not in DATASETS:
        raise InputError(f"name must be one of {', '.join(DATASETS)}, but is {name!r:.80}.")
    return DATASETS[name](folder, seed)
