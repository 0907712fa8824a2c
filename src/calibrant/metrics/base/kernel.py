"""Base class of kernel metrics, Monte Carlo errors, and a block size that bounds the time."""

from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import Data, tune
from calibrant.kernels.general import GeneralKernel, as_sampled
from calibrant.metrics.base.metric import KERNEL, Metric
from calibrant.predictions import Predictions

N_BATCHES = 16
"""Number of batches of Monte Carlo draws from which the standard error is estimated."""


class KernelMetric(Metric):
    """A metric that compares pairs of rows by a kernel on predictions and targets."""

    group = KERNEL
    cells = False
    family = "kernel"
    measures = "calibration"
    forecasts = True
    kernel: JointKernel | GeneralKernel | None

    def batch_values(self, data: Data) -> FloatArray | None:
        """Return values from independent batches of draws if expectations are means over draws, else None."""
        if isinstance(data, Predictions):
            return None
        if self.kernel is not None and not isinstance(self.kernel, JointKernel):
            shares = as_sampled(self.kernel).shares()
            return np.array([replace(self, kernel=share)(data) for share in shares])  # type: ignore[type-var]
        if data.distribution.is_exact:
            return None
        fixed = replace(self, kernel=tune(self.kernel, data))  # type: ignore[type-var]  # every leaf is a dataclass
        return np.array([fixed(batch) for batch in data.batches(N_BATCHES)])


@dataclass(frozen=True)
class Affordable:
    """A block size for `SKCE` that bounds the time: one block if that takes seconds, else blocks that take as long.

    With two classes and the default kernel, up to two million rows are one block, whose sums are found by sorting.

    Parameters
    ----------
    pairs : int, default=200_000_000
        Largest number of pairs to compute.
    products : int, default=20_000_000_000
        Largest number of pairs times classes: with more than 100 classes there are fewer pairs.

    Examples
    --------
    >>> Affordable()(10_000), Affordable()(10_000, n_classes=1000)  # 2e7 pairs, in three blocks
    (10000, 3333)
    """

    pairs: int = 200_000_000
    products: int = 20_000_000_000

    def __call__(self, n: int, n_classes: int = 1) -> int:
        """Return the number of rows per block if there are n rows."""
        pairs = min(self.pairs, self.products // n_classes)
        if n * (n - 1) // 2 <= pairs:
            return n
        size = max(2, 2 * pairs // n)
        # With many classes there are few blocks: equal sizes leave hardly any rows over.
        return size if pairs == self.pairs else max(2, n // -(-n // size))


def monte_carlo_error(estimates: FloatArray | None) -> dict[str, float]:
    """Return the standard error of a mean of independent estimates, for the details of an `Estimate`."""
    if estimates is None:
        return {}
    return {"monte_carlo_error": float(np.std(estimates, ddof=1) / np.sqrt(len(estimates)))}
