"""Kernel sums over the rows of other folds, by which a bandwidth is chosen."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._core.library import FoldsRecord, required
from calibrant._core.line.boxes import Line
from calibrant._core.line.sums import KernelSums

Floats = NDArray[np.float64]

MOST_FOLDS = 8
# Polynomials of a box lie side by side, filled up to whole registers; the compiled code knows the number.
_PADDED = 16


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sums of events and of weights outside the fold of each row, for Gaussians of any bandwidth.

    Parameters
    ----------
    line : Line
    folds : array of shape (n,)
        Numbers 0, 1, ... of the folds, at most `MOST_FOLDS` of them, in the order in which the line was given.
    happened : array of shape (n,)
        Whether the event happened.
    weights : array of shape (n,)
    """

    line: Line
    folds: NDArray[np.int64]
    happened: NDArray[np.bool_]
    weights: Floats

    def sums(self, kernel: KernelSums) -> tuple[Floats, Floats]:
        """Return the sums of events and of weights, each (n,), over the rows of the line with a kernel."""
        sources, plan = kernel.sources, kernel.plan(self.line, leave_out=False)
        n_folds = int(self.folds.max()) + 1
        record = FoldsRecord.of(
            n_folds=n_folds,
            translations=kernel.padded_translations(_PADDED),
            moments=np.empty(len(kernel.boxes.ids) * n_folds * 2 * _PADDED),
            **self._sorted,
        )
        found, result = np.empty((2, len(self.line))), np.empty((2, len(self.line)))
        required().held_out(sources, record, plan.as_record(), found)
        result[:, self.line.order] = found
        return result[0], result[1]

    @cached_property
    def _sorted(self) -> dict[str, Floats]:
        """What is known of the rows in increasing order, with zeros beyond the last."""
        columns = {"fold": self.folds, "weights": self.weights, "hits": self.weights * self.happened}
        beyond = np.zeros(required().lanes)
        return {name: np.append(values[self.line.order], beyond) for name, values in columns.items()}
