"""Limits of the root-mean-square calibration error that hold with and without miscalibration."""

from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray
from calibrant._core.laws import SMALLEST_PVALUE, normal_quantile, normal_tail
from calibrant.exceptions import InputError
from calibrant.intervals.limits import Limits, PairLaw
from calibrant.intervals.squared_gaps import Part, Squares, cross_sums, diagonal_sum, parts_of, square_sums
from calibrant.metrics import Metric, Root
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap


def debiased(
    predictions: Predictions,
    metric: Metric,
    level: float,
    bootstrap: Bootstrap,
    rng: np.random.Generator,  # noqa: ARG001 (nothing is random)
) -> Limits:
    r"""Return the limits of the debiased mean squared gap between prediction and frequency, or of its root.

    The unbiased estimate T of the mean squared gap :math:`\theta` is a sum of :math:`h_{ij}` over pairs of different
    rows (`calibrant.intervals.squared_gaps`), with row sums :math:`h_i`. Its variance is

    .. math:: 2 \sum_{i \ne j} h_{ij}^2 + 4 \Big(\sum_i (h_i - T / n)^2 - \sum_{i \ne j} h_{ij}^2\Big),

    in which the first term dominates without miscalibration and the second with it. The first can be estimated from the
    data, and without miscalibration from the predictions. Both enter a `PairLaw`; the limits of `Root` are the roots of
    its limits. If no bin has two rows, nothing is known, and the limits are 0 and 1.
    """
    if bootstrap.clusters is not None:
        raise InputError("limits of calibration errors are for independent rows: they are not available by cluster.")
    limits = _Model.of(parts_of(metric, predictions)).limits(level)
    return limits.roots() if isinstance(metric, Root) else limits


class _Model(NamedTuple):
    """The law of the mean squared gap of one model."""

    parts: list[Part]
    rows: FloatArray
    squares: Squares

    @property
    def total(self) -> float:
        """The sum of the row sums over all rows."""
        return float(self.parts[0].over_rows(self.rows).sum())

    @classmethod
    def of(cls, parts: list[Part]) -> "_Model":
        return cls(parts, np.asarray(np.sum([part.row_sums() for part in parts], axis=0)), square_sums(parts))

    @property
    def root(self) -> float:
        return float(np.sqrt(max(self.total, 0.0)))

    @property
    def variance(self) -> float:
        return _variance(self.rows, self.squares.observed, self.parts[0].copies)

    def limits(self, level: float) -> Limits:
        """Return the limits of the mean squared gap, which may be negative."""
        if not any(part.coefficient.any() for part in self.parts):
            return Limits(0.0, 1.0)
        squares, diagonal = self.squares, diagonal_sum(self.parts)
        without_error = squares.expected or squares.observed  # Predictions of 0 and 1 expect no scatter.
        typical = 4 * without_error / diagonal if diagonal > 0 else 0.0
        law = PairLaw(self.total, 2 * without_error, 2 * squares.observed, self.variance, typical)
        return Limits(*(float(np.clip(limit, -1.0, 1.0)) for limit in law.limits(level)))


def _variance(rows: FloatArray, squares: float, copies: FloatArray | None = None) -> float:
    """Return the variance of a sum over pairs, from its row sums and the sum of squares without any error."""
    copies = np.ones(len(rows)) if copies is None else copies
    mean = float(copies @ rows) / float(copies.sum())
    return 2 * squares + 4 * (float(copies @ (rows - mean) ** 2) - squares)


class GapDifference(NamedTuple):
    """Difference of the errors of two models, with limits and two-sided p-value."""

    value: float
    limits: Limits
    pvalue: float


def debiased_difference(first: Predictions, second: Predictions, metric: Metric, level: float) -> GapDifference:
    r"""Return the difference of mean squared gaps, or of their roots, second minus first, on the same rows.

    The p-value is that of the difference of the squares :math:`D = r_2^2 - r_1^2`, whose law is known. With the smaller
    root m, the difference of the roots is

    .. math:: d(D, m) = \operatorname{sign}(D) \big(\sqrt{|D| + m^2} - m\big).

    What the errors of both models have in common cancels in D. So the limits combine those of D with those of m. With a
    limit :math:`D_l` of D, and the lower and upper limits :math:`m_l` and :math:`m_u` of m, the limit away from 0 is
    :math:`d(D_l, m_l)`. Towards 0, if D is significant, the limit is nearer to 0 than the difference by
    :math:`\sqrt{(d - d(D_l, m))^2 + (d - d(D, m_u))^2}`, but not nearer than :math:`d(D_l, m_u)`. So the limits exclude
    0 if and only if the p-value is below 1 minus the level.

    References
    ----------
    G. Y. Zou, A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics in
    Medicine 27 (2008).
    """
    pair = _Pair.of(parts_of(metric, first), parts_of(metric, second))
    squared = pair.squared(level)
    return pair.roots(squared, level) if isinstance(metric, Root) else squared


class _Pair(NamedTuple):
    """The laws of two models on the same rows, and of their difference."""

    first: _Model
    second: _Model
    rows: FloatArray
    squares: Squares

    @classmethod
    def of(cls, first: list[Part], second: list[Part]) -> "_Pair":
        one, two = _Model.of(first), _Model.of(second)
        cross = cross_sums(first, second)
        both = (a + b - 2 * c for a, b, c in zip(one.squares, two.squares, cross, strict=True))
        return cls(one, two, two.rows - one.rows, Squares(*(max(value, 0.0) for value in both)))

    def squared(self, level: float) -> GapDifference:
        """Return the difference of the mean squared gaps.

        It is the same sum over pairs as for one model, with the parts of the first model counted as negative. Its error
        is treated as normal, with the larger of the observed variance and the one expected without miscalibration.
        """
        expected = 2 * (self.squares.expected or self.squares.observed)
        variance = max(_variance(self.rows, self.squares.observed), expected)
        value, error = float(self.rows.sum()), float(np.sqrt(variance)) if self.rows.any() else 0.0
        half = normal_quantile((1 + level) / 2) * error
        deviation = abs(value) / error if error > 0 else (0.0 if value == 0 else np.inf)
        pvalue = max(2 * normal_tail(deviation), SMALLEST_PVALUE)
        return GapDifference(value, Limits(value - half, value + half), pvalue)

    def roots(self, squared: GapDifference, level: float) -> GapDifference:
        """Return the difference of the roots, given that of the squares."""
        value = self.second.root - self.first.root
        if not self.rows.any():  # Equal predictions have equal errors, with certainty.
            return GapDifference(0.0, Limits(0.0, 0.0), 1.0)
        smaller = min(self.first, self.second, key=lambda model: model.root)
        own = smaller.limits(level).roots().around(smaller.root)
        if value == 0:  # Neither shows an error.
            squared = GapDifference(0.0, squared.limits.around(0.0), 1.0)
        (low, high), root = squared.limits, smaller.root
        upper = _upper(value, squared.value, high, root, own)
        return GapDifference(
            value, Limits(-_upper(-value, -squared.value, -low, root, own), upper).around(value), squared.pvalue
        )


def _upper(value: float, squared: float, squared_high: float, smaller: float, own: Limits) -> float:
    """Return the upper limit of a difference of roots, given that of the difference of squares."""
    if squared_high >= 0:
        return _of_roots(squared_high, own.low)
    by_squares = _of_roots(squared_high, smaller) - value
    by_root = _of_roots(squared, own.high) - _of_roots(squared, smaller)
    return min(value + float(np.hypot(by_squares, by_root)), _of_roots(squared_high, own.high))


def _of_roots(squared: float, smaller: float) -> float:
    """Return the difference of two roots, given that of their squares and the smaller root."""
    return float(np.sign(squared) * (np.sqrt(abs(squared) + smaller**2) - smaller))
