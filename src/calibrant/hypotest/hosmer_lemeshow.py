"""The Hosmer-Lemeshow test."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.settings import check_count
from calibrant._border.types import BoolArray, Evaluator, FloatArray, IntArray, Progress, Rng
from calibrant._core.laws import SMALLEST_PVALUE
from calibrant._core.redraws import count_sums
from calibrant.binning import Bins, EqualMass
from calibrant.binning.sums import bin_totals
from calibrant.binning.ties import line_of
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import (
    DRAWN_IF_FEW,
    N_REDRAWS,
    BinaryTest,
    Finding,
    refuse_certainty,
)
from calibrant.predictions import Predictions

LEAST_EXPECTED = 20.0
"""With fewer expected rows of either outcome, by the harmonic mean over groups, the chi-squared law is rough."""


@dataclass(frozen=True)
class HosmerLemeshowTest(BinaryTest):
    r"""Compare frequency and mean prediction in groups of similar predictions.

    Parameters
    ----------
    n_groups : int, default=10
        At most this many groups of equal weight; equal predictions are never split.
    fitted : bool, default=False
        Whether the predictions come from a logistic regression fitted to these very rows, which costs two degrees of
        freedom.

    Notes
    -----
    The statistic is

    .. math:: \sum_g \frac{n_g (\bar y_g - \bar p_g)^2}{\bar p_g (1 - \bar p_g)},

    compared with chi-squared of as many degrees of freedom as there are groups, less two if `fitted`. Each row counts
    as one independent draw, regardless of its weight: with weights a group contributes

    .. math:: \frac{\big(\sum w_i (y_i - p_i)\big)^2}{\sum w_i^2 \; \tilde p_g (1 - \tilde p_g)}, \qquad
        \tilde p_g = \frac{\sum w_i^2 p_i}{\sum w_i^2}.

    The exact variance of the sum is :math:`\sum w_i^2 p_i (1 - p_i)`; the denominator is never smaller, and close to
    it as long as the predictions of a group are, so that the classical form errs on the side of not rejecting.

    A group whose predictions are all exactly 0, or all exactly 1, has no variance and no degree of freedom. If its
    outcomes agree it contributes nothing; if one does not, calibration is refuted beyond chance: the statistic is
    infinite and the p-value the floor ``smallest_pvalue``.

    The estimate is the mean gap :math:`\sum_g W_g |\bar y_g - \bar p_g| / W`. The details hold the number of
    ``groups`` with variance, of ``certain_groups`` without, the p-values for new data and for fitted predictions
    (None with fewer than three groups), and ``smallest_expected``, the smallest expected number of rows of either
    outcome in any group with variance, :math:`\tilde p_g` or :math:`1 - \tilde p_g` times the effective number of rows
    :math:`(\sum w_i)^2 / \sum w_i^2`. Where the harmonic mean of these numbers over the groups is below 20, the
    chi-squared law rejects too often at small levels (with 5 expected in each of ten groups, 0.016 instead of 0.01),
    and the law of the statistic is simulated by redrawing the labels. If `fitted`, there is nothing to draw from, and
    the chi-squared law remains, rough as it is.

    References
    ----------
    D. W. Hosmer, S. Lemeshow, "Goodness of fit tests for the multiple logistic regression model", Communications in
    Statistics A9 (1980).

    Examples
    --------
    >>> p = Predictions([0.2] * 10 + [0.5] * 10, labels=[0] * 6 + [1] * 4 + [0, 1] * 5)
    >>> result = HosmerLemeshowTest()(p, rng=0)  # 10 * 0.2**2 / (0.2 * 0.8) + 0, with two groups
    >>> round(result.statistic, 4), round(result.details["closed_form"], 4)
    (2.5, 0.2865)
    """

    label = "Hosmer-Lemeshow"
    meaning = "The frequency in a few groups of equal size; depends on how they are cut."
    caution = DRAWN_IF_FEW
    n_groups: int = 10
    fitted: bool = False

    def __post_init__(self) -> None:
        check_count(self.n_groups, "n_groups")
        if not isinstance(self.fitted, (bool, np.bool_)):
            raise TypeError(f"fitted must be True or False, but is {self.fitted!r}.")
        if self.fitted and self.n_groups < 3:
            raise InputError(f"n_groups must be at least 3 for fitted predictions, but is {self.n_groups}.")

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Compare frequency and mean prediction group by group."""
        refuse_certainty(view)
        groups = self._groups(view, weights)
        n_groups = int(groups.uncertain.sum())
        if self.fitted and n_groups < 3:
            raise InputError(
                f"fitted predictions need at least 3 groups, but ties leave {n_groups} with predictions strictly "
                "between 0 and 1. Pass fitted=False if the predictions were fitted on other rows."
            )
        gap = groups.gaps(view.labels)
        statistic = float(groups.sum_of_squares(gap))
        if n_groups < len(gap) and np.any(gap[groups.certain] != 0):
            statistic = np.inf
        fitted = _chi_squared_tail(statistic, n_groups - 2) if n_groups > 2 else None
        new_data = _chi_squared_tail(statistic, n_groups)
        return Finding(
            statistic=statistic,
            pvalue=fitted if self.fitted and fitted is not None else new_data,
            estimate=float(np.abs(gap).sum() / weights.sum()),
            details={
                "groups": n_groups,
                "certain_groups": int(groups.certain.sum()),
                "pvalue_new_data": new_data,
                "pvalue_fitted": fitted,
                "smallest_expected": float(groups.expected.min()),
            },
        )

    def redrawn(self, view: Predictions, weights: FloatArray) -> Evaluator | None:
        """Return a function that computes the statistics of redrawn labels, if the chi-squared law is rough."""
        groups = self._groups(view, weights)
        if not self._is_rough(groups):
            return None
        hits, predicted = bin_totals(groups.cut, weights), groups.predicted[:, None]
        return lambda events: groups.sum_of_squares((hits(events) - predicted).T)

    def null(self, view: Predictions, weights: FloatArray, rng: Rng, progress: Progress | None) -> FloatArray | None:
        """Return the statistics of redraws; with equal weights, only the number of events per group is drawn."""
        if weights.min() < 1:
            return super().null(view, weights, rng, progress)
        groups = self._groups(view, weights)
        if not self._is_rough(groups):
            return None
        keys = np.random.default_rng(rng).integers(0, 2**64, size=N_REDRAWS, dtype=np.uint64)
        found = groups.of_drawn_counts(line_of(view).x, keys)
        if progress is not None:
            progress(N_REDRAWS, N_REDRAWS)
        return found

    def _is_rough(self, groups: "_Groups") -> bool:
        """Return whether too few rows of either outcome are expected per group for the chi-squared law."""
        return not self.fitted and len(groups.expected) / (1 / groups.expected).sum() < LEAST_EXPECTED

    def _groups(self, view: Predictions, weights: FloatArray) -> "_Groups":
        """Return the groups, which are kept with the predictions."""
        return view.once(self, lambda: _Groups.of(view, weights, self.n_groups), of_labels=False)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of similar predictions, in ascending order: sums that do not depend on labels, and the gaps that do."""

    cut: Bins
    weights: FloatArray
    mass: FloatArray
    ones: FloatArray
    zeros: FloatArray
    predicted: FloatArray

    @classmethod
    def of(cls, view: Predictions, weights: FloatArray, n_groups: int) -> Self:
        cut, squares = EqualMass(n_groups).cut_view(view), weights**2
        sums = (weights, squares * view.probs[:, 1], squares * view.probs[:, 0], weights * view.probs[:, 1])
        return cls(cut, weights, *(_totals(cut, values) for values in sums))

    @cached_property
    def uncertain(self) -> BoolArray:
        return np.asarray((self.ones > 0) & (self.zeros > 0))

    @cached_property
    def certain(self) -> BoolArray:
        return np.asarray(~self.uncertain & (self.mass > 0))

    @cached_property
    def deviation(self) -> FloatArray:
        """Return the standard deviation of each gap; infinite in groups without variance, which then count nothing."""
        ones, zeros, deviation = self.ones[self.uncertain], self.zeros[self.uncertain], np.full(len(self.ones), np.inf)
        deviation[self.uncertain] = np.sqrt(ones * (zeros / (ones + zeros)))
        return deviation

    @cached_property
    def expected(self) -> FloatArray:
        """Return the expected number of rows of the rarer outcome in each group with variance."""
        mass, ones, zeros = (sums[self.uncertain] for sums in (self.mass, self.ones, self.zeros))
        return np.asarray(np.minimum(ones, zeros) * (mass / (ones + zeros)) ** 2)

    def gaps(self, labels: IntArray) -> FloatArray:
        """Return the weighted sums of labels minus predictions in every group, (groups,)."""
        return _totals(self.cut, self.weights * labels) - self.predicted

    @np.errstate(over="ignore")  # An outcome of predicted probability 1e-320 is as good as impossible.
    def sum_of_squares(self, gaps: FloatArray) -> FloatArray:
        """Return the sums of the squared gaps, (..., groups), each in standard deviations of its group."""
        return np.asarray(((gaps / self.deviation) ** 2).sum(axis=-1))

    @np.errstate(over="ignore")
    def of_drawn_counts(self, ascending: FloatArray, keys: NDArray[np.uint64]) -> FloatArray:
        """Return the sums of squares for drawn numbers of events, (B,); rows ascend and have equal weights."""
        sizes = np.bincount(self.cut.index)
        each = sizes + 1
        counts = np.arange(each.sum()) - (each.cumsum() - each).repeat(each)
        squares = ((counts - self.predicted.repeat(each)) / self.deviation.repeat(each)) ** 2
        return count_sums(ascending, sizes.cumsum(), squares, keys)


def _totals(cut: Bins, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(cut.index, weights=values), dtype=np.float64)


def _chi_squared_tail(statistic: float, degrees: int) -> float:
    from scipy.special import gammaincc

    return max(float(gammaincc(degrees / 2, statistic / 2)), SMALLEST_PVALUE)
