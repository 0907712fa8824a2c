"""Test of the calibration mean embedding at a few locations."""

from dataclasses import dataclass

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import Progress, Rng
from calibrant.discrepancy import Data
from calibrant.hypotest.base import CalibrationTest
from calibrant.metrics.mean_embedding import UCME
from calibrant.results import TestResult

SMALLEST_SHARE = 1e-8
"""Directions of the deviations with less than this share of the largest variance are rounding and left out."""


@dataclass(frozen=True, eq=False)
class CMETest(CalibrationTest):
    r"""Hotelling's test that the mean deviation is 0 at every test location, in time O(n J).

    Parameters
    ----------
    estimator : UCME, default=UCME()
        Kernel and test locations.
    ridge : float, default=0.0
        Added to the covariance, as a share of its mean variance. A ridge makes the test conservative.

    Notes
    -----
    With the mean :math:`\bar z` and the covariance S of the deviations at J locations (J counts only directions that
    vary), :math:`Q = n \bar z^\top S^{-1} \bar z` and :math:`\frac{n - J}{J (n - 1)} Q` is compared with the F law of J
    and n - J degrees of freedom. The usual chi-square law rejects far too often at small n. Even so, with the default
    locations the level is far off where deviations are rare and large, above all for peaked predictions of many
    classes: see the validity table. `ConsistencyTest(UCME())` is exact.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests beyond classification", ICLR 2021.
    """

    estimator: UCME = UCME()
    ridge: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, UCME):
            raise TypeError(f"estimator must be a UCME, but is {self.estimator!r}.")
        if not 0 <= self.ridge < np.inf:
            raise InputError(f"ridge must not be negative, but is {self.ridge!r}.")

    def __call__(self, data: Data, rng: Rng = None, *, progress: Progress | None = None) -> TestResult:  # noqa: ARG002 (nothing is random)
        """Run the test."""
        from scipy.special import fdtrc

        deviations = self.estimator.deviations(data)
        n = len(deviations)
        mean = deviations.mean(axis=0)
        centred = deviations - mean
        values, vectors = np.linalg.eigh(centred.T @ centred / max(n - 1, 1))
        used = values > SMALLEST_SHARE * max(values.max(), 0.0)
        rank = int(used.sum())
        if rank >= n - 1 or rank == 0:  # As many directions as the rows allow: the covariance is singular.
            raise InputError(
                f"the test needs more rows than directions of deviation, but there are {n} rows and {rank} directions. "
                "Pass fewer test locations."
            )
        projected = mean @ vectors[:, used]
        hotelling = n * float(np.sum(projected**2 / (values[used] + self.ridge * values[used].mean())))
        statistic = (n - rank) / (rank * (n - 1)) * hotelling
        return TestResult(
            name=repr(self),
            statistic=statistic,
            pvalue=max(float(fdtrc(rank, n - rank, statistic)), np.finfo(float).tiny),
            estimate=float(np.mean(mean**2)),
            details={"hotelling": hotelling, "directions": rank, "locations": deviations.shape[1]},
        )
