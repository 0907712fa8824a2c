"""Tests of binary predictions in closed form: what they share, and the two oldest of them."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant._checks import check_count
from calibrant._convert import InputError
from calibrant._typing import FloatArray, Progress, Rng
from calibrant.binning import EqualMass
from calibrant.curves import bin_totals
from calibrant.hypotest.base import CalibrationTest
from calibrant.predictions import Predictions
from calibrant.results import TestResult

SMALLEST_PVALUE = float(np.finfo(float).tiny)
"""p-values below this normal number are reported as it: a p-value is never 0."""


NEGLIGIBLE = 1e-100
"""Rows of less than this share of the largest weight count as absent: the squares of their weights would underflow."""


class Finding(NamedTuple):
    """What a test found in the binary view."""

    statistic: float
    pvalue: float
    estimate: float
    details: Mapping[str, Any]


class BinaryTest(CalibrationTest):
    """A test of binary predictions whose null law is known, so that nothing is drawn.

    More than two classes are reduced to confidence against correctness; the result's details say which ``view`` was
    tested, "binary" or "top-label". They also hold ``smallest_pvalue``, the floor at which p-values stop.
    """

    @abstractmethod
    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Test binary predictions; the weights are positive, and the largest is 1."""

    @np.errstate(under="ignore")  # Tails underflow to 0, whatever the caller has set with numpy.seterr.
    def __call__(
        self,
        predictions: Predictions,
        rng: Rng = None,  # noqa: ARG002 (part of the contract, but nothing is drawn)
        *,
        progress: Progress | None = None,  # noqa: ARG002 (and nothing takes long)
    ) -> TestResult:
        """Run the test; `rng` and `progress` have no effect."""
        if not isinstance(predictions, Predictions):
            raise TypeError(f"{type(self).__name__} tests Predictions, but got {type(predictions).__name__}.")
        reduced = predictions.n_classes > 2
        view = predictions.top_label() if reduced else predictions
        present = view.weights > NEGLIGIBLE * view.weights.max()
        if not present.all():
            view = view.take(present)
        found = self.examine(view, view.weights / view.weights.max())
        shared = {"view": "top-label" if reduced else "binary", "smallest_pvalue": SMALLEST_PVALUE}
        return TestResult(
            name=repr(self),
            statistic=found.statistic,
            pvalue=min(1.0, max(found.pvalue, SMALLEST_PVALUE)),
            estimate=found.estimate,
            details={**found.details, **shared},
        )


def refuse_certainty(view: Predictions) -> None:
    """Refuse predictions that leave nothing to chance."""
    if not view.probs.all(axis=1).any():
        wrong = int((view.predicted != view.labels).sum())
        raise InputError(
            f"some predictions must lie strictly between 0 and 1, but all {view.n_samples} are exactly 0 or 1, so that "
            f"chance plays no part: one wrong row refutes them, and {wrong} {'is' if wrong == 1 else 'are'} wrong. "
            "Test predicted probabilities, not decisions."
        )


def root_sum_of_squares(values: FloatArray) -> float:
    """Return the Euclidean norm, also where the squares alone would underflow."""
    largest = float(np.abs(values).max())
    return largest * float(np.sqrt(np.sum((values / largest) ** 2))) if largest > 0 else 0.0


@dataclass(frozen=True)
class SpiegelhalterTest(BinaryTest):
    r"""Compare the squared error with the one that the predictions themselves announce.

    Notes
    -----
    For outcomes :math:`y_i` drawn with their predicted probabilities :math:`p_i`, the squared error
    :math:`(y_i - p_i)^2` has mean :math:`p_i (1 - p_i)`, from which it differs by :math:`(y_i - p_i)(1 - 2 p_i)`. So

    .. math:: Z = \frac{\sum_i w_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i)}}

    is standard normal in large samples. The statistic is :math:`|Z|`, the p-value two-sided, and the estimate the mean
    excess :math:`\sum_i w_i (y_i - p_i)(1 - 2 p_i) / \sum_i w_i`. The details hold ``z`` with its sign and its
    ``direction``: "over-confident" if positive (the errors are larger than claimed), "under-confident" if negative,
    whether significant or not. Each row counts as one independent draw, whatever its weight.

    It has no power against errors that leave the squared error as announced: if predictions lie symmetrically around
    1/2, a bias that is the same for all of them cancels. Predictions of exactly 1/2 do not enter.

    References
    ----------
    D. J. Spiegelhalter, "Probabilistic prediction in patient management and clinical trials", Statistics in Medicine
    5 (1986).

    Examples
    --------
    >>> p = Predictions([0.9, 0.9, 0.9, 0.9], labels=[1, 1, 0, 0])  # Z = 2 * 0.8 * (0.9 - 0.1) / (2 * 0.8 * 0.3)
    >>> result = SpiegelhalterTest()(p)
    >>> round(result.statistic, 4), round(result.pvalue, 4), result.details["direction"]
    (2.6667, 0.0077, 'over-confident')
    """

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Compare the squared error with its mean under calibration."""
        from scipy.special import erfc

        refuse_certainty(view)
        lever = view.probs[:, 0] - view.probs[:, 1]
        deviation = root_sum_of_squares(weights * lever * np.sqrt(view.probs.prod(axis=1)))
        if deviation == 0:
            raise InputError(
                "some predictions must differ from 0, 1/2 and 1, but none does: at these the squared error is the same "
                "whether or not they are right, so that it says nothing. Use ECCETest."
            )
        excess = float(weights @ ((view.labels - view.positive) * lever))
        z = excess / deviation
        direction = "over-confident" if z > 0 else "under-confident" if z < 0 else "none"
        return Finding(
            statistic=abs(z),
            pvalue=float(erfc(abs(z) / np.sqrt(2))),
            estimate=excess / float(weights.sum()),
            details={"z": z, "direction": direction},
        )


@dataclass(frozen=True)
class HosmerLemeshowTest(BinaryTest):
    r"""Compare frequency and mean prediction in groups of similar predictions.

    Parameters
    ----------
    n_groups : int, default=10
        At most this many groups of equal weight; equal predictions are never split.
    fitted : bool, default=False
        Whether the predictions come from a logistic regression fitted to these very rows, which costs two degrees of
        freedom.

    Notes
    -----
    The statistic is

    .. math:: \sum_g \frac{n_g (\bar y_g - \bar p_g)^2}{\bar p_g (1 - \bar p_g)},

    compared with chi-squared of as many degrees of freedom as there are groups, less two if `fitted`. Each row counts
    as one independent draw, whatever its weight: with weights a group contributes

    .. math:: \frac{\big(\sum w_i (y_i - p_i)\big)^2}{\sum w_i^2 \; \tilde p_g (1 - \tilde p_g)}, \qquad
        \tilde p_g = \frac{\sum w_i^2 p_i}{\sum w_i^2}.

    The exact variance of the sum is :math:`\sum w_i^2 p_i (1 - p_i)`; the denominator is never smaller, and close to
    it as long as the predictions of a group are, so that the classical form errs on the side of not rejecting.

    A group whose predictions are all exactly 0, or all exactly 1, has no variance and no degree of freedom. If its
    outcomes agree it contributes nothing; if one does not, calibration is refuted beyond chance: the statistic is
    infinite and the p-value the floor ``smallest_pvalue``.

    The estimate is the mean gap :math:`\sum_g W_g |\bar y_g - \bar p_g| / W`. The details hold the number of
    ``groups`` with variance, of ``certain_groups`` without, the p-values for new data and for fitted predictions
    (None with fewer than three groups), and ``smallest_expected``, the smallest expected number of rows of either
    outcome in any group with variance, :math:`\tilde p_g` or :math:`1 - \tilde p_g` times the effective number of rows
    :math:`(\sum w_i)^2 / \sum w_i^2`: below about 5, the chi-squared law is rough and the test rejects too often.

    References
    ----------
    D. W. Hosmer, S. Lemeshow, "Goodness of fit tests for the multiple logistic regression model", Communications in
    Statistics A9 (1980).

    Examples
    --------
    >>> p = Predictions([0.2] * 10 + [0.5] * 10, labels=[0] * 6 + [1] * 4 + [0, 1] * 5)
    >>> result = HosmerLemeshowTest()(p)  # 10 * 0.2**2 / (0.2 * 0.8) + 0, with two groups
    >>> round(result.statistic, 4), round(result.pvalue, 4)
    (2.5, 0.2865)
    """

    n_groups: int = 10
    fitted: bool = False

    def __post_init__(self) -> None:
        check_count(self.n_groups, "n_groups")
        if not isinstance(self.fitted, (bool, np.bool_)):
            raise TypeError(f"fitted must be True or False, but is {self.fitted!r}.")
        if self.fitted and self.n_groups < 3:
            raise InputError(f"n_groups must be at least 3 for fitted predictions, but is {self.n_groups}.")

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Compare frequency and mean prediction group by group."""
        refuse_certainty(view)
        cut = EqualMass(self.n_groups).cut(view.positive, weights)
        mass, gap = bin_totals(cut, weights)(np.column_stack([np.ones(view.n_samples), view.labels - view.positive])).T
        zeros, ones = bin_totals(cut, weights**2)(view.probs).T
        uncertain = (ones > 0) & (zeros > 0)
        certain = ~uncertain & (mass > 0)
        n_groups = int(uncertain.sum())
        if self.fitted and n_groups < 3:
            raise InputError(
                f"fitted predictions need at least 3 groups, but ties leave {n_groups} with predictions strictly "
                "between 0 and 1. Pass fitted=False if the predictions were fitted on other rows."
            )
        statistic = _sum_of_squares(gap[uncertain], ones[uncertain], zeros[uncertain])
        squares = np.where(uncertain, ones + zeros, 1.0)
        expected = np.minimum(ones, zeros) * (mass / squares) ** 2
        if np.any(gap[certain] != 0):
            statistic = np.inf
        return Finding(
            statistic=statistic,
            pvalue=_chi_squared_tail(statistic, n_groups - 2 if self.fitted else n_groups),
            estimate=float(np.abs(gap).sum() / weights.sum()),
            details={
                "groups": n_groups,
                "certain_groups": int(certain.sum()),
                "pvalue_new_data": _chi_squared_tail(statistic, n_groups),
                "pvalue_fitted": _chi_squared_tail(statistic, n_groups - 2) if n_groups > 2 else None,
                "smallest_expected": float(expected[uncertain].min()),
            },
        )


@np.errstate(over="ignore")  # An outcome of predicted probability 1e-320 is as good as impossible.
def _sum_of_squares(gap: FloatArray, ones: FloatArray, zeros: FloatArray) -> float:
    """Return the sum of the squared gaps, each in standard deviations of its group."""
    variance = ones * (zeros / (ones + zeros))
    return float(np.sum((gap / np.sqrt(variance)) ** 2))


def _chi_squared_tail(statistic: float, degrees: int) -> float:
    from scipy.special import gammaincc

    return max(float(gammaincc(degrees / 2, statistic / 2)), SMALLEST_PVALUE)
