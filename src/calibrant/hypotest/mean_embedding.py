"""Test of the calibration mean embedding at a few locations."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.numerals import as_given, significant
from calibrant._border.settings import check_not_negative, check_option
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant._core.laws import SMALLEST_PVALUE
from calibrant._core.threads import one_blas_thread
from calibrant.exceptions import InputError
from calibrant.hypotest.calibration_test import CalibrationTest, check_rows
from calibrant.hypotest.deviation_law import DeviationLaw, deviation_law
from calibrant.hypotest.events import relative_weights
from calibrant.kernels.discrepancy import Data
from calibrant.metrics.ucme import UCME
from calibrant.results import TestResult

LEAST_EVENTS = 5.0
"""Directions in which fewer events contribute to the sum of deviations are left out."""


@dataclass(frozen=True, eq=False)
class CMETest(CalibrationTest):
    r"""Test that the mean deviation is 0 at every test location.

    Parameters
    ----------
    estimator : UCME, default=UCME()
        Kernel and test locations.
    ridge : float, default=0.0
        Added to the covariance, as a share of its mean variance: directions of small variance then count less. With
        `covariance="sample"` a ridge makes the test conservative.
    covariance : {"predictions", "sample"}, default="predictions"
        Covariance of the deviations: the one that follows from the predictions, or that of the sample, which is
        Hotelling's test.

    Notes
    -----
    If the predictions are right, they determine the law of the deviations :math:`d_i` of each row at J locations. So
    :math:`\Sigma = \frac1n \sum_i E[d_i d_i^\top]` is known, by a sum over labels for classes and by draws with a fixed
    seed for forecasts (see `calibrant.hypotest.deviation_law`), and with the mean :math:`\bar z` of the deviations
    :math:`Q = n \bar z^\top \Sigma^+ \bar z` has as its mean the number of directions. Its variance follows from the
    fourth moments. p-values are those of the scaled chi-square law with this mean and this variance, which tends to the
    usual chi-square law. Of the eigenvectors u of :math:`\Sigma`, the 100 of largest variance are considered; of these,
    the test uses those with :math:`(\sum_i E[(u^\top d_i)^2])^2 / \sum_i E[(u^\top d_i)^4] \ge 5`. For indicators of
    rare events this ratio is their expected number. If no direction is left, the test refuses. The choice depends on
    predictions and weights only.
    With weights, whose mean is made 1, :math:`w_i d_i` takes the place of :math:`d_i` throughout.

    The law is approximate. In at least 750 simulated sets per cell of flat, peaked, two-point and zero-one predictions
    (20 to 300 rows of 2, 3 and 10 classes) and of normal forecasts (20 and 100 rows) rejection rates were from 0.037 to
    0.067 at level 0.05, and from 0.005 to 0.019 at 0.01. `ConsistencyTest(UCME())` is exact.

    With `covariance="sample"`, the covariance S of the deviations in the sample takes the place of :math:`\Sigma`,
    without choice of directions: :math:`\frac{n - J}{J (n - 1)} n \bar z^\top S^+ \bar z`, where J counts directions
    that vary, is compared with the F law of J and n - J degrees of freedom. This is the published test with its
    chi-square law replaced, which rejects still more often. It is liberal where deviations are rare and large, since
    the sample does not show them: with the default locations it rejects nearly all calibrated sets of 300 peaked
    predictions of ten classes.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests beyond classification", ICLR 2021.
    """

    label = "Mean embedding"
    meaning = "Deviations near a few test locations only."
    caution = "Its distribution is approximate."
    estimator: UCME = UCME()
    ridge: float = 0.0
    covariance: Literal["predictions", "sample"] = "predictions"

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, UCME):
            raise TypeError(f"estimator must be a UCME, but is {self.estimator!r}.")
        check_not_negative(self.ridge, "ridge")
        check_option(self.covariance, "covariance", "predictions", "sample")

    @one_blas_thread()
    def run(self, data: Data, rng: Rng, progress: Progress | None) -> TestResult:  # noqa: ARG002 (nothing is random)
        """Run the test."""
        check_rows(data, 2)
        weights = relative_weights(data)
        deviations = weights[:, None] * self.estimator.deviations(data)
        if self.covariance == "sample":
            statistic, pvalue, details = self._hotelling(deviations)
        else:
            law = deviation_law(self.estimator, data, weights)
            statistic, pvalue, details = self._against_predictions(deviations, law)
        return TestResult(
            name=repr(self),
            statistic=statistic,
            pvalue=max(pvalue, SMALLEST_PVALUE),
            estimate=float(np.mean(deviations.mean(axis=0) ** 2)),  # The weights have mean 1.
            details=details | {"locations": deviations.shape[1]},
        )

    def _against_predictions(self, deviations: FloatArray, law: DeviationLaw) -> tuple[float, float, dict[str, object]]:
        from scipy.special import gammaincc

        n = len(deviations)
        variances, vectors = leading_directions(law)
        if not len(variances):
            raise InputError(
                "the predictions are certain up to rounding: deviations have no spread, and nothing can be tested."
            )
        events = _events(law, vectors)
        used = events >= LEAST_EVENTS
        if not used.any():
            raise InputError(
                f"the distribution of the test needs a direction in which at least {as_given(LEAST_EVENTS)} events "
                f"cause the deviation, but in these {n} rows there are {significant(events.max())} at most. Use an "
                "exact test, ConsistencyTest(UCME()) or OmnibusTest (--test omnibus), or more rows."
            )
        ridged = variances[used] + self.ridge * variances[used].mean()
        directions = vectors[:, used] / np.sqrt(ridged)
        statistic = n * float(np.sum((deviations.mean(axis=0) @ directions) ** 2))
        mean = float(np.sum(variances[used] / ridged))
        variance = 2 * float(np.sum((variances[used] / ridged) ** 2)) + _excess_variance(law, directions, n)
        variance = max(variance, 1e-6 * mean**2)  # A single uncertain row may have a constant square.
        details: dict[str, object] = {
            "directions": int(used.sum()),
            "degrees_of_freedom": 2 * mean**2 / variance,
            "scale": variance / (2 * mean),
            "fewest_events": float(events[used].min()),
        }
        return statistic, float(gammaincc(mean**2 / variance, statistic * mean / variance)), details

    def _hotelling(self, deviations: FloatArray) -> tuple[float, float, dict[str, object]]:
        from scipy.special import fdtrc

        n = len(deviations)
        mean = deviations.mean(axis=0)
        centred = deviations - mean
        variances, vectors = varying(*np.linalg.eigh(centred.T @ centred / (n - 1)))
        rank = len(variances)
        if rank >= n - 1 or rank == 0:  # As many directions as the rows allow: the covariance is singular.
            raise InputError(
                f"the test needs more rows than directions of deviation, but there are {n} rows and {rank} directions. "
                "Pass fewer test locations."
            )
        hotelling = n * float(np.sum((mean @ vectors) ** 2 / (variances + self.ridge * variances.mean())))
        statistic = (n - rank) / (rank * (n - 1)) * hotelling
        return statistic, float(fdtrc(rank, n - rank, statistic)), {"hotelling": hotelling, "directions": rank}


def _events(law: DeviationLaw, directions: FloatArray) -> FloatArray:
    """Return the effective number of events in the sum of deviations along each direction."""
    second, fourth = np.zeros((2, directions.shape[1]))
    for probs, values in law.projections(directions):
        squares = values**2
        second += np.einsum("bl,blr->r", probs, squares)
        fourth += np.einsum("bl,blr->r", probs, squares**2)
    return second**2 / fourth


def _excess_variance(law: DeviationLaw, directions: FloatArray, n: int) -> float:
    r"""Return by how much the variance of the squared length of a mean of n vectors exceeds that of a normal vector.

    With vectors x and :math:`q = x^\top x` it is the sum over rows of
    :math:`\mathrm{Var}(q) - 2 \, \|E[x x^\top]\|_F^2`, over :math:`n^2`.
    """
    total = 0.0
    for probs, values in law.projections(directions):
        lengths = np.einsum("blr,blr->bl", values, values)
        means = np.einsum("bl,bl->b", probs, lengths)
        roots = values * np.sqrt(probs)[:, :, None]
        turned = roots.swapaxes(1, 2)
        squares = roots @ turned if values.shape[1] < values.shape[2] else turned @ roots  # Both have the same norm.
        total += float(np.sum(probs * lengths**2) - np.sum(means**2) - 2 * np.sum(squares**2))
    return total / n**2


SMALLEST_SHARE = 1e-8
"""Directions of the deviations with less than this share of the largest variance are rounding and left out."""

MOST_DIRECTIONS = 100
"""Largest number of directions, those of largest variance, that are considered."""

MANY_LOCATIONS = 5 * MOST_DIRECTIONS
"""With more test locations than this, only the directions that are considered are computed."""


def leading_directions(law: DeviationLaw) -> tuple[FloatArray, FloatArray]:
    """Return the largest variances, in ascending order, and their directions, (J, R) with R at most 100.

    All eigenvectors of J locations take O(J^3), and 50 classes have 2550 locations in the corners and the centre of the
    simplex. With many locations only the 100 directions are computed, by Lanczos' method from a fixed first vector.
    """
    few = law.n_locations <= MANY_LOCATIONS
    variances, vectors = np.linalg.eigh(law.covariance()) if few else _largest(law)
    variances, vectors = varying(variances, vectors, law.rounding)
    return variances[-MOST_DIRECTIONS:], vectors[:, -MOST_DIRECTIONS:]


def varying(variances: FloatArray, vectors: FloatArray, rounding: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return the variances and directions without those that are 0 up to rounding."""
    used = variances > max(SMALLEST_SHARE * variances.max(), rounding, np.finfo(float).tiny)
    return variances[used], vectors[:, used]


def _largest(law: DeviationLaw) -> tuple[FloatArray, FloatArray]:
    from scipy.sparse.linalg import ArpackError, eigsh

    # Equal entries would be orthogonal to every direction: residuals of a row sum to 0.
    start = np.random.default_rng(0).standard_normal(law.n_locations)
    try:
        values, vectors = eigsh(law.operator(), k=MOST_DIRECTIONS, which="LA", v0=start)
    except ArpackError:  # It does not converge if eigenvalues hardly differ.
        return np.linalg.eigh(law.covariance())
    order = np.argsort(values)
    return values[order], vectors[:, order]
