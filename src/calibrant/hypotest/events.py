"""How much there is to see: the number of rows, or of rare events, that the law of a sum rests on."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.kernels.discrepancy import Data

CELLS_AT_ONCE = 2**18
"""Probabilities that are squared at once, so that no copies of all predictions are made."""

CERTAIN = "the predictions are certain, so residuals have no spread, and nothing can be tested."


def relative_weights(data: Data) -> FloatArray:
    """Return the weights divided by their mean."""
    weights = data.weights / data.weights.max()  # So that no sum overflows.
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def effective_events(data: Data, factors: FloatArray) -> float:
    r"""Return the number of events that make the sum of the residuals times factors, by the predictions alone.

    Notes
    -----
    With residuals :math:`r_i`, one-hot label minus prediction, and factors :math:`c_i`, most often the weights,

    .. math:: \frac{\big(\sum_i c_i^2 E|r_i|^2\big)^2}{\sum_i c_i^4 E|r_i|^4}, \qquad
        E|r|^2 = \sum_k p_k (1 - p_k), \quad E|r|^4 = \sum_k p_k \Big(1 - 2 p_k + \sum_l p_l^2\Big)^2.

    Of n rows with equal weights and p = 1/2 these are n events; of rare events it is their expected number; weights
    that differ leave fewer. For forecasts, whose targets vary in every row, it is
    :math:`(\sum_i c_i^2)^2 / \sum_i c_i^4`.

    Examples
    --------
    >>> from calibrant.predictions import Predictions
    >>> round(effective_events(Predictions([0.5] * 10, labels=[0, 1] * 5), np.ones(10)), 9)
    10.0
    >>> round(effective_events(Predictions([0.001] * 40, labels=[0] * 40), np.ones(40)), 2)  # 40 * 0.001
    0.04
    """
    second, fourth = (float(moment.sum()) for moment in moments(data, factors))
    return second**2 / fourth if fourth > 0 else 0.0


def moments(data: Data, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return second and fourth moments of the lengths of residuals times factors, relative to the largest factor."""
    squares = (factors / np.abs(factors).max(initial=np.finfo(float).tiny)) ** 2
    if isinstance(data, Forecasts):
        return squares, squares**2
    step = max(1, CELLS_AT_ONCE // data.n_classes)
    parts = [_residual_moments(data.probs[first : first + step]) for first in range(0, data.n_samples, step)]
    second, fourth = np.concatenate(parts, axis=1)
    copies = 1.0 if data.copies is None else data.copies
    return squares / copies * second, squares**2 / copies**3 * fourth


def _residual_moments(probs: FloatArray) -> FloatArray:
    """Return second and fourth moments of the lengths of residuals, (2, n), for labels that follow the predictions."""
    if probs.shape[1] == 2:  # The same sums, in terms of the variance v of the label.
        v = probs[:, 0] * probs[:, 1]
        return np.stack([2 * v, 4 * v * (1 - 3 * v)])
    lengths = 1 - 2 * probs + (probs**2).sum(axis=1, keepdims=True)
    return np.stack([(probs * (1 - probs)).sum(axis=1), (probs * lengths**2).sum(axis=1)])


def check_events(data: Data, least: float, law: str) -> float:
    """Refuse data in which too few events make the statistic for its law to hold; return their number."""
    events = effective_events(data, data.weights)
    if events == 0:
        raise InputError(CERTAIN)
    if events < least:
        raise InputError(
            f"{law} needs at least {least:g} effective events (rows that are not nearly certain and share the weight), "
            f"but these {data.n_samples} rows hold {events:.3g}: it would reject calibrated predictions too often. Use "
            "an exact test, ConsistencyTest(SKCE()) or OmnibusTest (--test omnibus), or more rows."
        )
    return events
