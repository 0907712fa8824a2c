"""Evidence from similar predictions: the squared kernel calibration error on a few landmarks."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.quantiles import median
from calibrant._core.redraws import DEPTH, feature_errors
from calibrant._core.threads import in_order
from calibrant.hypotest.omnibus.statistic import Evidence, Part
from calibrant.kernels.distances import TotalVariation
from calibrant.predictions import Predictions

LANDMARKS = 64
"""Number of rows that represent all predictions; with at most this many rows the kernel is exact."""

FEATURE_CELLS = 20_000_000
"""Largest size of the matrix of features; more rows have fewer landmarks, which bounds memory."""

ROWS_AT_ONCE = 4096
"""Rows whose features are computed at a time, in the cache."""

FLAT = 1e-10
"""Directions with less than this share of the largest eigenvalue of the landmarks are left out."""


@dataclass(frozen=True, eq=False)
class KernelEvidence(Evidence):
    r"""The root of the biased SKCE of an exponential kernel of total variation, approximated with landmarks.

    Notes
    -----
    With landmarks Z among the predictions (drawn with a fixed seed, never from labels), the kernel is replaced by its
    projection :math:`k(p, Z) \, k(Z, Z)^{-1} k(Z, q) = \phi(p)^\top \phi(q)` (Nystroem), which is exact if all rows are
    landmarks, and the lengthscale is the median positive distance of the landmarks. The statistic is the root of the
    biased SKCE,

    .. math:: \Big\| \sum_i w_i \phi(p_i) (e_{y_i} - p_i)^\top \Big\| \Big/ \sum_i w_i,

    which, unlike the square, stands out from chance about as far as a sum of residuals does.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019; C. Williams, M. Seeger, "Using the Nystroem method to speed up kernel machines", NeurIPS 2000.
    """

    features: FloatArray
    means: FloatArray
    parts = (Part("skce", {}),)

    @classmethod
    def of(cls, predictions: Predictions, weights: FloatArray) -> Self:
        """Compute the features of all rows, times their weights."""
        features = landmark_features(predictions.probs)
        features *= (weights / weights.sum())[:, None]
        missing = -features.shape[1] % DEPTH
        features = np.pad(features, ((0, 0), (0, missing))) if missing else features
        return cls(features, predictions.probs.T @ features)

    def components(self, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the estimate for each column of labels."""
        return self.of_errors(feature_errors(labels, self.features, self.means))

    def of_errors(self, errors: FloatArray) -> tuple[FloatArray, ...]:
        """Return the components from squared distances of sums of features from their means, (B,)."""
        return (np.sqrt(errors)[None],)


def landmark_features(probs: FloatArray) -> FloatArray:
    """Return features, (n, D), whose products are the kernel of the predictions projected onto landmarks."""
    n_landmarks = max(1, min(LANDMARKS, FEATURE_CELLS // len(probs)))
    chosen = probs[np.sort(np.random.default_rng(0).permutation(len(probs))[:n_landmarks])]
    distance = TotalVariation()
    between = distance.pairwise(chosen, chosen)
    positive = between[between > 0]
    lengthscale = median(positive) if len(positive) else 1.0
    values, vectors = np.linalg.eigh(np.exp(-between / lengthscale))
    kept = values > FLAT * values[-1]
    projection = vectors[:, kept] / np.sqrt(values[kept])
    features = np.empty((len(probs), projection.shape[1]))

    def task(first: int) -> None:
        rows = slice(first, first + ROWS_AT_ONCE)
        values = distance.pairwise(probs[rows], chosen)
        values /= -lengthscale
        np.matmul(np.exp(values, out=values), projection, out=features[rows])

    for _ in in_order(task, range(0, len(probs), ROWS_AT_ONCE)):
        pass
    return features
