"""Student predictive distributions."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts.by_quantiles import ByQuantiles
from calibrant.forecasts.checks import as_columns, check_positive, fail_at
from calibrant.forecasts.location_scale import LocationScale, as_column


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Student(LocationScale, ByQuantiles):
    r"""Student (t) predictive distributions, with heavier tails than normals.

    Parameters
    ----------
    loc : array-like of shape (n,), or float
        Means, which are also the medians.
    scale : array-like of shape (n,), or float
        Scales: with more than two degrees of freedom :math:`\nu`, the standard deviations are
        :math:`\sqrt{\nu / (\nu - 2)}` times as large; with fewer they are infinite.
    df : array-like of shape (n,), or float
        Degrees of freedom :math:`\nu`, above 1, so that there is a mean.

    Notes
    -----
    With :math:`z = (y - loc) / scale`, the distribution function T and the density t of the standard law,

    .. math:: E |Z - z| = z (2 T(z) - 1) + \frac{2 (\nu + z^2)}{\nu - 1} t(z), \qquad
        E |Z - Z'| = \frac{4 \sqrt\nu}{\nu - 1} \frac{B(1/2, \nu - 1/2)}{B(1/2, \nu / 2)^2}.

    References
    ----------
    A. Jordan, F. Krueger, S. Lerch, "Evaluating probabilistic forecasts with scoringRules", Journal of Statistical
    Software 90 (2019).

    Examples
    --------
    >>> predicted = Student([0.0, 3.0], scale=[1.0, 5.0], df=4.0)
    >>> predicted.cdf([0.0, 3.0]).tolist()
    [0.5, 0.5]
    >>> predicted.sd().round(4).tolist()  # sqrt(4 / 2) times the scale
    [1.4142, 7.0711]
    """

    by_row = ("loc", "scale", "df")

    df: FloatArray

    def __init__(self, loc: object, scale: object, df: object) -> None:
        (loc, scale, df), source = as_columns(loc=loc, scale=scale, df=df)
        check_positive("scale", scale)
        if (df <= 1).any():
            fail_at("df", df, df <= 1, "must exceed 1, so that there is a mean")
        self._store(loc=loc, scale=scale, df=df, source=source)

    @property
    def has_sd(self) -> bool:
        """Whether all rows have more than two degrees of freedom."""
        return bool((self.df > 2).all())

    def sd(self) -> FloatArray:
        """Return the standard deviations, of shape (n,); infinite up to two degrees of freedom."""
        finite = self.df > 2
        safe = np.where(finite, self.df, 3.0)
        return np.where(finite, self.scale * np.sqrt(safe / (safe - 2)), np.inf)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values from the law of every row: (n, size)."""
        return self.loc[:, None] + self.scale[:, None] * rng.standard_t(self.df[:, None], (self.n, size))

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y); row i at y[i], which may hold one value or several."""
        from scipy.special import stdtr

        z = self._standardise(y)
        return stdtr(as_column(self.df, z.ndim), z)

    def standard_quantiles(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles of the standard law."""
        from scipy.special import stdtrit

        return stdtrit(self.df[:, None], levels)

    def standard_log_density(self, z: FloatArray) -> FloatArray:
        """Return the logarithm of the density of the standard law."""
        from scipy.special import betaln

        df = as_column(self.df, z.ndim)
        return -betaln(0.5, df / 2) - 0.5 * np.log(df) - 0.5 * (df + 1) * np.log1p(z * z / df)

    @np.errstate(all="ignore")  # Far in the tails the square may overflow, and the density is 0.
    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, of shape (n,)."""
        from scipy.special import stdtr

        z, df = np.abs(self._standardise(y)), self.df
        beyond = (df + z * z) / (df - 1) * np.exp(self.standard_log_density(z)) - z * stdtr(df, -z)
        return self.scale * (z + 2 * beyond)

    def mean_spread(self, *, fair: bool = False) -> FloatArray:  # noqa: ARG002 (matters for ensembles)
        """Return ``E |Z_i - Z'_i|`` for two independent draws from row i, of shape (n,)."""
        from scipy.special import betaln

        ratio = np.exp(betaln(0.5, self.df - 0.5) - 2 * betaln(0.5, self.df / 2))
        return self.scale * 4 * np.sqrt(self.df) / (self.df - 1) * ratio
