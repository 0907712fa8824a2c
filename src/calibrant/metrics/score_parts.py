"""Parts of a score as metrics: by isotonic recalibration (CORP), and by bins (Murphy)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import BoolArray, Evaluator, FloatArray
from calibrant.binning import Binning, EqualWidth
from calibrant.binning.ties import Pools
from calibrant.metrics.base.binned import BinnedMetric, bin_ratio
from calibrant.metrics.base.counted import CountedMetric
from calibrant.metrics.base.metric import PARTS, Metric
from calibrant.metrics.base.pooled import PooledMetric
from calibrant.metrics.ece import ECE
from calibrant.metrics.scores import NLL, Score, SquaredError
from calibrant.predictions import Predictions
from calibrant.results import Description

ScoreName = Literal["squared-error", "log"]

DECOMPOSABLE: dict[str, Score] = {"squared-error": SquaredError(), "log": NLL()}
"""The scores that can be decomposed."""

_SCORE_NAMES = {"squared-error": "squared error", "log": "log loss"}


def check_score(score: object) -> None:
    """Refuse scores that have no decomposition here."""
    check_option(score, "score", *DECOMPOSABLE)


def impurity(score: ScoreName, frequency: FloatArray) -> FloatArray:
    """Return the mean score of predicting the frequency itself: f (1 - f), or the entropy with 0 log 0 = 0."""
    if score == "squared-error":
        return frequency * (1 - frequency)
    rest = 1 - frequency
    return -(frequency * np.log(np.where(frequency > 0, frequency, 1.0)) + rest * np.log(np.where(rest > 0, rest, 1.0)))


def refinement(pools: Pools, score: ScoreName) -> float:
    """Return the mean score of the isotonic regression of the labels on the predictions."""
    return float(pools.mass / pools.mass.sum() @ impurity(score, pools.isotonic()))


AT_MOST = "rows_at_most"
"""Key in the details of an estimate from cells: an upper bound for the value that the rows would give."""


def at_most(
    part: "Miscalibration | Discrimination", mass: FloatArray, hits: FloatArray, scores: Mapping[str, float]
) -> float:
    r"""Return an upper bound for a part of a score if only cells of rows are known.

    Parameters
    ----------
    part : Miscalibration or Discrimination
    mass, hits : ndarray of shape (m,)
        Weights and weighted events in ascending order, two entries per cell: rows without the event, then rows with it.
    scores : mapping of str to float
        Mean scores of the rows, by the names of DECOMPOSABLE.

    Notes
    -----
    The isotonic regression is the slope of the greatest convex minorant of the running sum of events. Within a cell no
    order of the rows has a lower sum than that with all events last. Of two convex functions with the same ends, the
    lower one has slopes that majorise those of the other, so that its mean impurity, a concave function of the
    slopes, is not larger. So this order has the smallest refinement loss. With all events first the minorant is that of
    the cells: their value is the least possible.

    Examples
    --------
    >>> mass, hits = np.array([1.0, 1.0]), np.array([0.0, 1.0])  # Two rows of a cell, predictions near 1/2.
    >>> at_most(Miscalibration(), mass, hits, {"squared-error": 0.25})
    0.25
    """
    pools, score = Pools(mass, mass, hits), part.score
    whole = uncertainty(pools, score) if isinstance(part, Discrimination) else scores.get(score, np.inf)
    return float(max(0.0, whole - refinement(pools, score)))


def uncertainty(pools: Pools, score: ScoreName) -> float:
    """Return the mean score of predicting the frequency of the event for all rows."""
    frequency = min(1.0, float(pools.hits.sum() / pools.mass.sum()))
    return float(impurity(score, np.array([frequency]))[0])


@dataclass(frozen=True)
class _ScorePart(PooledMetric):
    """A part of a mean score, by isotonic recalibration."""

    group = PARTS
    family = "binned"
    score: ScoreName = "squared-error"

    def about(self) -> Description:
        """Return the description that readers see; ``{score}`` in `meaning` stands for the name of the score."""
        label = self.label if self.score == "squared-error" else f"{self.label}, {self.score}"
        return replace(super().about(), label=label, meaning=self.meaning.format(score=_SCORE_NAMES[self.score]))

    def __post_init__(self) -> None:
        check_score(self.score)


@dataclass(frozen=True)
class Refinement(_ScorePart):
    r"""Refinement loss: the score that is left when the predictions are recalibrated isotonically.

    Parameters
    ----------
    score : {"squared-error", "log"}, default="squared-error"

    Notes
    -----
    With the isotonic regression :math:`c_i` of the labels on the predictions, equal predictions pooled, the value is
    the weighted mean score :math:`\bar S(c)`. It is the uncertainty less the discrimination: see `decompose`.

    Examples
    --------
    >>> p = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], labels=[0, 0, 0, 1, 1, 1])
    >>> Refinement()(p)  # Of the four rows below 0.5, one is an event.
    0.125
    """

    label = "Refinement loss"
    meaning = "The {score} that remains after isotonic recalibration."
    measures = "accuracy"

    def combine(self, pools: Pools) -> float:
        """Return the mean score of the recalibrated predictions."""
        return refinement(pools, self.score)


@dataclass(frozen=True)
class Discrimination(_ScorePart):
    r"""Discrimination, DSC: what the order of the predictions saves, compared with the frequency of the event alone.

    Parameters
    ----------
    score : {"squared-error", "log"}, default="squared-error"

    Notes
    -----
    :math:`\mathrm{DSC} = \bar S(\bar y) - \bar S(c)`, where :math:`c` is the isotonic regression of the labels on the
    predictions. It is never negative, and the same for any strictly increasing function of the predictions.

    Examples
    --------
    >>> p = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], labels=[0, 0, 0, 1, 1, 1])
    >>> Discrimination()(p)
    0.125
    """

    label = "Discrimination"
    meaning = "How much the order of the predictions lowers the {score} (CORP)."
    better = "higher"
    measures = "accuracy"

    def combine(self, pools: Pools) -> float:
        """Return the uncertainty less the refinement loss."""
        return max(0.0, uncertainty(pools, self.score) - refinement(pools, self.score))


@dataclass(frozen=True)
class Miscalibration(_ScorePart):
    r"""Miscalibration, MCB: what isotonic recalibration would save.

    Parameters
    ----------
    score : {"squared-error", "log"}, default="squared-error"

    Notes
    -----
    :math:`\mathrm{MCB} = \bar S(p) - \bar S(c)`, where :math:`c` is the isotonic regression of the labels on the
    predictions, equal predictions pooled. It is never negative, and infinite for the log score if an observed class was
    given probability 0. It is not the mean of :math:`(p - c)^2`, unless predictions are constant on every block of
    :math:`c`.

    The regression is fitted to the same labels, so that even a calibrated model has a positive value by chance.

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. I. Jordan, "Stable reliability diagrams for probabilistic classifiers", PNAS 118
    (2021).

    Examples
    --------
    >>> p = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], labels=[0, 0, 0, 1, 1, 1])
    >>> round(Miscalibration()(p), 6)
    0.101667
    """

    label = "Miscalibration"
    meaning = "How much isotonic recalibration would lower the {score} (CORP)."
    measures = "calibration"

    def combine(self, pools: Pools) -> float:
        """Return the refinement loss, which `value` and `prepare` subtract from the score."""
        return refinement(pools, self.score)

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        return max(0.0, DECOMPOSABLE[self.score](self.view(data)) - super().value(data))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; predictions are sorted once."""
        score, rest = DECOMPOSABLE[self.score].prepare(self.view(predictions)), super().prepare(predictions)
        return lambda weights: np.maximum(0.0, score(weights) - rest(weights))

    def prepare_events(self, view: Predictions) -> Evaluator:
        """Return the map from events, (n, B), to B values; predictions are sorted once."""
        rest = super().prepare_events(view)
        losses = [DECOMPOSABLE[self.score].per_row(view.with_labels(np.full(view.n_samples, y))) for y in (0, 1)]
        share = view.weights / view.weights.sum()

        def evaluate(events: BoolArray) -> FloatArray:
            own = np.where(events, losses[1][:, None], losses[0][:, None])
            own[view.weights == 0] = 0.0  # An impossible label of a row without weight does not count.
            return np.maximum(0.0, share @ own - rest(events))

        return evaluate

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return what `Metric` does: the score needs the rows of each cell with either label."""
        return Metric.prepare_counts(self, predictions)


@dataclass(frozen=True)
class Reliability(BinnedMetric):
    r"""Reliability, or calibration loss, of bins: :math:`\sum_b \frac{W_b}{W} (\bar p_b - \bar y_b)^2`.

    It is the square of ``ECE(norm=2)``, and a part of the squared error: see `decompose`.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Examples
    --------
    >>> round(Reliability()(Predictions([0.8, 0.8], labels=[1, 0])), 4)
    0.09
    """

    label = "Reliability"
    meaning = "Murphy's calibration loss: the mean squared gap between prediction and frequency over bins."
    group = PARTS
    bins: Binning = EqualWidth(15)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return the mean squared gap."""
        return ECE(norm=2).combine(total, mass, predicted, hits) ** 2


@dataclass(frozen=True)
class Resolution(BinnedMetric):
    r"""Resolution of bins: how far their frequencies differ, :math:`\sum_b \frac{W_b}{W} (\bar y_b - \bar y)^2`.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Examples
    --------
    >>> Resolution()(Predictions([0.2, 0.2, 0.7, 0.7], labels=[0, 0, 1, 1]))
    0.25
    """

    label = "Resolution"
    meaning = "The variance of the frequencies over bins (Murphy)."
    group = PARTS
    better = "higher"
    measures = "accuracy"
    bins: Binning = EqualWidth(15)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:  # noqa: ARG002 (predictions only decide the bins)
        """Return the variance of the frequencies."""
        frequency = bin_ratio(hits, mass)
        return (mass / total * (frequency - hits.sum(axis=0) / total) ** 2).sum(axis=0)
