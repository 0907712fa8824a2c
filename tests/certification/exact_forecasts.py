"""Certified values for normal forecasts, from their definitions."""

from itertools import combinations
from typing import Any

from mpmath import mp, mpf

from certification.exact import Row, mean, normal_cdf


def of_forecasts(mu: Row, sd: Row, target: Row) -> dict[str, Any]:
    """Return the answers for normal forecasts of means and standard deviations, and targets."""
    n = len(mu)
    rows = list(zip(mu, sd, target, strict=True))
    z = [(t - m) / s for m, s, t in rows]
    quantile = mp.sqrt(2) * mp.erfinv(mpf(9) / 10)

    def gaussian(x: Any, variance: Any) -> Any:
        """Return the mean of exp(-d^2 / 2) over a normal d of mean x."""
        return mp.exp(-(x**2) / (2 * (1 + variance))) / mp.sqrt(1 + variance)

    def pair(i: int, j: int) -> Any:
        distance = mp.sqrt((mu[i] - mu[j]) ** 2 + (sd[i] - sd[j]) ** 2)
        return mp.exp(-distance) * (
            gaussian(target[i] - target[j], 0)
            - gaussian(target[i] - mu[j], sd[j] ** 2)
            - gaussian(mu[i] - target[j], sd[i] ** 2)
            + gaussian(mu[i] - mu[j], sd[i] ** 2 + sd[j] ** 2)
        )

    return {
        "crps": mean(
            [
                s * (x * (2 * normal_cdf(x) - 1) + 2 * mp.npdf(x) - 1 / mp.sqrt(mp.pi))
                for s, x in zip(sd, z, strict=True)
            ]
        ),
        "log-score": mean([mp.log(s * mp.sqrt(2 * mp.pi)) + x**2 / 2 for s, x in zip(sd, z, strict=True)]),
        "interval-score": mean(
            [2 * quantile * s + 20 * s * max(0, abs(x) - quantile) for s, x in zip(sd, z, strict=True)]
        ),
        "interval-coverage": mean([int(abs(x) <= quantile) for x in z]),
        "skce": 2 * mp.fsum(pair(i, j) for i, j in combinations(range(n), 2)) / (n * (n - 1)),
    }
