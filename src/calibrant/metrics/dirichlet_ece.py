"""Calibration error of whole probability vectors, with a Dirichlet kernel."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, Self

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant._core.laws import exp_in_place, log_gamma
from calibrant._core.threads import in_order, one_blas_thread
from calibrant.metrics.base.metric import Metric, check_norm, root
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import BLOCK_CELLS, in_blocks
from calibrant.results import Estimate
from calibrant.smoothing.bandwidth import minimise
from calibrant.smoothing.gaps import over_rows_with_neighbours
from calibrant.smoothing.kernel_regression import check_bandwidth

_PAIRS_AT_A_TIME = 2**18
# The bandwidth is chosen on at most this many rows, between these limits.
_TUNING_ROWS = 1000
_NARROW, _WIDE, _TRIED = 1e-3, 1.0, 12
# Stands for log 0, so that 0 log 0 is 0; times a probability over any bandwidth it stays finite.
_LOG_0 = -1e290
_CLIP = 1e-6

MOST_PRODUCTS = 5 * 10**8
"""Number of pairs of rows times classes that takes a second or two."""


@dataclass(frozen=True)
class DirichletECE(Metric):
    r"""Calibration error of whole probability vectors: a kernel regression on the simplex, with Dirichlet kernels.

    Parameters
    ----------
    bandwidth : float or "loo", default="loo"
        b below. "loo" minimises the negative log likelihood of the labels as predicted from all other rows, among at
        most 1000 rows.
    norm : float, default=1
        The exponent d below: 2 gives the root mean square, as for `ECE`.
    most_rows : int, default=5000
        Number of rows to use at most. Of more rows with weight, this many are taken, evenly spaced in the order of
        their probabilities. Time grows with the square of this number, to about a second at the default.

    Notes
    -----
    With :math:`K_b(p, p')` the density at p of the Dirichlet distribution with parameters :math:`p' / b + 1` and
    one-hot labels y,

    .. math:: \Big(\frac1W \sum_i w_i \sum_k |\hat\pi_{-i,k} - p_{ik}|^d\Big)^{1/d}, \qquad
        \hat\pi_{-i} = \frac{\sum_{j \ne i} w_j K_b(p_i, p_j) y_j}{\sum_{j \ne i} w_j K_b(p_i, p_j)}.

    A row has no neighbours if it gives probability 0 to a class to which all other rows give a positive one. Such rows
    are left out, and counted in the details of the estimate; if no row has neighbours, frequencies are taken as 0. For
    two classes and d = 1 it is twice `KdeECE` with the Beta kernel. Memory is O(n). With many classes there are few
    neighbours, and the value is mostly chance: compare it with redrawn labels.

    References
    ----------
    T. Popordanoska, R. Sayer, M. B. Blaschko, "A consistent and differentiable Lp canonical calibration error
    estimator", NeurIPS 2022.

    Examples
    --------
    >>> p = Predictions([[0.6, 0.3, 0.1]] * 4, labels=[0, 0, 0, 0])
    >>> round(DirichletECE(bandwidth=0.1)(p), 4)  # 0.4 + 0.3 + 0.1
    0.8
    """

    label = "Dirichlet ECE"
    meaning = "The KDE-ECE of whole probability vectors, summed over classes; mostly chance with many classes."
    cells = False
    family = "smooth"
    measures = "calibration"
    weights = "pairs"
    bandwidth: float | Literal["loo"] = "loo"
    norm: float = 1
    most_rows: int = 5000

    def __post_init__(self) -> None:
        if self.bandwidth != "loo":
            check_bandwidth(self.bandwidth)
        check_norm(self.norm, largest=False)
        check_count(self.most_rows, "most_rows")

    def is_affordable(self, data: Predictions) -> bool:
        """Return whether pairs of rows times classes are at most 5e8: 5000 rows of 20 classes."""
        return bool(min(data.n_samples, self.most_rows) ** 2 * data.n_classes <= MOST_PRODUCTS)

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Return the metric with the bandwidth chosen on these predictions, so that it can be applied to others."""
        if self.bandwidth != "loo":
            return self
        self.check(predictions)
        part = predictions.take(_rows(predictions, _TUNING_ROWS))

        def loss(bandwidth: float) -> float:
            sums = _Neighbours(part, bandwidth).of_weights(part.weights[:, None])
            hits = np.concatenate([found.hits for found in sums])[:, 0]
            own = hits[np.arange(len(hits)), part.labels] / np.maximum(hits.sum(axis=1), 1e-300)
            return float(np.average(-np.log(np.clip(own, _CLIP, 1.0)), weights=part.weights))

        return replace(self, bandwidth=minimise(loss, _NARROW, _WIDE, _TRIED))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; bandwidth and rows are those of the data's own weights."""
        rows = _rows(predictions, self.most_rows)
        near = self._neighbours(predictions, rows)

        def evaluate(weights: FloatArray) -> FloatArray:
            own = weights[rows]
            return self._mean(near.of_weights(own), own)

        return in_blocks(evaluate, near.block)

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values."""
        rows = _rows(predictions, self.most_rows)
        near = self._neighbours(predictions, rows)
        own = predictions.weights[rows, None]
        return in_blocks(lambda labels: self._mean(near.of_labels(labels[rows]), own), near.block)

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the bandwidth, the rows used, and how many of them have no neighbours."""
        fitted = self.fit_bandwidth(predictions)
        rows = _rows(predictions, self.most_rows)
        isolated = 0
        if len(rows) == 1 or np.isneginf(predictions.log_probs).any():
            near = fitted._neighbours(predictions, rows)  # noqa: SLF001 (its own class)
            blocks = near.of_weights(predictions.weights[rows, None])
            isolated = sum(int((found.hits.sum(axis=2) <= 0).sum()) for found in blocks)
        return {"bandwidth": fitted.bandwidth, "rows": len(rows), "isolated": isolated}

    def describe(self, data: Predictions) -> Estimate:
        """Return the value with its details; the bandwidth is chosen once for both."""
        self.check(data)
        fitted = self.fit_bandwidth(data)
        return Estimate(name=repr(self), value=fitted(data), details=fitted.details(data), about=self.about())

    def _neighbours(self, predictions: Predictions, rows: IntArray) -> "_Neighbours":
        bandwidth = check_bandwidth(self.fit_bandwidth(predictions).bandwidth)
        return _Neighbours(predictions.take(rows), bandwidth)

    def _mean(self, blocks: Iterator["_TargetSums"], weights: FloatArray) -> FloatArray:
        totals = np.zeros((4, 1))
        for targets, probs, hits in blocks:
            mass = hits.sum(axis=2)
            isolated = mass <= 0
            frequency = hits / np.where(isolated, 1.0, mass)[:, :, None]
            gaps = (np.abs(frequency - probs[:, None, :]) ** self.norm).sum(axis=2)
            counted, others = (np.where(isolated == alone, weights[targets], 0.0) for alone in (False, True))
            totals = totals + np.array([(counted * gaps).sum(0), counted.sum(0), (others * gaps).sum(0), others.sum(0)])
        return root(over_rows_with_neighbours(*totals), self.norm)


class _TargetSums(NamedTuple):
    """A block of targets: its rows, their probabilities (m, K), and sums of weight times kernel by class (m, B, K)."""

    targets: slice
    probs: FloatArray
    hits: FloatArray


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Kernel sums over all other rows, by class, in blocks of targets; the rows must be sorted by label."""

    predictions: Predictions
    bandwidth: float

    @property
    def block(self) -> int:
        """Columns to work on at a time, in bounded memory."""
        return max(1, BLOCK_CELLS // (self.predictions.n_samples * self.predictions.n_classes))

    def of_weights(self, weights: FloatArray) -> Iterator[_TargetSums]:
        """Yield the sums for columns of weights (n, B)."""
        ends = np.searchsorted(self.predictions.labels, np.arange(self.predictions.n_classes + 1))
        members = [slice(*pair) for pair in pairwise(ends)]
        return self._blocks(lambda K: [K[:, rows] @ weights[rows] for rows in members])

    def of_labels(self, labels: IntArray) -> Iterator[_TargetSums]:
        """Yield the sums at the rows' own weights for columns of labels (n, B)."""
        own, classes = self.predictions.weights[:, None], range(self.predictions.n_classes)
        return self._blocks(lambda K: [K @ (own * (labels == k)) for k in classes])

    def _blocks(self, sums: Callable[[FloatArray], list[FloatArray]]) -> Iterator[_TargetSums]:
        n = self.predictions.n_samples
        step = max(_PAIRS_AT_A_TIME // n, 1)
        parameters = self._parameters

        def task(first: int) -> _TargetSums:
            targets = slice(first, min(first + step, n))
            found = np.stack(sums(_kernel(targets, *parameters)), axis=2)
            return _TargetSums(targets, self.predictions.probs[targets], found)

        with one_blas_thread():  # The blocks already run in several threads.
            yield from in_order(task, range(0, n, step))

    @cached_property
    def _parameters(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log-probabilities, and the exponents and log-constants of the density around each row."""
        logs = np.maximum(self.predictions.log_probs, _LOG_0)
        exponents = self.predictions.probs / self.bandwidth
        return logs, exponents, -log_gamma(exponents + 1).sum(axis=1)


def _kernel(targets: slice, logs: FloatArray, exponents: FloatArray, constants: FloatArray) -> FloatArray:
    """Return the kernel between some targets and all rows, up to a factor for each target; 0 for the row itself."""
    K = logs[targets] @ exponents.T
    K += constants  # In place: allocating a second array of this size would take longer than the sum.
    own = np.arange(len(K))
    K[own, own + targets.start] = -np.inf
    K -= np.maximum(K.max(axis=1, keepdims=True), _LOG_0 / 1e6)
    return exp_in_place(K)


def _rows(predictions: Predictions, most: int) -> IntArray:
    """Return at most this many rows with positive weight, sorted by label; the choice depends only on their values."""
    rows = np.flatnonzero(predictions.weights > 0)
    if len(rows) > most:
        order = predictions.once("rows by probabilities", lambda: _by_probabilities(predictions, rows))
        rows = order[np.linspace(0, len(rows) - 1, most).round().astype(int)]
    return rows[np.argsort(predictions.labels[rows], kind="stable")]


def _by_probabilities(predictions: Predictions, rows: IntArray) -> IntArray:
    """Sort rows by the probability of the last class; tied ones by that of the class before, and so on, then by label.

    Few rows are tied as a rule, so only these are sorted by more than one number.
    """
    last = predictions.probs[rows, -1]
    order = np.argsort(last, kind="stable")
    same = np.diff(last[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    found, some = rows[order], rows[np.sort(order[tied])]
    found[tied] = some[np.lexsort([predictions.labels[some], *predictions.probs[some].T])]
    return found
