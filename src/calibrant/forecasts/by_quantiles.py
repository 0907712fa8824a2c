"""The base of laws on the line that have a distribution function and its inverse, but no closed forms for pairs."""

from functools import cache

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.convolution import Profile
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.samples import Samples

N_POINTS, N_PAIRED = 128, 32
"""Numbers of equally likely values that stand for a law: in expectations of kernels and Wasserstein distances, and in
expectations over pairs of laws, whose cost is the square of the number."""

STEP, REACH = 0.1, 3.1
"""Rule of `integration_rule`; at the ends the level is below 1e-15."""


class ByQuantiles(Distribution):
    """Base of the laws on the line without closed forms for pairs, which are replaced by some of their quantiles.

    Expectations of kernels and Wasserstein distances use the midpoints of 128 equally likely parts, or of 32 for
    kernels of pairs: the error is a few thousandths at most. Kernel calibration errors use the 32 throughout, because
    the errors of both expectations then cancel. Mean differences from other laws are integrals over levels.
    """

    precedence = 3

    def embed(self) -> FloatArray:
        """Return the midpoints of equally likely parts, divided by the root of their number."""
        return quantile_points(self).quantiles() / np.sqrt(N_POINTS)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size)."""
        return self.inverse(rng.uniform(np.finfo(float).tiny, 1.0, (self.n, size)))

    def differences_from(self, other: Distribution) -> FloatArray:
        """Return ``E |Z_i - Z'_i|`` for a partner that does not take precedence, by an integral over levels."""
        levels, shares = integration_rule()
        quantiles = self.inverse(levels)
        return np.asarray(sum(w * other.mean_distance(x) for w, x in zip(shares, quantiles.T, strict=True)))

    def distances_to(self, other: Distribution) -> FloatArray:
        """Return the 2-Wasserstein distances to a partner that does not take precedence."""
        if not other.has_cdf:
            raise self._no_pair(other, "2-Wasserstein distance")
        return quantile_points(self).wasserstein(quantile_points(other))

    def for_pairs(self) -> Distribution:
        """Return the midpoints of 32 equally likely parts, as an ensemble."""
        return quantile_points(self, N_PAIRED)

    def _expect(self, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
        return quantile_points(self).expect(profile, lengthscale, y)

    def expectations_with(self, profile: Profile, lengthscale: float, other: Distribution) -> FloatArray:
        """Return E k(Z_i, Z'_j) for a partner that does not take precedence."""
        return self.for_pairs().expect_pair(profile, lengthscale, other.for_pairs())


def quantile_points(law: Distribution, size: int = N_POINTS) -> Samples:
    """Return the midpoints of equally likely parts of laws on the line, as an ensemble."""
    return Samples._trusted(draws=law.inverse((np.arange(size) + 0.5) / size))  # noqa: SLF001 (our own)


@cache
def integration_rule() -> tuple[FloatArray, FloatArray]:
    """Return levels and weights of a rule for integrals over (0, 1) of functions that may be unbounded at the ends.

    It is the double exponential rule: the level is the logistic function of pi sinh t, on an even grid of t.
    """
    t = np.arange(-REACH, REACH + STEP / 2, STEP)
    levels = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
    shares = STEP * np.pi * np.cosh(t) * levels * (1 - levels)
    return levels, shares / shares.sum()
