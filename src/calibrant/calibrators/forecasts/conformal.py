"""Prediction intervals with guaranteed coverage, whatever the quality of the forecasts."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.settings import check_level, check_option
from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.forecasts.conformal_scores import (
    CONFORMAL_SCORES,
    ConformalScore,
    confident_rank,
    order_statistic,
    rank_at_least,
)
from calibrant.calibrators.forecasts.forecast_calibrator import ForecastCalibrator, Guarantee
from calibrant.calibrators.rules import Rule
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, Quantiles
from calibrant.results import PredictionIntervals


class Conformal(ForecastCalibrator):
    """Base of the conformal intervals: a score, a level, and whether the tails have separate thresholds."""

    n_parameters = "1 or 2"
    accepts = "interval"
    gives = "intervals"
    has_density = False
    level: float
    score: str
    tails: str

    @abstractmethod
    def fit(self, forecasts: Forecasts, column: object = None, /) -> Self:
        """Learn from forecasts and, optionally, the group or the density ratio of each row."""

    @abstractmethod
    def interval(self, distribution: Distribution, column: object = None, /) -> PredictionIntervals:
        """Return one interval per row."""

    def _apply(self, distribution: Distribution) -> Distribution:
        """Return the ends as quantiles at both levels, and the median limited to the interval."""
        found = self.interval(distribution)
        middle = np.clip(distribution.quantile(0.5), found.low, found.high)
        tail = (1 - self.level) / 2
        columns = np.column_stack([found.low, middle, found.high])
        return Quantiles([tail, 0.5, 1 - tail], np.zeros((1, 3))).with_values(columns)

    def _check_settings(self) -> ConformalScore:
        check_level(self.level)
        check_option(self.score, "score", *CONFORMAL_SCORES)
        check_option(self.tails, "tails", "joint", "each")
        return CONFORMAL_SCORES[self.score]

    def _excesses(self, forecasts: Forecasts) -> list[FloatArray]:
        """Return the scores of the rows: those of both sides, or the larger one."""
        below, above = self._check_settings().excesses(forecasts.distribution, forecasts.targets, self.level)
        return [below, above] if self.tails == "each" else [np.maximum(below, above)]

    @property
    def _level_of_each(self) -> float:
        return (1 + self.level) / 2 if self.tails == "each" else self.level


def _thresholds(groups: NDArray[np.str_], thresholds: FloatArray, ranks: IntArray, n_fitted: IntArray) -> bool:
    names, n = groups.tolist(), len(groups)
    counts = all(one.shape == (n,) and one.dtype.kind == "i" and one.min() >= 0 for one in (ranks, n_fitted))
    return n > 0 and names == sorted(set(names)) and counts and thresholds.shape in ((n, 1), (n, 2))


@dataclass(eq=False, repr=False)
class ConformalIntervals(Conformal):
    r"""Prediction intervals by split-conformal prediction, for all rows together or per group.

    Parameters
    ----------
    level : float, default=0.9
        Least probability that a new target is in its interval.
    score : {"normalised", "absolute", "quantiles", "pit"}, default="normalised"
        What is compared: errors in units of the predicted spread, errors, distances from the predicted quantiles
        (conformalised quantile regression, CQR), or distances of the transforms F(y) from 1/2.
    tails : {"joint", "each"}, default="joint"
        "joint": one threshold for both sides. "each": a threshold per side, each with half the miscoverage.
    guarantee_of : {"average", "confidence"}, default="average"
        "average": the level is reached on average over sets of rows to fit. "confidence": it is reached with
        probability `confidence` over these sets (a tolerance interval), which takes a higher rank.
    confidence : float, default=0.95

    Attributes
    ----------
    groups_ : ndarray of str, of shape (G,)
        Names of the groups of the fit; a single empty name without groups.
    thresholds_ : ndarray of shape (G, 1) or (G, 2)
        The threshold scores; infinite if there are too few rows.
    ranks_, n_fitted_ : ndarray of shape (G,)
        Rank of the threshold (0 if weights differ from 1), and number of rows, of each group.

    Notes
    -----
    With n scores the threshold is the k-th smallest, :math:`k = \lceil (n + 1) (1 - \alpha) \rceil`, or infinity if k
    exceeds n. If new rows are exchangeable with these,

    .. math:: 1 - \alpha \le P(\text{covered}) < 1 - \alpha + \frac{1}{n + 1},

    the upper bound only without ties. The coverage depends on the rows of the fit; over these it has the distribution
    Beta(k, n + 1 - k). For a confidence, k is the least rank for which that distribution exceeds the level with that
    probability. With groups (Mondrian), the rule applies within each group; a group with too few rows, or an unseen
    one, has infinite intervals.

    There is no guarantee if the rows of the fit were used to choose the score or the level or to fit another calibrator
    before, if the rows are ordered in time, or if clusters of rows are in both parts. The coverage for a given x may
    differ from the level.

    References
    ----------
    V. Vovk, "Conditional validity of inductive conformal predictors", ACML 2012; J. Lei, M. G'Sell, A. Rinaldo,
    R. J. Tibshirani, L. Wasserman, "Distribution-free predictive inference for regression", JASA 113 (2018); Y. Romano,
    E. Patterson, E. J. Candes, "Conformalized quantile regression", NeurIPS 2019.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal(np.zeros(9), 1.0), [-1.0, 2.0, -3.0, 4.0, 5.0, -6.0, 7.0, 8.0, -9.0])
    >>> fitted = ConformalIntervals(level=0.8).fit(f)  # rank 8 of 9
    >>> found = fitted.interval(Normal([10.0], 1.0))
    >>> isinstance(found, PredictionIntervals)
    True
    >>> found.low.tolist(), found.high.tolist()
    ([2.0], [18.0])
    """

    level: float = 0.9
    score: Literal["normalised", "absolute", "quantiles", "pit"] = "normalised"
    tails: Literal["joint", "each"] = "joint"
    guarantee_of: Literal["average", "confidence"] = "average"
    confidence: float = 0.95

    use_when = "Intervals of one level with a guarantee are needed, not the whole distribution."
    rules = (Rule(("groups_", "thresholds_", "ranks_", "n_fitted_"), _thresholds, "must be one entry per group"),)

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]  # by what was fitted
        """The guarantee: per group, if there are groups."""
        return "per group" if len(getattr(self, "groups_", ())) > 1 else "marginal coverage"

    def fit(self, forecasts: Forecasts, groups: object = None) -> Self:
        """Learn the thresholds.

        Parameters
        ----------
        forecasts : Forecasts
            A row of weight w counts as w copies.
        groups : array-like of shape (n,), optional
            The group of each row; the guarantee then holds in each group.
        """
        used = self._checked(forecasts)
        self._fit(used, _as_groups(groups, forecasts.n_samples)[forecasts.weights > 0])
        self.dim_ = used.distribution.dim
        return self

    def _fit(self, forecasts: Forecasts, names: NDArray[np.str_]) -> None:  # type: ignore[override]  # from its own fit
        check_option(self.guarantee_of, "guarantee_of", "average", "confidence")
        check_level(self.confidence)
        scores, weights = self._excesses(forecasts), forecasts.weights
        groups = np.unique(names)
        thresholds, ranks, totals = [], [], []
        for name in groups:
            own = names == name
            total = float(weights[own].sum())
            rank = self._rank(total)
            thresholds.append([order_statistic(one[own], weights[own], rank) for one in scores])
            ranks.append(rank if (weights[own] == 1).all() else 0)
            totals.append(int(own.sum()))
        self.groups_, self.thresholds_ = groups, np.array(thresholds)
        self.ranks_, self.n_fitted_ = np.array(ranks), np.array(totals)
        self.n_effective_ = float(weights.sum() ** 2 / np.square(weights).sum())

    def _rank(self, total: float) -> int:
        if self.guarantee_of == "average":
            return rank_at_least(total, self._level_of_each)
        misses = (1 - self.confidence) / (2 if self.tails == "each" else 1)
        return confident_rank(total, self._level_of_each, 1 - misses)

    def interval(self, distribution: Distribution, groups: object = None) -> PredictionIntervals:
        """Return one interval per row; if it was fitted with groups, the groups of the rows are required.

        Parameters
        ----------
        distribution : Distribution
        groups : array-like of shape (n,), optional
        """
        check_is_fitted(self)
        self._check_law(distribution)
        if groups is None and self.groups_.tolist() != [""]:
            raise InputError("the intervals were fitted by groups: pass groups, one name per row.")
        names = _as_groups(groups, distribution.n)
        place = np.searchsorted(self.groups_, names).clip(max=len(self.groups_) - 1)
        group = np.where(self.groups_[place] == names, place, -1)
        scores = np.where((group >= 0)[:, None], self.thresholds_[group], np.inf)
        low, high, n_empty = self._check_settings().interval(distribution, scores[:, 0], scores[:, -1], self.level)
        return PredictionIntervals(
            low=low,
            high=high,
            level=self.level,
            confidence=self.confidence if self.guarantee_of == "confidence" else None,
            guarantee=self.guarantee,
            group=group,
            ranks=self._ranks_of_coverage(),
            n_fitted=self.n_fitted_,
            n_effective=self.n_effective_,
            n_empty=n_empty,
        )

    def _ranks_of_coverage(self) -> IntArray:
        """Return k for the distribution Beta(k, n + 1 - k) of the coverage, or 0 if it is unknown."""
        if self.tails == "joint":
            return np.minimum(self.ranks_, self.n_fitted_ + 1)
        # Two order statistics enclose as many spacings as their ranks differ by.
        between = np.clip(2 * self.ranks_ - self.n_fitted_ - 1, 0, self.n_fitted_ + 1)
        return np.where((self.score == "quantiles") | (self.ranks_ == 0), 0, between)


def _as_groups(groups: object, n: int) -> NDArray[np.str_]:
    """Return the name of each row's group as a string."""
    if groups is None:
        return np.full(n, "")
    names = np.array([str(name) for name in np.asarray(groups).tolist()])
    if names.shape != (n,):
        raise InputError(f"groups must have one name per row, {n}, but have shape {np.asarray(groups).shape}.")
    return names
