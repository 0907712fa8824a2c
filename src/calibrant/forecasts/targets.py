"""Target kernels against forecasts: the parts of kernel calibration errors that involve targets."""

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.container import Forecasts
from calibrant.forecasts.convolution import Profile, check_kernel, kernel_value
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.samples import distances


def target_kernel(profile: Profile, lengthscale: float, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return k(y_i, z_j) for targets of shapes (n[, d]) and (m[, d]), of shape (n, m)."""
    check_kernel(profile, lengthscale)
    return kernel_value(profile, lengthscale, distances(y[:, None], z[:, None])[:, 0, :, 0])


def target_deviation(forecasts: Forecasts, profile: Profile, lengthscale: float, y: FloatArray) -> FloatArray:
    """Return k(y_i, y_j) - E k(Z_i, y_j), where y_i are the targets and Z_i follow the forecasts, of shape (n, m).

    Its mean is 0 for calibrated forecasts, for any points y_j of shape (m,) or (m, d).

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal([0.0], [np.sqrt(3)]), [0.0])
    >>> target_deviation(f, "gaussian", 1.0, np.array([0.0])).round(6).tolist()
    [[0.5]]
    """
    expected = forecasts.distribution.expect(profile, lengthscale, y)
    return target_kernel(profile, lengthscale, forecasts.targets, y) - expected


def target_discrepancy(first: Forecasts, second: Forecasts, profile: Profile, lengthscale: float) -> FloatArray:
    r"""Return the discrepancies of all rows with all rows of `second`, of shape (n, n').

    .. math:: k(y_i, y_j) - E k(Z_i, y_j) - E k(y_i, Z_j) + E k(Z_i, Z_j)

    with targets y and independent Z from the forecasts. Times a kernel of the predictions, this is the summand of
    kernel calibration errors.

    Examples
    --------
    >>> from calibrant.forecasts import Laplace
    >>> f = Forecasts(Laplace([0.0], [1.0]), [0.0])
    >>> target_discrepancy(f, f, "exponential", 1.0).tolist()
    [[0.375]]
    """
    deviation = target_deviation(first, profile, lengthscale, second.targets)
    expected = second.distribution.expect(profile, lengthscale, first.targets).T
    return deviation - expected + first.distribution.expect_pair(profile, lengthscale, second.distribution)


def default_lengthscale(distribution: Distribution) -> float:
    """Return a lengthscale for target kernels that depends on the predictions only, so that tests stay valid.

    It is the median of the predicted spreads, a spread being the root of the sum of the variances of all coordinates.
    Rows that predict a single point, or an infinite spread, are left out; if all do, it is 1.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> default_lengthscale(Normal([0.0, 0.0, 0.0], [1.0, 2.0, 9.0]))
    2.0
    """
    spreads = np.sqrt(np.square(distribution.sd()).reshape(distribution.n, -1).sum(axis=1))
    spreads = spreads[(spreads > 0) & np.isfinite(spreads)]
    return float(np.median(spreads)) if len(spreads) else 1.0
