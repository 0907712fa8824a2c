"""How well neighbours predict outcomes: the loss that the best bandwidth minimises."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.line.boxes import Line
from calibrant._core.line.held_out import HeldOut
from calibrant._core.line.sums import KernelSums
from calibrant._core.line.twin import PlainSums, leave_one_out_of_each
from calibrant.smoothing.kernel_regression import NO_NEIGHBOUR, Sums, own_column
from calibrant.smoothing.sample import Sample

_CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class HeldOutLoss:
    """Negative log likelihood of outcomes as the other rows, or the other folds, predict them.

    The prediction is clipped to [1e-6, 1 - 1e-6]. A row without neighbours is predicted by the base rate of the rows
    that its sums run over, which is also the limit of a large bandwidth; without any such row, by 1/2.

    Parameters
    ----------
    sample : Sample
    folds : array of shape (n,), optional
        Numbers 0, 1, ... of the folds: a row is predicted by the other folds. Without them by all other rows.
    """

    sample: Sample
    folds: IntArray | None = None

    def __call__(self, sums: Sums) -> float:
        """Return the mean loss with the kernel and bandwidth of `sums`, which must run over the same rows."""
        hits, mass = self._sums(sums)
        return float(self._mean(hits, mass, sums.peak(self.sample.positions) * self._least))

    def each(self, several: Sequence[PlainSums]) -> FloatArray:
        """Return the same for several bandwidths of a few rows, all at once: it is the calls that take the time."""
        W = self._columns
        found = leave_one_out_of_each(several, self._charges)
        columns = np.arange(len(W)), np.zeros(len(W), dtype=int) if self.folds is None else self.folds
        peaks = np.array([sums.peak(self.sample.positions) for sums in several])
        least = NO_NEIGHBOUR * peaks[:, :, None] * W.mean(axis=0)
        mass = found[:, :, W.shape[1] :]
        # Rows side by side, so that they are added up in the same order as those of one bandwidth.
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
        """Return the mean over rows, which come last, from the sums of events and of weights over the others."""
        lonely = mass <= least
        p = hits / np.where(lonely, 1.0, mass)
        if lonely.any():
            p = np.where(lonely, self._base_rates, p)
        likely = np.clip(np.where(self._happened, p, 1 - p), _CLIP, 1 - _CLIP)
        weights = self.sample.weights
        return -np.multiply(np.log(likely, out=likely), weights, out=likely).sum(axis=-1) / weights.sum()

    def _own(self, columns: FloatArray) -> FloatArray:
        """Return every row's value in the column of its fold."""
        return own_column(columns, self.folds)

    @cached_property
    def _happened(self) -> BoolArray:
        return self.sample.outcomes > 0.5

    @cached_property
    def _charges(self) -> FloatArray:
        """The columns of weights where the event happened, then all of them."""
        W = self._columns
        return np.hstack([W * self._happened[:, None], W])

    @cached_property
    def _least(self) -> FloatArray:
        """Mass up to which a row has no neighbours, in units of the kernel at distance 0."""
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
