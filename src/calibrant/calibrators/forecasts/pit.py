"""A map of predicted probabilities, learnt from the probability integral transforms of the targets."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts.forecast_calibrator import ForecastCalibrator
from calibrant.calibrators.rules import Rule, are_levels
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, ProbabilityMap, Recalibrated
from calibrant.forecasts.transform import level_shares, pit_limits

MOST_KNOTS, ROWS_PER_KNOT = 10, 20
"""Largest number of knots, and number of rows per knot, with knots="few"."""

LEAST_WITH_ENDS = 5
"""With fewer knots, all are needed in the middle."""

LEAST, LARGEST = 1e-12, 1.0 - 1e-12
"""Transforms are limited to this range: closer to 1, floats have too few digits for a map."""


@dataclass(eq=False, repr=False)
class PITMap(ForecastCalibrator):
    r"""Replace the distribution functions F by R(F), where R is the distribution of the transforms F(y).

    Parameters
    ----------
    knots : {"few", "all"} or int, default="few"
        "few": one per 20 rows, at most 10: the smallest and the largest transform, and equally spaced shares in
        between; the result has a usable density. "all": one per row. Quantiles are then split-conformal, but the
        density is so rough that the log score is worse by :math:`1 - \gamma = 0.42` for any number of rows. An integer
        is the number of knots.

    Attributes
    ----------
    levels_, shares_ : ndarray of shape (K,)
        The knots of R: predicted probabilities, and their calibrated values.

    Notes
    -----
    Sorted transforms :math:`u_{(i)}` are mapped to :math:`i / (n + 1)`, and the map is linear in between. Equal
    transforms are mapped to the largest of their shares; with weights, the share is the cumulative weight over the
    total plus 1. K knots are the outermost points of this map and those at the shares :math:`j / (K - 1)`; fewer than
    five are at :math:`j / (K + 1)`. The ends show how far out targets occur. For distributions with atoms, the
    randomised transforms are replaced by their expected distribution, with the uniform one as an additional row.

    At the knots of "all", the quantile at level q is the one-sided conformal one:
    :math:`q \le P(y \le Q_q) \le q + 1 / (n + 1)`.

    The map is the same for all rows, so it corrects errors on average. Beyond the outermost knots it keeps the shape of
    the tails, so distributions should be scaled first: "shift-scale>pit".

    References
    ----------
    V. Kuleshov, N. Fenner, S. Ermon, "Accurate uncertainties for deep learning using calibrated regression", ICML 2018;
    V. Dheur, S. Ben Taieb, "A large-scale study of probabilistic calibration in neural network regression", ICML 2023.

    Examples
    --------
    >>> from calibrant.forecasts import Quantiles
    >>> flat = Quantiles([0.25, 0.75], [[0.25, 0.75]] * 3)
    >>> fitted = PITMap(knots="all").fit(Forecasts(flat, [0.3, 0.6, 0.7]))
    >>> fitted.levels_.tolist(), fitted.shares_.tolist()
    ([0.3, 0.6, 0.7], [0.25, 0.5, 0.75])
    """

    knots: Literal["few", "all"] | int = "few"

    n_parameters = "10 or one per row"
    accepts = "continuous"
    least_rows = 200
    use_when = "Errors are skewed or have another unusual shape, after the spread has been scaled."
    rules = (
        Rule(("levels_", "shares_"), are_levels, "must have the same length and be strictly increasing within (0, 1)"),
    )

    def _fit(self, forecasts: Forecasts) -> None:
        if isinstance(self.knots, str) and self.knots not in ("few", "all"):
            raise InputError(f'knots must be "few", "all" or a whole number, but is {self.knots!r}.')
        levels, shares = _all_knots(forecasts)
        if self.knots != "all":
            wanted = _few(self._n_knots(forecasts), shares)
            at = np.interp(wanted, np.concatenate([[0.0], shares, [1.0]]), np.concatenate([[0.0], levels, [1.0]]))
            levels, shares = _distinct(at.clip(LEAST, LARGEST), wanted)
        self.levels_, self.shares_ = levels, shares

    def _n_knots(self, forecasts: Forecasts) -> int:
        if self.knots == "few":
            return min(MOST_KNOTS, int(forecasts.weights.sum() / ROWS_PER_KNOT))
        check_count(self.knots, "knots")
        return int(self.knots)

    def _apply(self, distribution: Distribution) -> Distribution:
        return Recalibrated(distribution, ProbabilityMap(self.levels_, self.shares_))


def _all_knots(forecasts: Forecasts) -> tuple[FloatArray, FloatArray]:
    """Return the knots of the map through all transforms."""
    lower, upper = pit_limits(forecasts)
    total = forecasts.weights.sum()
    if np.array_equal(lower, upper):
        order = np.argsort(upper, kind="stable")
        shares = np.cumsum(forecasts.weights[order]) / (total + 1)
        return _distinct(upper[order].clip(LEAST, LARGEST), shares)
    points = np.unique(np.concatenate([lower, upper]).clip(LEAST, LARGEST))
    shares = level_shares(lower, upper, points)(forecasts.weights[:, None])[:, 0]
    return points, (total * shares + points) / (total + 1)


def _few(n_knots: int, shares: FloatArray) -> FloatArray:
    """Return the shares of a number of knots: equally spaced ones and, with at least five, the outermost."""
    if n_knots < LEAST_WITH_ENDS:
        return np.arange(1, n_knots + 1) / (n_knots + 1)
    inner = np.arange(1, n_knots - 1) / (n_knots - 1)
    return np.unique(np.clip(np.concatenate([shares[[0, -1]], inner]), shares[0], shares[-1]))


def _distinct(levels: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the last entry of each run of equal levels."""
    last = np.ones(len(levels), dtype=bool)
    last[:-1] = levels[1:] > levels[:-1]
    return levels[last], shares[last]
