"""Spiegelhalter's test of the squared error."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.laws import normal_tail
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import (
    DRAWN_IF_FEW,
    LEAST_EVENTS,
    BinaryTest,
    Finding,
    refuse_certainty,
    root_sum_of_squares,
)
from calibrant.hypotest.events import effective_events, label_variances
from calibrant.predictions import Predictions


@dataclass(frozen=True)
class SpiegelhalterTest(BinaryTest):
    r"""Compare the squared error with the one that the predictions imply.

    Notes
    -----
    For outcomes :math:`y_i` drawn with their predicted probabilities :math:`p_i`, the squared error
    :math:`(y_i - p_i)^2` has mean :math:`p_i (1 - p_i)`, from which it differs by :math:`(y_i - p_i)(1 - 2 p_i)`. So

    .. math:: Z = \frac{\sum_i w_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i)}}

    is standard normal in large samples. The statistic is :math:`|Z|`, the p-value two-sided, and the estimate the mean
    excess :math:`\sum_i w_i (y_i - p_i)(1 - 2 p_i) / \sum_i w_i`. The details hold ``z`` with its sign and its
    ``direction``: "over-confident" if positive (the errors are larger than claimed), "under-confident" if negative,
    whether significant or not. Each row counts as one independent draw, regardless of its weight. With fewer than 20
    effective events, :math:`(\sum c_i^2 v_i)^2 / \sum c_i^4 v_i (1 - 3 v_i)` with :math:`c_i = w_i (1 - 2 p_i)` and
    :math:`v_i = p_i (1 - p_i)`, the law of :math:`|Z|` is simulated by redrawing the labels.

    It has no power against errors that leave the squared error as implied: if predictions lie symmetrically around
    1/2, a bias that is the same for all of them cancels. Predictions of exactly 1/2 do not enter.

    References
    ----------
    D. J. Spiegelhalter, "Probabilistic prediction in patient management and clinical trials", Statistics in Medicine
    5 (1986).

    Examples
    --------
    >>> p = Predictions([0.9, 0.9, 0.9, 0.9], labels=[1, 1, 0, 0])  # Z = 2 * 0.8 * (0.9 - 0.1) / (2 * 0.8 * 0.3)
    >>> result = SpiegelhalterTest()(p, rng=0)  # few rows: the exact p-value is P(at least 2 of 4 wrong), 0.0523
    >>> round(result.statistic, 4), round(result.details["closed_form"], 4), result.details["direction"]
    (2.6667, 0.0077, 'over-confident')
    """

    label = "Spiegelhalter's z"
    meaning = "Over- and under-confidence only; errors that cancel are not seen."
    caution = DRAWN_IF_FEW
    principal = True
    cells = True

    def redrawn(self, view: Predictions, weights: FloatArray) -> Evaluator | None:
        """Return a function that computes the statistic of redrawn labels, if there are few effective events."""
        factors = weights * _coefficients(view)
        if effective_events(view, factors) >= LEAST_EVENTS:
            return None
        deviation, expected = _deviation(view, factors), float(factors @ view.positive)
        return lambda events: np.abs(factors @ events - expected) / deviation

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Compare the squared error with its mean under calibration."""
        factors = weights * _coefficients(view)
        deviation = _deviation(view, factors)
        if deviation == 0:
            refuse_certainty(view)
            raise InputError(
                "some predictions must differ from 0, 1/2 and 1, but none does: at these the squared error is the same "
                "whether or not they are right, so that it says nothing. Use ECCETest."
            )
        excess = float(factors @ (view.labels - view.positive))
        z = excess / deviation
        direction = "over-confident" if z > 0 else "under-confident" if z < 0 else "none"
        return Finding(
            statistic=abs(z),
            pvalue=2 * normal_tail(abs(z)),
            estimate=excess / float(weights.sum()),
            details={"z": z, "direction": direction},
        )


def _coefficients(view: Predictions) -> FloatArray:
    return view.probs[:, 0] - view.probs[:, 1]


def _deviation(view: Predictions, factors: FloatArray) -> float:
    """Return the standard deviation of the sum of the residuals times these factors."""
    variances = label_variances(view)
    return root_sum_of_squares(factors * np.sqrt(variances if view.copies is None else variances / view.copies))
