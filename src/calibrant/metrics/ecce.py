"""Empirical cumulative calibration error."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant.binning.ties import Pools
from calibrant.metrics.base.pooled import PooledMetric
from calibrant.results import Description


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
        check_option(self.statistic, "statistic", "mad", "range")

    def combine(self, pools: Pools) -> float:
        """Return how far the running sum goes."""
        return float(reach(np.cumsum(pools.hits - pools.predicted) / pools.mass.sum(), self.statistic))


def reach(path: FloatArray, statistic: Literal["mad", "range"]) -> FloatArray:
    """Return how far running sums go, given all their values but the 0 at which they start, (m,) or (m, B).

    Examples
    --------
    >>> path = np.array([-0.2, 0.1, 0.3])
    >>> float(reach(path, "mad")), float(reach(path, "range"))
    (0.3, 0.5)
    """
    if statistic == "mad":
        return np.asarray(np.abs(path).max(axis=0, initial=0.0))
    return np.asarray(path.max(axis=0, initial=0.0) - path.min(axis=0, initial=0.0))
