"""Roots of squared kernel calibration errors: for all classes, and for the confidence alone."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.settings import check_positive
from calibrant._border.types import Evaluator, FloatArray
from calibrant.forecasts import Forecasts
from calibrant.kernels.discrepancy import Data
from calibrant.kernels.pairs import SortedPairs
from calibrant.metrics.base.metric import KERNEL, Metric, relative
from calibrant.metrics.skce import SKCE
from calibrant.predictions import Predictions


@dataclass(frozen=True)
class KCE(SKCE):
    """Kernel calibration error: the root of the squared one, with its sign.

    Parameters
    ----------
    kernel, unbiased, blocksize
        As for `SKCE`.

    Examples
    --------
    >>> from calibrant.kernels import GaussianKernel, WhiteKernel
    >>> p = Predictions([0.0, 0.0, 0.5], labels=[1, 1, 1]).take([0, 1])
    >>> round(KCE(GaussianKernel() @ WhiteKernel())(p), 4)  # sqrt(2)
    1.4142
    """

    label = "KCE"
    meaning = "Root of the SKCE, with its sign."
    principal = False

    def value(self, data: Data) -> float:
        """Return the value at the data's own weights."""
        return float(_signed_root(np.array(self.squared(data))))

    def prepare(self, data: Data) -> Evaluator:
        """Return the map from weights, (n, B), to B estimates."""
        squared = super().prepare(data)
        return lambda weights: _signed_root(squared(weights))

    def prepare_labels(self, data: Data) -> Evaluator:
        """Return the map from labels or targets, (n, B), to B estimates."""
        squared = self.squared.prepare_labels(data)
        return lambda labels: _signed_root(squared(labels))

    def by_chance(self, data: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        """Return B estimates that calibrated forecasts have by chance."""
        squares = super().by_chance(data, n_redraws, rng)
        return None if squares is None else _signed_root(squares)


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

    label = "MMCE"
    meaning = "Kernel calibration error of the confidence alone; never below 0."
    group = KERNEL
    family = "kernel"
    accepts = "binary"
    measures = "calibration"
    lengthscale: float = 0.4

    def __post_init__(self) -> None:
        check_positive(self.lengthscale, "lengthscale")

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        view = self.view(predictions)
        pairs = SortedPairs(view.positive, view.labels - view.positive, self.lengthscale, 1.0)
        diagonal = pairs.diagonal()

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            squared = (pairs.quadratic_forms(weights) + diagonal @ weights**2) / weights.sum(axis=0) ** 2
            return np.sqrt(np.maximum(squared, 0.0))  # Rounding may make a square of 0 negative.

        return evaluate


def _signed_root(values: FloatArray) -> FloatArray:
    return np.sign(values) * np.sqrt(np.abs(values))
