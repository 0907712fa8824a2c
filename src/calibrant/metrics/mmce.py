"""Kernel calibration error of the confidence alone."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant.exceptions import InputError
from calibrant.kernels.pairs import SortedPairs
from calibrant.metrics.base import KERNEL, Metric, relative
from calibrant.predictions import Predictions
from calibrant.results import Description


@dataclass(frozen=True)
class MMCE(Metric):
    r"""Maximum mean calibration error of confidences.

    Parameters
    ----------
    lengthscale : float, default=0.4

    Notes
    -----
    With confidences :math:`c_i` and residuals :math:`e_i = \text{hit}_i - c_i`,

    .. math:: \Big(\frac1{W^2} \sum_{i,j} w_i w_j e_i e_j \exp(-|c_i - c_j| / \ell)\Big)^{1/2},

    in O(n log n). For two classes, the probability of class 1 takes the place of the confidence.

    References
    ----------
    A. Kumar, S. Sarawagi, U. Jain, "Trainable calibration measures for neural networks from kernel mean embeddings",
    ICML 2018.

    Examples
    --------
    >>> round(MMCE()(Predictions([0.7, 0.7], labels=[1, 1])), 4)
    0.3
    """

    family = "kernel"
    accepts = "binary"
    measures = "calibration"
    lengthscale: float = 0.4

    def about(self) -> Description:
        """Return how it is presented."""
        return self._presented("MMCE", "Kernel calibration error of the confidence alone; never below 0.", group=KERNEL)

    def __post_init__(self) -> None:
        if not 0 < self.lengthscale < np.inf:
            raise InputError(f"lengthscale must be positive and finite, but is {self.lengthscale!r}.")

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        view = self.view(predictions)
        pairs = SortedPairs(view.positive, view.labels - view.positive, self.lengthscale, 1.0)
        diagonal = pairs.diagonal()

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            squared = (pairs.quadratic_forms(weights) + diagonal @ weights**2) / weights.sum(axis=0) ** 2
            return np.sqrt(np.maximum(squared, 0.0))  # Not negative up to rounding.

        return evaluate
