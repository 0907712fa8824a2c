"""Means over pairs of rows; those of other labels, of which what they share is computed once."""

from typing import Any

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant.exceptions import InputError
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import prediction_pairs
from calibrant.kernels.targets import gram_of
from calibrant.metrics.metric import relative
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import in_blocks

CELLS = 4_000_000
"""Redrawn residuals are held in blocks of at most this many numbers."""


def relabelled(data: Predictions, kernel: JointKernel, *, unbiased: bool) -> Evaluator:
    """Return the sums of w_i w_j k_P(p_i, p_j) r_i G r_j for residuals of other labels."""
    weights = relative(data.weights[:, None])
    total, square = float(weights.sum()) ** 2, float((weights**2).sum())
    terms = [(prediction_pairs(data, term.predictions), gram_of(term.targets, data.n_classes)) for term in kernel.terms]

    def evaluate(labels: Any) -> FloatArray:
        residuals = np.repeat(-data.probs[:, None, :], labels.shape[1], axis=1)  # (n, B, K)
        rows, columns = np.indices(labels.shape, sparse=True)
        residuals[rows, columns, labels] += 1.0
        residuals *= weights[:, :, None]
        sums = np.zeros(labels.shape[1])
        for pairs, gram in terms:  # r G r is the sum of squares of the columns of r F, where G = F F'.
            columns = gram.times_factor(residuals).reshape(len(labels), -1)
            forms = pairs.quadratic_forms(columns)
            if not unbiased:
                forms += pairs.diagonal() @ columns**2
            sums += forms.reshape(len(sums), -1).sum(axis=1)
        return sums / (total - square if unbiased else total)

    return in_blocks(evaluate, max(1, CELLS // (data.n_samples * data.n_classes)))


def per_pair(numerator: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return a sum over pairs of different rows divided by their weight."""
    if not np.all(pairs > 0):
        raise InputError("the unbiased SKCE needs at least two rows of positive weight, but there is one.")
    return numerator / pairs
