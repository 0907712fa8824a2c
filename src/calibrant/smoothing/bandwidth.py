"""Choice of a bandwidth: rules of thumb, and the bandwidth with which other rows predict the outcomes best."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.line.boxes import Line
from calibrant._core.line.sums import HeldOut, KernelSums
from calibrant._core.line.twin import PlainSums, can_be_joined, leave_one_out_of_each
from calibrant._core.threads import in_order
from calibrant.predictions import Predictions
from calibrant.smoothing.kernel_regression import (
    NO_NEIGHBOUR,
    Boundary,
    KernelName,
    Sums,
    check_bandwidth,
    check_choice,
    kernel_sums,
)
from calibrant.smoothing.sample import Sample

Rule: TypeAlias = Literal["cv", "loo", "silverman", "silverman-robust", "mix-n-match"]

# Least standard deviation by a rule of thumb: for equal predictions a rule gives 0, and any bandwidth will do.
_NARROWEST = 1e-4
_FOLDS = 5
# More rows than this take long, in particular if every class is searched, and hardly change the choice.
_MOST_SEARCHED = 20_000
_TRIED = 16
# Limits of the search, as standard deviations of the kernel: narrower kernels move an estimate by less than 0.002, and
# with wider ones it is nearly flat.
_LOW, _HIGH = 0.002, 0.5
# Standard deviation of the kernels at bandwidth 1.
_DEVIATIONS = {"gaussian": 1.0, "triweight": 1 / 3, "epanechnikov": 1 / math.sqrt(5)}


def as_bandwidth(bandwidth: float | Rule, view: Predictions, kernel: KernelName, boundary: Boundary) -> float:
    """Return a bandwidth itself, or the one that a rule gives for binary predictions, cached with them."""
    if not isinstance(bandwidth, str):
        return check_bandwidth(bandwidth)
    rule = check_choice(bandwidth, "bandwidth", Rule)

    def choose() -> float:
        return choose_bandwidth(Sample.of_view(view), rule, kernel, boundary)

    return view.once(("bandwidth", rule, kernel, boundary), choose)


def choose_bandwidth(sample: Sample, rule: Rule, kernel: KernelName, boundary: Boundary) -> float:
    """Return the bandwidth that a rule gives; see `calibrant.metrics.KdeECE` for the rules."""
    if rule in ("cv", "loo"):
        return _search(sample, rule, kernel, boundary)
    return bandwidth_of_deviation(max(_THUMBS[rule](sample), _NARROWEST), sample, kernel)


def bandwidth_of_deviation(deviation: float, sample: Sample, kernel: KernelName) -> float:
    """Return the bandwidth at which the kernel has this standard deviation; for the Beta kernel, on average."""
    if kernel != "beta":
        return deviation / _DEVIATIONS[kernel]
    spread = np.average(sample.positions * (1 - sample.positions), weights=sample.weights)
    return min(deviation**2 / max(float(spread), 1e-6), 1.0)


def _silverman(sample: Sample) -> float:
    return 1.06 * _deviation(sample) * sample.size**-0.2


def _silverman_robust(sample: Sample) -> float:
    # The interquartile range is 0 if half of the predictions are equal, and then says nothing about the others.
    deviation, quartiles = _deviation(sample), _interquartile_range(sample) / 1.34
    return 0.9 * (min(deviation, quartiles) if quartiles > 0 else deviation) * sample.size**-0.2


def _mix_n_match(sample: Sample) -> float:
    if not sample.outcomes.any():
        return 0.0
    weights = sample.weights * sample.outcomes
    mean = np.average(sample.positions, weights=weights)
    deviation = math.sqrt(np.average((sample.positions - mean) ** 2, weights=weights))
    return deviation * (2 * sample.size) ** -0.2


_THUMBS: dict[str, Callable[[Sample], float]] = {
    "silverman": _silverman,
    "silverman-robust": _silverman_robust,
    "mix-n-match": _mix_n_match,
}


def _deviation(sample: Sample) -> float:
    mean = np.average(sample.positions, weights=sample.weights)
    variance = float(np.average((sample.positions - mean) ** 2, weights=sample.weights))
    n = sample.size
    return math.sqrt(variance * n / (n - 1)) if n > 1 else 0.0


def _interquartile_range(sample: Sample) -> float:
    """Return the interquartile range, interpolated between rows; equal weights give NumPy's default."""
    if len(sample.positions) == 1:
        return 0.0
    rank = np.append(0.0, np.cumsum(sample.weights[1:] + sample.weights[:-1]))
    low, high = np.interp([0.25, 0.75], rank / rank[-1], sample.positions)
    return float(high - low)


def limits_of_search(sample: Sample, kernel: KernelName) -> tuple[float, float]:
    """Return the smallest and the largest bandwidth to try."""
    low, high = (bandwidth_of_deviation(deviation, sample, kernel) for deviation in (_LOW, _HIGH))
    return low, high


def _search(sample: Sample, rule: Rule, kernel: KernelName, boundary: Boundary) -> float:
    n = sample.n_rows
    if n > _MOST_SEARCHED:
        # The best standard deviation of a kernel falls as the fifth root of the number of rows.
        shrink = (_MOST_SEARCHED / n) ** (0.4 if kernel == "beta" else 0.2)
        return shrink * _search(sample.unfolded(_MOST_SEARCHED), rule, kernel, boundary)
    if sample.copies is not None:
        return _search(sample.unfolded(n), rule, kernel, boundary)
    low, high = limits_of_search(sample, kernel)
    if not sample.outcomes.any() or sample.outcomes.all():
        return high  # All bandwidths predict equal outcomes equally well; of many classes, most never occur.
    # A fold is every fifth of the sorted rows, so that no part of the line is left without neighbours.
    loss = HeldOutLoss(sample, np.arange(n) % _FOLDS if rule == "cv" else None)

    def sums(bandwidth: float) -> Sums:
        return kernel_sums(loss.line, bandwidth, kernel, boundary)

    def losses(bandwidths: FloatArray) -> FloatArray:
        several = [sums(float(bandwidth)) for bandwidth in bandwidths]
        if can_be_joined(several):
            return loss.each(several)
        return np.array([*in_order(loss, several)])

    return minimise_all(losses, low, high, _TRIED)


def minimise(loss: Callable[[float], float], low: float, high: float, n_grid: int) -> float:
    """Return approximately the bandwidth with the smallest loss; see `minimise_all`."""
    return minimise_all(lambda bandwidths: np.array([loss(float(h)) for h in bandwidths]), low, high, n_grid)


def minimise_all(losses: Callable[[FloatArray], FloatArray], low: float, high: float, n_grid: int) -> float:
    """Return approximately the bandwidth between `low` and `high` with the smallest loss, for a smooth loss.

    After a logarithmic grid, the vertex of the parabola through its best three points is tried: unlike the end of a
    bisection, it changes little if the data does. Of equally good bandwidths the largest is taken, which gives the
    smoothest estimate.
    """
    grid = np.geomspace(low, high, n_grid)
    found = losses(grid)
    best = int(np.flatnonzero(found <= found.min() + 1e-12 * abs(found.min()))[-1])
    if not 0 < best < n_grid - 1:
        return float(grid[best])
    before, here, after = found[best - 1 : best + 2] - found[best]
    curvature = before - 2 * here + after
    if curvature <= 1e-12 * abs(found[best]):
        return float(grid[best])
    vertex = float(grid[best] * (grid[best] / grid[best - 1]) ** ((before - after) / (2 * curvature)))
    return vertex if losses(np.array([vertex]))[0] <= found[best] else float(grid[best])


_CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class HeldOutLoss:
    """Negative log likelihood of outcomes as predicted from the other rows, or from the other folds.

    The prediction is clipped to [1e-6, 1 - 1e-6]. A row without neighbours is predicted by the frequency among the rows
    in its sums, which is also the limit of a large bandwidth; if there are no such rows, by 1/2.
    """

    sample: Sample
    folds: IntArray | None = None
    """Numbers 0, 1, ... of the folds: a row is predicted from the other folds. By default, from all other rows."""

    def __call__(self, sums: Sums) -> float:
        """Return the mean loss with the kernel and bandwidth of `sums`, which must run over the same rows."""
        hits, mass = self._sums(sums)
        return float(self._mean(hits, mass, sums.peak(self.sample.positions) * self._least))

    def each(self, several: Sequence[PlainSums]) -> FloatArray:
        """Return the mean losses for several bandwidths at once: with few rows, most of the time goes into calls."""
        W = self._columns
        found = leave_one_out_of_each(several, self._charges)
        columns = np.arange(len(W)), np.zeros(len(W), dtype=int) if self.folds is None else self.folds
        peaks = np.array([sums.peak(self.sample.positions) for sums in several])
        least = NO_NEIGHBOUR * peaks[:, :, None] * W.mean(axis=0)
        mass = found[:, :, W.shape[1] :]
        # Contiguous, so that rows are added in the same order as for one bandwidth.
        return self._mean(*(np.ascontiguousarray(part[:, *columns]) for part in (found, mass, least)))

    def _sums(self, sums: Sums) -> tuple[FloatArray, FloatArray]:
        """Return the sums of events and of weights over the rows that predict each row."""
        if self._outside is not None and isinstance(sums, KernelSums) and sums.kernel == "gaussian":
            return self._outside.sums(sums)
        hits, mass = np.split(sums.leave_one_out(self._charges), 2, axis=1)
        return self._own(hits), self._own(mass)

    @cached_property
    def line(self) -> Line:
        """The positions, sorted once for all bandwidths."""
        return Line.of(self.sample.positions)

    @cached_property
    def _outside(self) -> HeldOut | None:
        return None if self.folds is None else HeldOut(self.line, self.folds, self._happened, self.sample.weights)

    def _mean(self, hits: FloatArray, mass: FloatArray, least: FloatArray) -> FloatArray:
        """Return the mean loss over rows, the last axis, from the sums of events and of weights over other rows."""
        isolated = mass <= least
        p = hits / np.where(isolated, 1.0, mass)
        if isolated.any():
            p = np.where(isolated, self._base_rates, p)
        likely = np.clip(np.where(self._happened, p, 1 - p), _CLIP, 1 - _CLIP)
        weights = self.sample.weights
        return -np.multiply(np.log(likely, out=likely), weights, out=likely).sum(axis=-1) / weights.sum()

    def _own(self, columns: FloatArray) -> FloatArray:
        """Return each row's value in the column of its fold, or in the only column without folds."""
        return columns[:, 0] if self.folds is None else np.take_along_axis(columns, self.folds[:, None], axis=1)[:, 0]

    @cached_property
    def _happened(self) -> BoolArray:
        return self.sample.outcomes > 0.5

    @cached_property
    def _charges(self) -> FloatArray:
        """The weights of rows with the event, then the weights of all rows, one column per fold each."""
        W = self._columns
        return np.hstack([W * self._happened[:, None], W])

    @cached_property
    def _least(self) -> FloatArray:
        """Mass up to which a row counts as isolated, in units of the kernel at distance 0."""
        means = NO_NEIGHBOUR * self._columns.mean(axis=0)
        return means[np.zeros(len(self._happened), dtype=int) if self.folds is None else self.folds]

    @cached_property
    def _columns(self) -> FloatArray:
        """One column per fold, with the weights of the rows outside it."""
        weights = self.sample.weights[:, None]
        return weights if self.folds is None else weights * (self.folds[:, None] != np.arange(self.folds.max() + 1))

    @cached_property
    def _base_rates(self) -> FloatArray:
        W, hits = self._columns, self._columns * self.sample.outcomes[:, None]
        others = self._own(W.sum(axis=0) - W)
        hits = self._own(hits.sum(axis=0) - hits)
        return np.divide(hits, others, out=np.full(len(hits), 0.5), where=others > 0)
