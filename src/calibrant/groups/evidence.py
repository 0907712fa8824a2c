"""How strongly the outcomes of a group speak against its predictions."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import expit, normal_quantile, normal_tail, student_quantile
from calibrant.groups.cells import Combination, one_cell
from calibrant.groups.event_sums import EventSum, clipped_log_odds
from calibrant.groups.rows import Rows, offset
from calibrant.groups.score_sums import ScoreSum, TransformScore

LEAST_CLUSTERS = 30
"""Least number of clusters in a group, if rows of a cluster depend on each other."""


class Sums(NamedTuple):
    """Sums over cells: of residuals, and of their variances under calibration."""

    residuals: FloatArray
    variances: FloatArray

    @property
    def z(self) -> FloatArray:
        """Standardised sums of the residuals; 0 where the variance is 0."""
        ok = self.variances > 0
        return np.divide(
            self.residuals,
            np.sqrt(self.variances, where=ok, out=np.ones_like(self.variances)),
            where=ok,
            out=np.zeros_like(self.residuals),
        )


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """Tests of groups of the same rows for one event; rows do not depend on each other, unless a subclass says so."""

    rows: Rows

    @abstractmethod
    def pvalue(self, inside: BoolArray) -> float:
        """Return the p-value of a group of rows."""

    @abstractmethod
    def limits(self, inside: BoolArray, level: float) -> tuple[float, float]:
        """Return limits of the mean of observed minus predicted, which miss it with probability `level`."""

    @cached_property
    def _values(self) -> tuple[FloatArray, FloatArray]:
        return self.rows.residuals, self.rows.variances

    def sums(self, cells: Combination) -> Sums:
        """Return the sums over all cells of a combination."""
        return Sums(*(cells.sums(values) for values in self._values))

    def are_testable(self, cells: Combination) -> BoolArray:
        """Return which cells meet the requirements of the test other than their number of rows."""
        return np.ones(len(cells.cells), dtype=bool)

    def take(self, some: BoolArray) -> Self:
        """Return the evidence of some of the rows."""
        return replace(self, rows=self.rows.take(some))

    def z(self, inside: BoolArray) -> float:
        """Return the standardised sum of the residuals of a group."""
        return float(self.sums(one_cell(inside)).z[0])


class IndependentRows(Evidence):
    """Events that are independent, given their predictions."""

    @cached_property
    def _is_weighted(self) -> bool:
        return bool(np.any(self.rows.weights != 1.0))

    def pvalue(self, inside: BoolArray) -> float:
        """Return the p-value of the number, or the weight, of the events in a group."""
        return self._law(inside).pvalue

    def limits(self, inside: BoolArray, level: float) -> tuple[float, float]:
        """Return the limits at which either tail of the law of the events has probability level / 2.

        They are wider if the events scatter more than this law says, as they do around over-confident predictions.
        """
        some = self.rows.take(inside)
        law = self._law(inside)
        log_odds = clipped_log_odds(some.probs)
        scatter = _scatter(some, law.curvature if self._is_weighted else None)
        far = normal_quantile(1 - level / 2) * math.sqrt(scatter)
        moved = [
            expit(log_odds + shift * (some.weights if self._is_weighted else 1.0))
            for shift in law.shift_limits(2 * normal_tail(far))
        ]
        low, high = (float(np.average(each - some.probs, weights=some.weights)) for each in moved)
        return low, high

    def _law(self, inside: BoolArray) -> EventSum:
        some = self.rows.take(inside)
        return EventSum(some.probs, some.weights if self._is_weighted else None, float(some.weights @ some.events))


def _scatter(rows: Rows, variance: float | None) -> float:
    """Return how many times a variance of the weighted sum of the events is too small; at least 1.

    It is compared with the variance after an equal shift of all log-odds, for which None stands, and with the squared
    residuals after this shift, which are large enough on average whatever the true probabilities are.
    """
    if rows.events.min() == rows.events.max():
        return 1.0
    fitted = expit(clipped_log_odds(rows.probs) + offset(rows))
    squares = rows.weights**2
    shifted, observed = (float(squares @ each) for each in (fitted * (1 - fitted), (rows.events - fitted) ** 2))
    least = shifted if variance is None else variance
    return max(1.0, max(shifted, observed) / least) if least > 0 else math.inf


@dataclass(frozen=True, eq=False)
class TransformedRows(Evidence):
    """Scores of transforms, which are independent and uniform under calibration."""

    score: TransformScore

    def pvalue(self, inside: BoolArray) -> float:
        """Return the p-value of the sum of the scores of a group."""
        some = self.rows.take(inside)
        return ScoreSum(self.score, some.weights, float(some.residuals.sum())).pvalue

    def limits(self, inside: BoolArray, level: float) -> tuple[float, float]:
        """Return the size, minus and plus a multiple of its standard error, by Student's law."""
        some = self.rows.take(inside)
        shares = some.weights / some.weights.sum()
        differences = some.events - some.probs
        size = float(shares @ differences)
        n = 1.0 / float(shares @ shares)
        error = float(np.sqrt(shares**2 @ (differences - size) ** 2 * n / max(n - 1.0, 1.0)))
        wide = student_quantile(1 - level / 2, max(n - 1.0, 1.0)) * error
        return size - wide, size + wide


@dataclass(frozen=True, eq=False)
class ClusteredRows(Evidence):
    r"""Rows of a cluster depend on each other; clusters do not.

    The variance of :math:`\sum_c R_c`, with the sum :math:`R_c` of the residuals of each cluster in the group, is
    :math:`\sum_c R_c^2`. If the :math:`R_c` are symmetric, :math:`P(|z| \ge x) \le 2 e^{-x^2 / 2}` for any number of
    clusters. With rare events they are not: where none happens by chance, their squares are far too small. So the
    variance is at least :math:`\sum_c [v_c + \rho (s_c^2 - v_c)]`, where :math:`v_c` and :math:`s_c` are the sums of
    the variances of the residuals and of their square roots, and :math:`\rho \ge 0` is the mean correlation of two
    rows of a cluster, among all rows.
    """

    clusters: IntArray

    def sums(self, cells: Combination) -> Sums:
        """Return the sums over all cells of a combination."""
        owner, sums, spreads = self._by_cluster(cells)
        n = len(cells.cells)
        squares, together = (np.bincount(owner, each**2, minlength=n + 1)[:n] for each in (sums, spreads))
        residuals, variances = self._values
        alone = cells.sums(variances)
        least = alone + self._correlation * (together - alone)
        return Sums(cells.sums(residuals), np.maximum(squares, least))

    @cached_property
    def _correlation(self) -> float:
        """The mean correlation of two rows of a cluster, among all rows; at least 0, and 0 if no cluster has two."""
        residuals, variances = self._values
        squares, together = (
            float((np.bincount(self.clusters, each) ** 2).sum()) for each in (residuals, np.sqrt(variances))
        )
        alone = float(variances.sum())
        pairs = together - alone
        return min(1.0, max(0.0, (squares - alone) / pairs)) if pairs > 1e-9 * alone else 0.0

    def are_testable(self, cells: Combination) -> BoolArray:
        """Return which cells have at least `LEAST_CLUSTERS` clusters."""
        owner, _, _ = self._by_cluster(cells)
        n = len(cells.cells)
        return np.bincount(owner, minlength=n + 1)[:n] >= LEAST_CLUSTERS

    def pvalue(self, inside: BoolArray) -> float:
        """Return the p-value by the normal law of the standardised sum."""
        return 2 * normal_tail(abs(self.z(inside)))

    def limits(self, inside: BoolArray, level: float) -> tuple[float, float]:
        """Return the size, minus and plus a multiple of its standard error."""
        sums = self.sums(one_cell(inside))
        mass, wide = self.rows.weights[inside].sum(), normal_quantile(1 - level / 2) * math.sqrt(sums.variances[0])
        return float((sums.residuals[0] - wide) / mass), float((sums.residuals[0] + wide) / mass)

    def take(self, some: BoolArray) -> Self:
        """Return the evidence of some of the rows."""
        return replace(self, rows=self.rows.take(some), clusters=self.clusters[some])

    def _by_cluster(self, cells: Combination) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the cell, and sums of residuals and of their spreads, of every pair of a cell and a cluster in it."""
        n_clusters = int(self.clusters.max()) + 1
        pairs, place = np.unique(cells.codes * n_clusters + self.clusters, return_inverse=True)
        residuals, variances = self._values
        sums, spreads = (np.bincount(place, each).astype(np.float64) for each in (residuals, np.sqrt(variances)))
        return pairs // n_clusters, sums, spreads
