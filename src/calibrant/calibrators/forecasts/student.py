"""Replace distributions by Student's t-distributions with tails as heavy as those of the errors."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.forecast_calibrator import (
    ForecastCalibrator,
    average,
    frame_of,
    refuse_exact,
    standardised,
)
from calibrant.calibrators.forecasts.scaling import FACTOR, SHIFT
from calibrant.calibrators.rules import Rule
from calibrant.forecasts import Distribution, Forecasts, Normal, Student

MOST_FREEDOM = 200.0
"""With more degrees of freedom, a normal distribution is used."""

BOUNDS = ((-3.0, 3.0), (-6.0, 3.0), (-4.0, 9.0))
"""Bounds of the shift and of the logarithm of the factor, both relative to the normal fit, and of ln (nu - 1)."""


@dataclass(eq=False, repr=False)
class StudentScaling(ForecastCalibrator):
    r"""Replace every distribution by a Student's t-distribution with tails as heavy as those of the errors.

    Parameters
    ----------
    shift : bool, default=True
        Whether distributions may be shifted, by a multiple of their spread.

    Attributes
    ----------
    shift_, factor_ : float
        b and k.
    df_ : float
        The degrees of freedom, above 1; infinity, which is a normal distribution, instead of more than 200.

    Notes
    -----
    Only the mean :math:`\mu_i` and the spread :math:`\sigma_i` of a distribution are used. The result is Student's
    t-distribution with location :math:`\mu_i + b \sigma_i`, scale :math:`k \sigma_i` and :math:`\nu` degrees of
    freedom, where b, k and :math:`\nu` maximise the likelihood.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> f = Forecasts(Normal(np.zeros(2000), 1.0), 0.5 + 2 * rng.standard_t(4, 2000))
    >>> fitted = StudentScaling().fit(f)
    >>> round(fitted.shift_, 1), round(fitted.factor_), round(fitted.df_)
    (0.5, 2, 4)
    """

    shift: bool = True

    n_parameters = "3"
    accepts = "spread"
    least_rows = 200
    use_when = "Errors have heavier tails than the distributions, in particular if there are outliers."
    rules = (SHIFT, FACTOR, Rule(("df_",), lambda df: df > 1, "must exceed 1"))

    @property
    def keeps_mean(self) -> bool:  # type: ignore[override]  # by the setting
        """Whether there is no shift."""
        return not self.shift

    keeps_median = keeps_mean

    def _fit(self, forecasts: Forecasts) -> None:
        from scipy.optimize import minimize

        z, weights = standardised(forecasts), forecasts.weights / forecasts.weights.sum()
        centre = average(z, weights) if self.shift else 0.0
        spread = float(np.sqrt(average((z - centre) ** 2, weights)))
        refuse_exact(spread, "targets have the same distance from the predicted means")
        free = [self.shift, True, True]

        def objective(x: FloatArray) -> tuple[float, FloatArray]:
            full = np.zeros(3)
            full[free] = x
            value, slope = _loss((z - centre) / spread, weights, *full)
            return value, slope[free]

        bounds = [bound for bound, is_free in zip(BOUNDS, free, strict=True) if is_free]
        start = np.array([0.0, -0.3, 1.5])[free]
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
        found = np.zeros(3)
        found[free] = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        df = 1 + float(np.exp(found[2]))
        if df > MOST_FREEDOM:
            found, df = np.zeros(3), np.inf
        self.shift_, self.factor_, self.df_ = centre + spread * float(found[0]), spread * float(np.exp(found[1])), df

    def _apply(self, distribution: Distribution) -> Distribution:
        centre, unit = frame_of(distribution)
        loc, scale = centre + self.shift_ * unit, self.factor_ * unit
        if np.isinf(self.df_):
            return Normal._trusted(loc=loc, scale=scale)  # noqa: SLF001 (from checked distributions)
        return Student._trusted(loc=loc, scale=scale, df=np.full(len(loc), self.df_))  # noqa: SLF001 (as above)


def _loss(
    z: FloatArray, weights: FloatArray, shift: float, log_factor: float, log_df: float
) -> tuple[float, FloatArray]:
    """Return the mean log score of a t-distribution with 1 + exp(log_df) degrees of freedom, and its gradient."""
    from scipy.special import betaln, psi

    factor, df = np.exp(log_factor), 1 + np.exp(log_df)
    t = (z - shift) / factor
    squares = t * t / df
    logs = np.log1p(squares)
    pull = (df + 1) / df * t / (1 + squares)
    value = betaln(0.5, df / 2) + 0.5 * np.log(df) + log_factor + (df + 1) / 2 * float(weights @ logs)
    by_df = (psi(df / 2) - psi((df + 1) / 2) + 1 / df + float(weights @ logs)) / 2
    by_df -= (df + 1) / (2 * df) * float(weights @ (squares / (1 + squares)))
    gradient = np.array([-float(weights @ pull) / factor, 1 - float(weights @ (pull * t)), by_df * (df - 1)])
    return float(value), gradient
