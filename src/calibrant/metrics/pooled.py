"""Metrics of binary predictions in ascending order, with equal predictions pooled."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import BoolArray, Evaluator, FloatArray, IntArray
from calibrant._core.isotonic import isotonic_regression
from calibrant._core.line.boxes import Line
from calibrant.binning.ties import NEGLIGIBLE, comparable, line_of, starts_of_ties
from calibrant.exceptions import InputError
from calibrant.metrics.counted import CountedMetric, cells_of_copies
from calibrant.metrics.metric import Metric
from calibrant.predictions import Predictions
from calibrant.results import Description


@dataclass(frozen=True, eq=False)
class Pools:
    """Sums over the rows of each distinct prediction that has weight, in ascending order.

    Attributes
    ----------
    mass : ndarray of shape (m,)
        Sum of the weights.
    predicted : ndarray of shape (m,)
        Sum of the weighted predictions.
    hits : ndarray of shape (m,)
        Sum of the weighted labels.
    fixed : dict
        Results that depend on weights and predictions alone, shared by the pools of other labels.
    """

    mass: FloatArray
    predicted: FloatArray
    hits: FloatArray
    fixed: dict[Hashable, object] = field(default_factory=dict)

    @cached_property
    def values(self) -> FloatArray:
        """The distinct predictions."""
        return self.predicted / self.mass

    @cached_property
    def frequencies(self) -> FloatArray:
        """The frequency of the event at each distinct prediction."""
        return self.hits / self.mass

    def merged(self, starts: IntArray) -> "Pools":
        """Merge neighbouring pools into one for each of these first indices, which begin with 0."""
        mass, predicted, hits = (np.add.reduceat(sums, starts) for sums in (self.mass, self.predicted, self.hits))
        return Pools(mass, predicted, hits)

    def with_hits(self, hits: FloatArray) -> "Pools":
        """Return the same pools with the weighted events, (m,), of other labels."""
        return Pools(self.mass, self.predicted, hits, self.fixed)

    def once(self, key: Hashable, compute: Callable[[], FloatArray]) -> FloatArray:
        """Return the result of `compute`, cached by its key: several metrics share a curve."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[Hashable, FloatArray]:
        return {}

    def isotonic(self) -> FloatArray:
        """Return the isotonic regression of the frequencies on the predictions."""
        return self.once("isotonic", self._isotonic)

    def _isotonic(self) -> FloatArray:
        return isotonic_regression(self.frequencies, weights=self.mass / self.mass.sum()).x.clip(0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Ties:
    """The order of predictions: sorted once, used for many weights.

    Parameters
    ----------
    order : ndarray of shape (n,)
        The rows in ascending order of the predictions.
    starts : ndarray of shape (m,)
        Where each distinct prediction begins in this order. Predictions that agree to 12 decimals are equal.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Sort the values."""
        return cls.of_line(Line.of(values))

    @classmethod
    def of_view(cls, view: Predictions) -> Self:
        """Find the ties among binary predictions, whose sorted order is cached."""
        return view.once("ties", lambda: cls.of_line(line_of(view)), of_labels=False)

    @classmethod
    def of_line(cls, line: Line) -> Self:
        """Find the ties among sorted values."""
        ascending = comparable(line.x)  # Rounding does not change the order.
        return cls(line.order, starts_of_ties(ascending))

    @property
    def are_all_different(self) -> bool:
        """Whether there are no ties."""
        return len(self.starts) == len(self.order)

    def rows(self, start: int, end: int) -> NDArray[np.intp]:
        """Return the rows of distinct values number `start` to `end`, exclusive, in ascending order."""
        last = self.starts[end] if end < len(self.starts) else len(self.order)
        return self.order[self.starts[start] : last]

    def sums(self, columns: FloatArray) -> FloatArray:
        """Return the sums over each distinct value, (m,) or (m, B), of one column (n,) or several (n, B)."""
        ascending = columns[self.order]
        return ascending if self.are_all_different else np.add.reduceat(ascending, self.starts, axis=0)


def pool(view: Predictions) -> Pools:
    """Return the pools of binary predictions at their own weights, cached with the predictions."""
    return view.once("pools", lambda: _pooled(view))


def _pooled(view: Predictions) -> Pools:
    ties = Ties.of_view(view)
    columns = (view.weights, view.weights * view.positive, view.weights * view.labels)
    mass, predicted, hits = (ties.sums(column) for column in columns)
    return _pools(mass, predicted, hits, _fixed(view))


def _pools(mass: FloatArray, predicted: FloatArray, hits: FloatArray, fixed: dict[Hashable, object]) -> Pools:
    present = _present(mass)
    return Pools(mass[present], predicted[present], hits[present], fixed)


def _fixed(view: Predictions) -> dict[Hashable, object]:
    """Return the cache of results that do not depend on the labels of these predictions."""
    return view.once("fixed of pools", dict, of_labels=False)


class PooledMetric(Metric):
    """A function of weight, prediction and frequency at every distinct prediction."""

    accepts = "binary"

    @abstractmethod
    def combine(self, pools: Pools) -> float:
        """Return the value for one column of weights."""

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights, from pools that all such metrics share."""
        self.check(data)
        return self.combine(pool(self.view(data)))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; predictions are sorted once."""
        view = self.view(predictions)
        ties = Ties.of_view(view)
        p, y = view.positive[:, None], view.labels[:, None]

        def evaluate(weights: FloatArray) -> FloatArray:
            columns = zip(ties.sums(weights).T, ties.sums(weights * p).T, ties.sums(weights * y).T, strict=True)
            return np.array([self.combine(_pools(mass, sums, hits, {})) for mass, sums, hits in columns])

        return evaluate

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values: only the frequencies change."""
        view = self.view(predictions)
        ties = Ties.of_view(view)
        weights = view.weights[:, None]
        event = self.event_class(predictions)
        pools, present = pool(view), _present(ties.sums(view.weights))
        return lambda labels: self.combine_redraws(pools, ties.sums(weights * (labels == event))[present])

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in the cells of a sketch to values: only the hits of pools change."""
        if predictions.copies is None:
            return None
        cells = cells_of_copies(predictions)
        weights = predictions.row_weights[cells.order[cells.starts], None]
        starts = starts_of_ties(comparable(cells.probs[cells.starts]))
        pools, present = pool(predictions), _present(Ties.of_view(predictions).sums(predictions.weights))
        return CountedMetric(
            cells, lambda counts: self.combine_redraws(pools, np.add.reduceat(weights * counts, starts)[present])
        )

    def combine_redraws(self, pools: Pools, hits: FloatArray) -> FloatArray:
        """Return B values of the same pools with other hits, (m, B)."""
        return np.array([self.combine(pools.with_hits(column)) for column in hits.T])


def _present(mass: FloatArray) -> BoolArray | slice:
    """Return which pools hold weight, as a slice in the usual case that all do."""
    present = mass > NEGLIGIBLE * mass.max()
    return slice(None) if present.all() else present


@dataclass(frozen=True)
class ECCE(PooledMetric):
    r"""Empirical cumulative calibration error: how far the running sum of outcomes minus predictions goes.

    Parameters
    ----------
    statistic : {"mad", "range"}, default="mad"
        "mad": the largest absolute value that the running sum reaches (Kolmogorov and Smirnov). "range": the largest
        value minus the smallest (Kuiper), which is the largest net error of the predictions in any interval of them.

    Notes
    -----
    In ascending order of the predictions, and with equal predictions pooled, :math:`C_0 = 0` and
    :math:`C_k = \sum_{j \le k} w_j (y_j - p_j) / \sum_j w_j`. The value is :math:`\max_k |C_k|` or
    :math:`\max_k C_k - \min_k C_k`. `ECCETest` compares it with its values by chance.

    It is never above the ECE with a bin for each distinct prediction. Errors of different sign at neighbouring
    predictions cancel, so that it is small where the error changes sign often.

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu, "Metrics of calibration for probabilistic predictions",
    JMLR 23 (2022).

    Examples
    --------
    >>> from calibrant import Predictions
    >>> p = Predictions([0.2, 0.4, 0.6, 0.8], labels=[0, 0, 0, 1])  # 4 C = 0, -0.2, -0.6, -1.2, -1.0
    >>> round(ECCE()(p), 4), round(ECCE("range")(p), 4)
    (0.3, 0.3)
    """

    label = "ECCE"
    meaning = "The furthest that the running sum of outcomes minus predictions goes from 0; needs no bins."
    family = "smooth"
    measures = "calibration"
    statistic: Literal["mad", "range"] = "mad"

    def about(self) -> Description:
        """Return the description that readers see."""
        if self.statistic == "mad":
            return super().about()
        meaning = "The largest net error of the predictions in any interval of them; needs no bins."
        return replace(super().about(), label="ECCE, range", meaning=meaning)

    def __post_init__(self) -> None:
        if self.statistic not in ("mad", "range"):
            raise InputError(f'statistic must be "mad" or "range", but is {self.statistic!r}.')

    def combine(self, pools: Pools) -> float:
        """Return how far the running sum goes, which starts at 0."""
        path = np.cumsum(pools.hits - pools.predicted) / pools.mass.sum()
        high, low = max(0.0, float(path.max())), min(0.0, float(path.min()))
        return max(high, -low) if self.statistic == "mad" else high - low
