"""How wide a kernel to take: rules of thumb, and the width with which neighbours predict the outcomes best."""

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.line.twin import can_be_joined
from calibrant.predictions import Predictions
from calibrant.smoothing.held_out_loss import HeldOutLoss
from calibrant.smoothing.kernel_regression import Boundary, KernelName, Sums, kernel_sums
from calibrant.smoothing.sample import Sample

Rule: TypeAlias = Literal["cv", "loo", "silverman", "silverman-robust", "mix-n-match"]

# Rules of thumb say nothing about predictions that are all alike, and then every bandwidth gives the same estimate.
_NARROWEST = 1e-4
_FOLDS = 5
# More rows than this take long, most of all if every class is searched, and hardly move the choice.
_MOST_SEARCHED = 20_000
_TRIED = 16
# Between these bandwidths, as standard deviations of the kernel, is searched: narrower ones move an estimate by less
# than 0.002, and with wider ones it is nearly flat.
_LOW, _HIGH = 0.002, 0.5
# Standard deviation of the kernels at bandwidth 1.
_DEVIATIONS = {"gaussian": 1.0, "triweight": 1 / 3, "epanechnikov": 1 / math.sqrt(5)}


def bandwidth_of(view: Predictions, rule: Rule, kernel: KernelName, boundary: Boundary) -> float:
    """Return the bandwidth that a rule gives for binary predictions, kept with them."""

    def choose() -> float:
        return choose_bandwidth(Sample.of_view(view), rule, kernel, boundary)

    return view.once(("bandwidth", rule, kernel, boundary), choose)


def choose_bandwidth(sample: Sample, rule: Rule, kernel: KernelName, boundary: Boundary) -> float:
    """Return the bandwidth that a rule gives; see `calibrant.metrics.KdeECE` for the rules."""
    if rule in ("cv", "loo"):
        return _search(sample, rule, kernel, boundary)
    return bandwidth_of_deviation(max(_THUMBS[rule](sample), _NARROWEST), sample, kernel)


def bandwidth_of_deviation(deviation: float, sample: Sample, kernel: KernelName) -> float:
    """Return the bandwidth at which the kernel has this standard deviation, the Beta kernel on average."""
    if kernel != "beta":
        return deviation / _DEVIATIONS[kernel]
    spread = np.average(sample.positions * (1 - sample.positions), weights=sample.weights)
    return min(deviation**2 / max(float(spread), 1e-6), 1.0)


def _silverman(sample: Sample) -> float:
    return 1.06 * _deviation(sample) * sample.size**-0.2


def _silverman_robust(sample: Sample) -> float:
    # The interquartile range is 0 when half of the predictions are alike, and says nothing about the others.
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
    """Quartiles between rows are interpolated; equal weights give NumPy's default."""
    if len(sample.positions) == 1:
        return 0.0
    rank = np.append(0.0, np.cumsum(sample.weights[1:] + sample.weights[:-1]))
    low, high = np.interp([0.25, 0.75], rank / rank[-1], sample.positions)
    return float(high - low)


def limits_of_search(sample: Sample, kernel: KernelName) -> tuple[float, float]:
    """Return the bandwidths between which is searched."""
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
        return high  # All bandwidths predict the same outcomes equally well; most of many classes never occur.
    # Every fold takes each fifth of the sorted rows, so that no part of the line is left without neighbours.
    loss = HeldOutLoss(sample, np.arange(n) % _FOLDS if rule == "cv" else None)

    def sums(bandwidth: float) -> Sums:
        return kernel_sums(loss.line, bandwidth, kernel, boundary)

    def losses(bandwidths: FloatArray) -> FloatArray:
        several = [sums(float(bandwidth)) for bandwidth in bandwidths]
        if can_be_joined(several):
            return loss.each(several)
        return np.array([loss(one) for one in several])

    return minimise_all(losses, low, high, _TRIED)


def minimise(loss: Callable[[float], float], low: float, high: float, n_grid: int) -> float:
    """Return about the bandwidth with the smallest loss; see `minimise_all`."""
    return minimise_all(lambda bandwidths: np.array([loss(float(h)) for h in bandwidths]), low, high, n_grid)


def minimise_all(losses: Callable[[FloatArray], FloatArray], low: float, high: float, n_grid: int) -> float:
    """Return about the bandwidth with the smallest loss, between `low` and `high`, of a smooth loss.

    After a logarithmic grid, the vertex of the parabola through its best three points is tried: unlike the end of a
    bisection, it moves little if the data does. Of bandwidths that are equally good the largest is taken, which gives
    the smoothest estimate.
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
