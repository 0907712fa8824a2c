"""Logits of real networks that come with the package."""

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from calibrant.exceptions import InputError
from calibrant.predictions import Predictions

NETWORKS = ("ce", "focal-2", "focal-3", "focal-5", "flsd-53")
"""Trained with cross entropy, and fine-tuned from there with the focal loss of gamma 2, 3, 5, and with FLSD-53."""


class SplitPredictions(NamedTuple):
    """Logits and labels of a network for rows to calibrate on and for rows to judge by."""

    calibration: Predictions
    test: Predictions


def logits_folder() -> Path:
    """Return the folder of the archives, NAME.npz, which `calibrant experiment` reads as `source = "bundled"`."""
    return Path(str(files("calibrant.lab.datasets") / "logits"))


def load_logits(network: str = "ce") -> SplitPredictions:
    """Return what a small convolutional network says about Fashion-MNIST.

    Parameters
    ----------
    network : {"ce", "focal-2", "focal-3", "focal-5", "flsd-53"}, default="ce"

    Returns
    -------
    SplitPredictions
        30 000 rows to calibrate on, and the 10 000 of the test set; the network was trained on 27 000 others.

    Notes
    -----
    They were made by `calibrant experiment run fashion-mnist`, seed 0, and are kept as 16-bit floats.

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
        return SplitPredictions(
            *(
                Predictions.from_logits(archive[f"{part}_logits"], archive[f"{part}_labels"], classes=classes)
                for part in SplitPredictions._fields
            )
        )
