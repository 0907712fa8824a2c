"""The container of predictive distributions and observed targets, and kernels on targets against its forecasts."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.checks import as_weights, check_alignment, check_length
from calibrant._border.convert import Raw, convert
from calibrant._border.types import FloatArray, RowIndex
from calibrant.exceptions import InputError
from calibrant.forecasts.checks import as_numbers
from calibrant.forecasts.convolution import Profile, check_kernel, kernel_value
from calibrant.forecasts.distribution import Distribution
from calibrant.forecasts.samples import distances


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Forecasts:
    """Predictive distributions together with the observed targets.

    Everything is checked here and in the distribution, once; the arrays inside are float64, read-only copies.

    Parameters
    ----------
    distribution : Distribution
        One distribution per row: `Normal`, `Laplace`, `MvNormal`, `Mixture` or `Samples`. Any other object with
        `rvs(size, random_state)`, such as a frozen distribution of scipy.stats, becomes a `MonteCarlo`.
    targets : array-like of shape (n,) or (n, d)
        Observed values.
    weights : array-like of shape (n,), optional
        Non-negative weights of the rows, as for `Predictions`: relative, and 0 for a row that counts as absent.

    Attributes
    ----------
    distribution : Distribution
    targets : ndarray of shape (n,) or (n, d)
    weights : ndarray of shape (n,)
        Ones if no weights were given.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal(loc=[0.0, 1.0], scale=[1.0, 2.0]), targets=[0.3, -1.0])
    >>> f.n_samples
    2
    >>> f.take([1]).targets.tolist()
    [-1.0]
    """

    distribution: Distribution
    targets: FloatArray
    weights: FloatArray

    def __init__(self, distribution: object, targets: object, weights: object = None) -> None:
        raw = convert(targets, "targets")
        numbers = as_numbers(raw, (1, 2), "(n,) or (n, d)")
        law = _as_distribution(distribution, len(numbers))
        raw_weights = None if weights is None else convert(weights, "weights")
        for one, other in ((law.source, raw), (raw, raw_weights), (law.source, raw_weights)):
            if one is not None and other is not None:
                check_alignment(one, other)
        self._store(law, _as_targets(numbers, raw, law), as_weights(raw_weights, law.n))

    @classmethod
    def _trusted(cls, distribution: Distribution, targets: FloatArray, weights: FloatArray) -> Self:
        """Build from what the library derived from checked arrays: no checks, no copies."""
        self = cls.__new__(cls)
        self._store(distribution, targets, weights)
        return self

    def _store(self, distribution: Distribution, targets: FloatArray, weights: FloatArray) -> None:
        for array in (targets, weights):
            array.setflags(write=False)
        store = object.__setattr__
        store(self, "distribution", distribution)
        store(self, "targets", targets)
        store(self, "weights", weights)

    def __repr__(self) -> str:
        return f"Forecasts({self.distribution!r})"

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.targets)

    @property
    def is_weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool(np.any(self.weights != 1.0))

    def take(self, rows: RowIndex) -> Self:
        """Return the forecasts at these rows (indices, a slice or a mask), in this order."""
        return self._trusted(self.distribution.take(rows), self.targets[rows], self.weights[rows])

    def with_targets(self, targets: FloatArray) -> Self:
        """Return the same forecasts with other targets, which are trusted."""
        return self._trusted(self.distribution, targets, self.weights)

    def batches(self, n_batches: int) -> list[Self]:
        """Split the draws of a Monte Carlo distribution, for standard errors; see `Distribution.batches`."""
        return [self._trusted(law, self.targets, self.weights) for law in self.distribution.batches(n_batches)]


def _as_distribution(distribution: object, n: int) -> Distribution:
    if isinstance(distribution, Distribution):
        return distribution
    if callable(getattr(distribution, "rvs", None)) and not isinstance(distribution, type):
        from calibrant.forecasts.sampled import MonteCarlo

        return MonteCarlo(distribution, n=n)
    found = repr(distribution) if isinstance(distribution, type) else f"a {type(distribution).__name__}"
    raise TypeError(
        "distribution must be Normal, Laplace, MvNormal, Mixture, Samples or an object with rvs(size, random_state), "
        f"but is {found}. Pass Normal(loc, scale) for means and standard deviations, or "
        "Samples(draws) for an ensemble."
    )


def _as_targets(numbers: FloatArray, raw: Raw, law: Distribution) -> FloatArray:
    """Return targets of the shape that the laws need."""
    if law.n == 1 and len(numbers) > 1:
        raise InputError(
            f"distribution must have one entry per row, but has 1, for {len(numbers)} targets. If it is meant "
            "for all of them, repeat it: distribution.take(np.zeros(n, dtype=int))."
        )
    check_length(raw, law.n)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    found = numbers.shape[1] if numbers.ndim == 2 else 1
    if found != law.dim:
        raise InputError(
            f"targets must have {law.dim} coordinate{'s' if law.dim > 1 else ''} per row, like the distribution, but "
            f"have shape {raw.values.shape}."
        )
    return np.ascontiguousarray(numbers.reshape(law.n, *law.event_shape))


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
    one, other = first.distribution.for_pairs(), second.distribution.for_pairs()
    deviation = target_kernel(profile, lengthscale, first.targets, second.targets)
    deviation -= one.expect(profile, lengthscale, second.targets)
    deviation -= other.expect(profile, lengthscale, first.targets).T
    return deviation + one.expect_pair(profile, lengthscale, other)


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
