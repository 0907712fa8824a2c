"""Probability integral transforms: the probability that each law gave to values up to its target."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray, Rng
from calibrant.exceptions import InputError
from calibrant.forecasts.container import Forecasts
from calibrant.forecasts.samples import Samples

Ensemble = Literal["fair", "empirical"]
"""How to read the members of an ensemble: as draws from the same unknown law as the target, or as the law itself."""


def check_ensemble(ensemble: object) -> None:
    """Refuse values other than those of `Ensemble`."""
    check_option(ensemble, "ensemble", *get_args(Ensemble))


def pit(forecasts: Forecasts, rng: Rng = None, *, ensemble: Ensemble = "fair") -> FloatArray:
    r"""Return the probability integral transform of every target, randomised where a law has atoms.

    Parameters
    ----------
    forecasts : Forecasts
        On the line.
    rng : Generator, int or None
        Used only for laws with atoms, such as `Samples`.
    ensemble : {"fair", "empirical"}, default="fair"
        How to read `Samples` of m members. "fair": the target is one more draw of whatever the members were drawn from;
        the transform is its rank among all m + 1. "empirical": the members are the predicted law.

    Returns
    -------
    ndarray of shape (n,)
        Uniform on [0, 1] and independent if the forecasts are calibrated.

    Notes
    -----
    :math:`u_i = F_i(y_i-) + v_i (F_i(y_i) - F_i(y_i-))` with :math:`v_i` uniform on [0, 1]; a law without atoms needs
    none. For a fair ensemble :math:`F_i(y-)` and :math:`F_i(y)` are the shares of the m + 1 draws, the target among
    them, that are less than y and at most y.

    References
    ----------
    A. P. Dawid, "The prequential approach", JRSS A 147 (1984); T. Gneiting, F. Balabdaoui, A. E. Raftery,
    "Probabilistic forecasts, calibration and sharpness", JRSS B 69 (2007).

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> pit(Forecasts(Normal([0.0, 5.0], [1.0, 2.0]), [0.0, 5.0])).tolist()
    [0.5, 0.5]
    >>> ranks = pit(Forecasts(Samples([[1.0, 2.0, 3.0]] * 2), [0.0, 2.5]), rng=0)
    >>> (ranks * 4).astype(int).tolist()
    [0, 2]
    """
    lower, upper = pit_limits(forecasts, ensemble)
    if np.array_equal(lower, upper):
        return lower
    return lower + np.random.default_rng(rng).random(forecasts.n_samples) * (upper - lower)


def pit_limits(forecasts: Forecasts, ensemble: Ensemble = "fair") -> tuple[FloatArray, FloatArray]:
    """Return P(Z < y) and P(Z <= y) at the targets; for a fair ensemble, with the target counted as a member."""
    check_ensemble(ensemble)
    law = forecasts.distribution
    if not law.has_cdf:
        raise InputError(
            "the probability integral transform needs univariate distributions with a distribution function, but this "
            f"is {law}."
        )
    lower, upper = law.cdf_below(forecasts.targets), law.cdf(forecasts.targets)
    if isinstance(law, Samples) and ensemble == "fair":
        m = law.n_draws
        return lower * m / (m + 1), (upper * m + 1) / (m + 1)
    return lower, upper


def level_shares(lower: FloatArray, upper: FloatArray, levels: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the map from weights, (n, B), to the share of transforms that are at most each level, (q, B).

    A transform between `lower` and `upper` counts by the probability that its randomised value is at most the level.
    Levels must ascend.
    """
    from scipy.sparse import csr_array

    n, first, last = len(lower), np.searchsorted(levels, lower), np.searchsorted(levels, upper)
    counts = last - first + 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    row = np.repeat(np.arange(n), counts)
    level = first[row] + np.arange(len(row)) - starts[row]
    # Between the first level that a transform may be below and the first that it is surely below, its share grows.
    reached, width = np.ones(len(row)), (upper - lower)[row]
    between = level < last[row]
    np.divide(levels[np.minimum(level, len(levels) - 1)] - lower[row], width, out=reached, where=between)
    steps = np.diff(reached, prepend=0.0)
    steps[starts[:-1]] = reached[starts[:-1]]
    scatter = csr_array((steps, level, starts), shape=(n, len(levels) + 1)).T
    return lambda weights: np.cumsum(scatter @ weights, axis=0)[:-1] / weights.sum(axis=0)
