"""Monte Carlo limits: what a finite number of simulated p-values can say."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray


def clopper_pearson(hits: int, total: int, level: float = 0.999) -> tuple[float, float]:
    """Return the exact interval of a probability of which `hits` of `total` draws were seen.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, level=0.95)  # the upper limit solves (1 - q)**10 = 0.025
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(hits, total - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, total - hits, 1 - tail)) if hits < total else 1.0
    return low, high


def rate(hits: int, total: int) -> str:
    """Write a rate with its interval.

    Examples
    --------
    >>> rate(0, 1000)
    '0.000 (0.000 to 0.008)'
    """
    low, high = clopper_pearson(hits, total)
    return f"{hits / total:.3f} ({low:.3f} to {high:.3f})"


def band_width(total: int, level: float = 0.999) -> float:
    r"""Return how far an empirical distribution function rises above the true one at most, anywhere, at this level.

    Notes
    -----
    The one-sided inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant,
    :math:`P(\sup_t (F_R(t) - F(t)) > \varepsilon) \le e^{-2 R \varepsilon^2}`, solved for :math:`\varepsilon`. It holds
    for discrete p-values too.

    Examples
    --------
    >>> round(band_width(2000), 4)
    0.0416
    """
    return float(np.sqrt(-np.log1p(-level) / (2 * total)))


class Departure(NamedTuple):
    """How far the distribution function of p-values leaves the uniform one, upwards and downwards."""

    excess: float
    deficit: float


def departure(pvalues: FloatArray) -> Departure:
    """Return the largest ECDF(t) - t and the largest t - ECDF(t) over all t in [0, 1], neither below 0.

    Examples
    --------
    >>> departure(np.array([0.25, 0.5]))
    Departure(excess=0.5, deficit=0.25)
    """
    ordered = np.sort(pvalues)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    excess = float(np.max(steps[1:] - ordered))
    deficit = float(np.max(ordered - steps[:-1]))
    return Departure(max(0.0, excess), max(0.0, deficit))
