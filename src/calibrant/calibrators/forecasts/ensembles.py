"""Calibrators of ensemble forecasts, and of quantile forecasts."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.conformal_scores import order_statistic, rank_at_least, rank_at_most
from calibrant.calibrators.forecasts.forecast_calibrator import ForecastCalibrator, average, refuse_exact
from calibrant.calibrators.forecasts.scaling import FACTOR, simplex_minimum
from calibrant.calibrators.rules import Rule, are_levels, vector
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, Quantiles, Samples


@dataclass(eq=False, repr=False)
class EnsembleInflation(ForecastCalibrator):
    r"""Shift the members of each ensemble, and multiply their distances from their mean by one factor.

    Parameters
    ----------
    score : {"crps", "moments"}, default="crps"
        "crps": shift and factor minimise the fair CRPS (for vectors, the fair energy score). "moments": they match
        the first two moments, in closed form.

    Attributes
    ----------
    shift_ : ndarray of shape (d,)
        The shift a, one number per coordinate of the targets.
    factor_ : float
        Above 1 if the ensembles were too narrow.

    Notes
    -----
    Members become :math:`M + a + k (x - M)`, where M is the mean of the row's members. So members keep their order, and
    vectors keep the dependence between coordinates. With "moments", a is the mean of :math:`y - M` and

    .. math:: k^2 = \frac{\overline{(y - M - a)^2}}{(1 + 1 / m) \overline{s^2}},

    where :math:`s^2` is the variance of the m members, with the divisor m - 1: a target that is exchangeable with them
    has the variance :math:`(1 + 1 / m) s^2` about M. The fair score is convex in a and k.

    The fair score assumes that members are independent draws from one distribution. After they were moved relative to
    their own mean they are not, and the score rewards a factor that is too large, the more so the fewer members there
    are. On simulated ensembles with 0.6 times the right spread, the factor by moments is 1.58, 1.63 and 1.65 for 5, 10
    and 20 members, and that by the score is 2.50, 2.00 and 1.82, after which targets are too close to the middle. So
    ensembles of fewer than 50 members should be inflated by moments.

    References
    ----------
    C. A. T. Ferro, "Fair scores for ensemble forecasts", QJRMS 140 (2014).

    Examples
    --------
    >>> members = Samples([[-1.0, 0.0, 1.0]] * 4)
    >>> fitted = EnsembleInflation("moments").fit(Forecasts(members, [5.0, 9.0, 5.0, 9.0]))
    >>> fitted.shift_.tolist(), round(fitted.factor_ ** 2, 6)  # 4 / (4 / 3)
    ([7.0], 3.0)
    """

    score: Literal["crps", "moments"] = "crps"

    n_parameters = "1 + d"
    accepts = "ensemble"
    least_rows = 20
    use_when = "The forecasts are ensembles."
    has_density = False
    rules = (
        Rule(("shift_",), lambda a: len(vector(a)) > 0 and np.isfinite(a).all(), "must be finite numbers"),
        FACTOR,
    )

    def _fit(self, forecasts: Forecasts) -> None:
        check_option(self.score, "score", "crps", "moments")
        law, weights = forecasts.distribution, forecasts.weights
        errors = (forecasts.targets - law.mean()).reshape(law.n, -1)
        shift = weights @ errors / weights.sum()
        draws = law.draws if isinstance(law, Samples) else np.zeros((law.n, 1))
        m = draws.shape[1]
        spread = average(np.square(law.sd()).reshape(law.n, -1).sum(axis=1), weights) * (m + 1) / (m - 1)
        if (draws == draws[:, :1]).all():  # The spread about their rounded mean need not be 0.
            spread = 0.0
        refuse_exact(spread, "the members of an ensemble are equal")
        factor = float(np.sqrt(average(np.square(errors - shift).sum(axis=1), weights) / spread))
        refuse_exact(factor, "targets have the same distance from the means of the ensembles")
        if self.score == "crps":
            shift, factor = _by_score(forecasts, shift, factor)
        self.shift_, self.factor_ = shift, factor

    def _apply(self, distribution: Distribution) -> Distribution:
        return _inflated(distribution, self.shift_, self.factor_)


def _inflated(law: Distribution, shift: FloatArray, factor: float) -> Distribution:
    offset = (1 - factor) * law.mean() + (shift if law.event_shape else shift[0])
    return law.affine(offset, np.full(law.n, factor))


def _by_score(forecasts: Forecasts, shift: FloatArray, factor: float) -> tuple[FloatArray, float]:
    """Return the shift and factor that minimise the fair score; the search starts at those given."""
    law, y, weights = forecasts.distribution, forecasts.targets, forecasts.weights
    spread = average(law.mean_spread(fair=True), weights)
    unit = factor * spread

    def moved(x: FloatArray) -> tuple[FloatArray, float]:
        return shift + unit * x[:-1], factor * float(np.exp(x[-1]))

    def objective(x: FloatArray) -> float:
        own, k = moved(x)
        return average(_inflated(law, own, k).mean_distance(y), weights) - 0.5 * k * spread

    return moved(simplex_minimum(objective, np.zeros(len(shift) + 1)))


def _shifts(levels: FloatArray, shifts: FloatArray) -> bool:
    return are_levels(levels) and len(vector(shifts)) == len(levels) >= 2


@dataclass(eq=False, repr=False)
class QuantileShift(ForecastCalibrator):
    r"""Shift each column of quantiles such that it covers its level.

    Parameters
    ----------
    outward : bool, default=False
        Whether columns below the median are lower limits: the share of targets below them is at most their level. By
        default the share of targets at or below every column is at least its level.

    Attributes
    ----------
    levels_ : ndarray of shape (m,)
    shifts_ : ndarray of shape (m,)
        Infinite if there are too few rows for a level.

    Notes
    -----
    At level q, the order statistic of :math:`y - Q_q(x)` at rank :math:`\lceil (n + 1) q \rceil` is added, so new
    targets have :math:`q \le P(y \le Q_q) < q + 1 / (n + 1)` if rows are exchangeable. The order statistic of rank
    n + 1 is infinity. A lower limit takes the rank :math:`\lfloor (n + 1) q \rfloor`; that of rank 0 is minus infinity.
    Then each row is sorted, which never increases the pinball loss.

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

    outward: bool = False

    n_parameters = "one per level"
    accepts = "quantiles"
    guarantee = "marginal coverage"
    use_when = "The forecasts are columns of quantiles."
    rules = (Rule(("levels_", "shifts_"), _shifts, "must be ascending levels, with one shift each"),)

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
    return ", ".join(as_given(level) for level in levels[:12]) + (", ..." if len(levels) > 12 else "")
