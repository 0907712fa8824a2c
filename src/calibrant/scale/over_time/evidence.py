"""The e-process: evidence against the forecast that may be looked at after every day."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray


class Evidence(NamedTuple):
    """Evidence after every day.

    Attributes
    ----------
    log_e : ndarray of shape (n_days, ...)
        Logarithm of the e-process.
    log_parts : ndarray of shape (n_days, ..., n_alternatives)
        Logarithms of what each alternative contributes to it.
    """

    log_e: FloatArray
    log_parts: FloatArray


def accumulate(log_factors: FloatArray, stakes: FloatArray) -> Evidence:
    r"""Return the e-process of likelihood ratios that come day by day.

    Parameters
    ----------
    log_factors : ndarray of shape (n_days, ..., n_alternatives)
        Logarithm of the likelihood ratio of each day's outcomes, alternative against forecast.
    stakes : ndarray of shape (n_days,)
        What is staked on a change that begins with each day; they sum to at most 1.

    Notes
    -----
    With factors :math:`F_{kt}`, stakes :math:`g_t` and :math:`K` alternatives, :math:`S_{kt} = (S_{k,t-1} + g_t)
    F_{kt}` and :math:`E_t = \frac1K \sum_k S_{kt} + 1 - \sum_{s \le t} g_s`. Under the forecast it is a
    supermartingale that begins at 1, so :math:`P(\max_t E_t \ge 1 / \alpha) \le \alpha`.

    Examples
    --------
    >>> found = accumulate(np.log([[2.0], [3.0]]), np.array([0.5, 0.25]))
    >>> np.exp(found.log_e).round(6).tolist()  # 0.5 * 2 + 0.5, (1 + 0.25) * 3 + 0.25
    [1.5, 4.0]
    """
    log_parts = np.empty_like(log_factors)
    state = np.full(log_factors.shape[1:], -np.inf)
    with np.errstate(divide="ignore"):
        log_stakes = np.log(stakes) - np.log(log_factors.shape[-1])
        left = np.log(np.maximum(1 - np.cumsum(stakes), 0.0))
    for day, factors in enumerate(log_factors):
        state = np.logaddexp(state, log_stakes[day]) + factors
        log_parts[day] = state
    idle = left.reshape(-1, *[1] * (log_factors.ndim - 2))
    return Evidence(np.logaddexp(log_sum(log_parts), idle), log_parts)


def log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum over the last axis."""
    top = logs.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found: FloatArray = np.log(np.exp(logs - shift[..., None]).sum(axis=-1)) + shift
    return found


def posterior(logs: FloatArray) -> FloatArray:
    """Return shares proportional to exp(logs), over the last axis."""
    found: FloatArray = np.exp(logs - log_sum(logs)[..., None])
    return found


def begun(log_factors: FloatArray) -> FloatArray:
    """Return for every day the log-likelihood ratio of a change that began with it, averaged over alternatives.

    Examples
    --------
    >>> np.exp(begun(np.log([[0.5], [2.0], [3.0]]))).round(6).tolist()  # suffix products
    [3.0, 6.0, 3.0]
    """
    suffix = np.cumsum(log_factors[::-1], axis=0)[::-1]
    return log_sum(suffix) - np.log(log_factors.shape[-1])
