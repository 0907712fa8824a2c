"""ECE with the largest number of bins whose frequencies do not decrease."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import BoolArray, IntArray
from calibrant.binning.interval import ROUNDING
from calibrant.binning.ties import Pools, starts_of_ties
from calibrant.metrics.base.pooled import PooledMetric
from calibrant.metrics.ece import ECE
from calibrant.predictions import Predictions

EDGES_PER_BLOCK = 100_000
"""About how many bin edges to examine at a time."""


@dataclass(frozen=True)
class SweepECE(PooledMetric):
    r"""ECE with bins of equal mass, as many as keep the frequencies non-decreasing.

    Parameters
    ----------
    norm : float, default=1
        As for `ECE`.

    Notes
    -----
    For :math:`B = 2, 3, \dots` the predictions, in ascending order, are cut into :math:`B` bins of equal weight; equal
    predictions are never split, and bins that ties leave empty do not count. The first :math:`B` at which the
    frequency of the event falls from one bin to the next ends the sweep, and the value is the `ECE` at the number of
    bins before it. There are never more bins than distinct predictions. The estimate's details hold ``bins_used``.

    The frequencies of a calibrated model rise, and the more rows there are, the more bins show this rise. So the bias
    is smaller than with a fixed number of bins, for few rows as for many. The number of bins depends on the labels:
    under new weights or labels the sweep is run again.

    Only edges at which the frequencies could fall are examined: those with a higher frequency somewhere below than
    somewhere above them. The rest of the cost is one sort.

    References
    ----------
    R. Roelofs, N. Cain, J. Shlens, M. C. Mozer, "Mitigating bias in calibration error estimation", AISTATS 2022.

    Examples
    --------
    >>> p = Predictions([0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9], labels=[0, 0, 1, 0, 1, 0, 1, 1])
    >>> SweepECE().estimate(p).details, round(SweepECE()(p), 6)
    ({'bins_used': 4}, 0.15625)
    """

    label = "ECE, sweep"
    meaning = "As ECE, equal mass, with the largest number of bins whose frequencies do not decrease."
    family = "binned"
    measures = "calibration"
    norm: float = 1

    def __post_init__(self) -> None:
        ECE(norm=self.norm)

    def combine(self, pools: Pools) -> float:
        """Return the error in the bins at which the sweep ends."""
        bins = pools.merged(_swept(pools))
        columns = (sums[:, None] for sums in (bins.mass, bins.predicted, bins.hits))
        return float(ECE(norm=self.norm).combine(pools.mass.sum(keepdims=True), *columns)[0])

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the number of bins."""
        return {"bins_used": len(_swept(Pools.of(self.view(predictions))))}


def _swept(pools: Pools) -> IntArray:
    """Return the first pool of each bin at which the sweep ends; bins that ties leave empty do not count."""
    line = _Line(pools)
    n_bins = _sweep(pools, line)
    starts = line.start_of(np.arange(n_bins), np.array(n_bins))
    starts = starts[starts < len(pools.mass)]
    return starts[starts_of_ties(starts)]


def _sweep(pools: Pools, line: "_Line") -> int:
    """Return the number of bins before the first at which the frequencies fall."""
    n_pools = len(pools.mass)
    # A cut is safe if no frequency before it is above any after it.
    highest, lowest = np.maximum.accumulate(pools.frequencies), np.minimum.accumulate(pools.frequencies[::-1])[::-1]
    unsafe = np.flatnonzero(highest[:-1] > lowest[1:]) + 1  # Cuts unsafe by rounding only are found not to fall.
    if len(unsafe) == 0:
        return n_pools
    low, high = float(line.before[unsafe[0] - 1]), float(line.before[unsafe[-1]])
    for block in _blocks(n_pools, high - low):
        first = np.floor((low - ROUNDING) * block).astype(np.int64)
        last = np.ceil((high + ROUNDING) * block).astype(np.int64)
        count = last - first + 1
        n_bins = np.repeat(block, count)
        edge = np.arange(len(n_bins)) - np.repeat(np.cumsum(count) - count - first, count)
        inner = (edge >= 1) & (edge < n_bins)
        falling = line.falls(edge[inner], n_bins[inner])
        if falling.any():
            return int(n_bins[inner][falling].min()) - 1
    return n_pools


def _blocks(n_pools: int, share: float) -> Iterator[IntArray]:
    """Yield the numbers of bins from 2 on, in blocks that double until they are expensive."""
    start = 2
    while start <= n_pools:
        stop = start + max(1, min(start, int(EDGES_PER_BLOCK / (3 + 2 * start * share))))
        yield np.arange(start, min(stop, n_pools + 1))
        start = stop


class _Line:
    """The pools laid out along their share of the weight, from 0 to 1; shares that differ by rounding are equal."""

    def __init__(self, pools: Pools) -> None:
        # Summed before they are divided: running sums of whole weights are exact.
        mass, hits = (np.concatenate([[0.0], np.cumsum(sums)]) for sums in (pools.mass, pools.hits))
        self.mass, self.hits = mass / mass[-1], hits / mass[-1]
        self.before = self.mass[:-1]

    def start_of(self, b: IntArray, n_bins: IntArray) -> IntArray:
        """Return the first pool that begins in bin b, or in a later one if ties leave that empty."""
        return np.searchsorted(self.before, b / n_bins - ROUNDING, side="left")

    def falls(self, edge: IntArray, n_bins: IntArray) -> BoolArray:
        """Whether the frequency falls from the bin that ends at an edge to the one that begins there."""
        cut = self.start_of(edge, n_bins)
        inside = (cut > 0) & (cut < len(self.before))
        cut, n_bins = np.where(inside, cut, 0), n_bins.astype(float)
        before = np.floor((self.before[cut - 1] + ROUNDING) * n_bins)
        after = np.floor((self.before[cut] + ROUNDING) * n_bins) + 1
        # Rounding must not leave a bin without its pool next to the cut.
        start = np.minimum(self.start_of(before, n_bins), cut - 1)
        stop = np.where(after < n_bins, np.maximum(self.start_of(after, n_bins), cut + 1), len(self.before))
        left, right = self.mass[cut] - self.mass[start], self.mass[stop] - self.mass[cut]
        left_hits, right_hits = self.hits[cut] - self.hits[start], self.hits[stop] - self.hits[cut]
        return inside & (left_hits * right - right_hits * left > ROUNDING * (left + right))
