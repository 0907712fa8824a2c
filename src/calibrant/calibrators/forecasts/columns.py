"""Columns of quantiles shifted so that they cover what they should."""

from typing import ClassVar

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.base import ForecastCalibrator, Guarantee
from calibrant.calibrators.forecasts.ranks import order_statistic, rank_at_least, rank_at_most
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, Quantiles


class QuantileShift(ForecastCalibrator):
    r"""Add to each column of quantiles the number that makes it cover what its level says.

    Parameters
    ----------
    outward : bool, default=False
        Whether columns below the median are lower limits, which at most their level of the targets may lie below.
        By default every column has at least its level of the targets below or at it.

    Attributes
    ----------
    levels_ : ndarray of shape (m,)
    shifts_ : ndarray of shape (m,)
        Infinite if there are too few rows for a level.

    Notes
    -----
    At level q, the order statistic of :math:`y - Q_q(x)` at rank :math:`\lceil (n + 1) q \rceil` is added, so that new
    targets have :math:`q \le P(y \le Q_q) < q + 1 / (n + 1)`, if rows are exchangeable. A rank of n + 1 is infinite. A
    lower limit takes the rank :math:`\lfloor (n + 1) q \rfloor`, and minus infinity for 0. Then each row is sorted,
    which never makes the pinball loss larger.

    References
    ----------
    Y. Romano, E. Patterson, E. J. Candes, "Conformalized quantile regression", NeurIPS 2019; V. Chernozhukov,
    I. Fernandez-Val, A. Galichon, "Quantile and probability curves without crossing", Econometrica 78 (2010).

    Examples
    --------
    >>> law = Quantiles([0.25, 0.5, 0.75], [[-1.0, 0.0, 1.0]] * 3)
    >>> fitted = QuantileShift().fit(Forecasts(law, [2.0, 3.0, 7.0]))
    >>> fitted.shifts_.tolist()  # ranks 1, 2 and 3 of the targets less the quantiles
    [3.0, 3.0, 6.0]
    """

    n_parameters: ClassVar[str] = "one per level"
    accepts: ClassVar[str] = "quantiles"
    guarantee: Guarantee = "marginal coverage"
    use_when: ClassVar[str] = "The forecasts are columns of quantiles."

    def __init__(self, outward: bool = False) -> None:
        self.outward = outward

    def _fit(self, forecasts: Forecasts) -> None:
        law = _as_quantiles(forecasts.distribution)
        total = float(forecasts.weights.sum())
        shifts = []
        for level, column in zip(law.levels, law.values.T, strict=True):
            is_lower = self.outward and level < 0.5
            rank = rank_at_most(total, level) if is_lower else rank_at_least(total, level)
            shifts.append(order_statistic(forecasts.targets - column, forecasts.weights, rank))
        self.levels_, self.shifts_ = np.array(law.levels), np.array(shifts)

    def _apply(self, distribution: Distribution) -> Distribution:
        law = _as_quantiles(distribution)
        if not np.array_equal(law.levels, self.levels_):
            raise InputError(
                f"quantiles must have the levels of those of the fit, {_listed(self.levels_)}, but have "
                f"{_listed(law.levels)}."
            )
        return law.with_values(np.sort(law.values + self.shifts_, axis=1))


def _as_quantiles(law: Distribution) -> Quantiles:
    if not isinstance(law, Quantiles):
        raise TypeError(f"quantiles are needed, but these are {law}.")
    return law


def _listed(levels: FloatArray) -> str:
    return ", ".join(f"{level:g}" for level in levels[:12]) + (", ..." if len(levels) > 12 else "")
