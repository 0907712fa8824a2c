"""The effective number of events, on which the law of a sum of residuals rests."""

import numpy as np

from calibrant._border.numerals import as_given, significant
from calibrant._border.types import FloatArray
from calibrant._core.threads import run_all
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.kernels.discrepancy import Data
from calibrant.predictions import Predictions, row_blocks

CERTAIN = "the predictions are certain, so residuals have no spread, and nothing can be tested."


def relative_weights(data: Data) -> FloatArray:
    """Return the weights divided by their mean."""
    weights = data.weights / data.weights.max()  # So that no sum overflows.
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def effective_events(data: Data, factors: FloatArray) -> float:
    r"""Return the effective number of events in the sum of residuals times factors; labels do not enter.

    Notes
    -----
    With residuals :math:`r_i`, one-hot label minus prediction, and factors :math:`c_i`, usually the weights, it is

    .. math:: \frac{\big(\sum_i c_i^2 E|r_i|^2\big)^2}{\sum_i c_i^4 E|r_i|^4}, \qquad
        E|r|^2 = \sum_k p_k (1 - p_k), \quad E|r|^4 = \sum_k p_k \Big(1 - 2 p_k + \sum_l p_l^2\Big)^2.

    For n rows with equal weights and p = 1/2 it is n, and for rare events about their expected number; unequal weights
    make it smaller. The factors must not be so small that their fourth powers underflow. For forecasts, whose targets
    vary in every row, it is :math:`(\sum_i c_i^2)^2 / \sum_i c_i^4`.

    Examples
    --------
    >>> from calibrant.predictions import Predictions
    >>> round(effective_events(Predictions([0.5] * 10, labels=[0, 1] * 5), np.ones(10)), 9)
    10.0
    >>> round(effective_events(Predictions([0.001] * 40, labels=[0] * 40), np.ones(40)), 2)  # 40 * 0.001
    0.04
    """
    squares, (second, fourth) = factors**2, _row_moments(data)
    total = float(squares**2 @ fourth)
    return float(squares @ second) ** 2 / total if total > 0 else 0.0


def moments(data: Data, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return second and fourth moments of the lengths of residuals times factors, per row."""
    squares, (second, fourth) = factors**2, _row_moments(data)
    return squares * second, squares**2 * fourth


def _row_moments(data: Data) -> tuple[FloatArray, FloatArray]:
    """Return second and fourth moments of the lengths of residuals, per row."""
    if isinstance(data, Forecasts):
        return np.ones(data.n_samples), np.ones(data.n_samples)
    if data.n_classes == 2:
        second = 2 * label_variances(data)
        fourth = second * (2 - 3 * second)
    else:
        second, fourth = _residual_moments(data.probs)
    return (second, fourth) if data.copies is None else (second / data.copies, fourth / data.copies**3)


def label_variances(view: Predictions) -> FloatArray:
    """Return the variance p (1 - p) of each label under calibration, kept with the binary predictions."""
    return view.once("label variances", lambda: view.probs[:, 0] * view.probs[:, 1], of_labels=False)


def _residual_moments(probs: FloatArray) -> FloatArray:
    """Return second and fourth moments of the lengths of residuals, (2, n), for labels that follow the predictions."""
    found = np.empty((2, len(probs)))

    def task(rows: slice) -> None:
        some = probs[rows]
        rest = 1 - some
        lengths = rest - some
        lengths += np.einsum("ij,ij->i", some, some)[:, None]
        np.einsum("ij,ij->i", some, rest, out=found[0, rows])
        np.einsum("ij,ij->i", some, np.square(lengths, out=lengths), out=found[1, rows])

    run_all(task, list(row_blocks(probs.shape)))
    return found


def pair_sums(blocks: FloatArray) -> FloatArray:
    """Return the sum of the products of all pairs of each block, (n_blocks,), for blocks of shape (n_blocks, m).

    Examples
    --------
    >>> pair_sums(np.array([[1.0, 2.0, 3.0]])).tolist()  # 1 * 2 + 1 * 3 + 2 * 3
    [11.0]
    """
    return np.asarray(blocks.sum(axis=1) ** 2 - (blocks**2).sum(axis=1)) / 2


def check_events(data: Data, least: float, law: str) -> float:
    """Return the effective number of events, or refuse data with too few for the law of the statistic."""
    events = effective_events(data, relative_weights(data))
    if events == 0:
        raise InputError(CERTAIN)
    if events < least:
        raise InputError(
            f"{law} needs at least {as_given(least)} effective events (rows that are not nearly certain and share the "
            f"weight), but these {data.n_samples} rows hold {significant(events)}: it would reject calibrated "
            "predictions too often. Use an exact test, ConsistencyTest(SKCE()) or OmnibusTest (--test omnibus), or "
            "more rows."
        )
    return events
