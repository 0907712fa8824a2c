"""Binned calibration errors of binary predictions, and their values by chance."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.threads import in_order
from calibrant.binning import Binning, EqualMass, EqualWidth
from calibrant.binning.sums import ClassEvents, bin_sums_of, class_bin_sums
from calibrant.curves import bin_totals, joint_bin_totals
from calibrant.metrics.counted import BinnedCells, CountedMetric
from calibrant.metrics.metric import Measured, Metric, check_norm, relative, root
from calibrant.predictions import Predictions
from calibrant.results import Description

LEAST_PAIRS = 1e-12
"""A bin counts as one row if its pairs of different rows have less than this share of the weight of all pairs."""


class BinnedMetric(Metric):
    """A function of weight, mean prediction and frequency in every bin."""

    family = "binned"
    accepts = "binary"
    measures: ClassVar[Measured] = "calibration"
    bins: Binning

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_binning(self.bins, EqualWidth))

    @abstractmethod
    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return B values from the weight of all rows, (B,), and the sums in each bin, (n_bins, B).

        The sums are those of the weights, of the weighted predictions and of the weighted labels.
        """

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights, from sums that all metrics of these bins share."""
        self.check(data)
        view = self.view(data)
        mass, predicted, hits = (part[:, None] for part in bin_sums_of(view, self.bins))
        return float(self.combine(self._total(view, mass), mass, predicted, hits)[0])

    def _total(self, view: Predictions, mass: FloatArray) -> FloatArray:
        """Return the weight of all rows, including rows outside every bin."""
        return mass.sum(axis=0) if self.bins.leaves_none_out else view.weights.sum(keepdims=True)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bins are cut once, at the data's own weights."""
        view = self.view(predictions)
        cut = self.bins.cut_view(view)
        sums = joint_bin_totals(cut, np.column_stack([np.ones(view.n_samples), view.positive, view.labels]))
        complete = bool((cut.index >= 0).all())

        def evaluate(weights: FloatArray) -> FloatArray:
            mass, predicted, hits = sums(weights)
            total = mass.sum(axis=0) if complete else weights.sum(axis=0)
            return self.combine(total, mass, predicted, hits)

        return evaluate

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from labels, (n, B), to B values: only the frequencies change."""
        view = self.view(predictions)
        of_hits, hits = self._of_hits(view), bin_totals(self.bins.cut_view(view), view.weights)
        event = self.event_class(predictions)
        return lambda labels: of_hits(hits(labels == event))

    def prepare_classes(self, predictions: Predictions) -> Evaluator | None:
        """Return the map from class indices, (n, B), to values of every class against the rest, (K, B)."""
        views = [predictions.one_vs_rest(c) for c in range(predictions.n_classes)]
        events = ClassEvents.of([*in_order(self.bins.cut_view, views)], [predictions.weights[:, None]])
        parts = [self._of_hits(view) for view in views]
        return lambda labels: np.array([part(*hits) for part, hits in zip(parts, events.sums(labels), strict=True)])

    def _of_hits(self, view: Predictions) -> Evaluator:
        """Return the map from the weights of events in each bin, (n_bins, B), to B values."""
        mass, predicted, _ = (part[:, None] for part in bin_sums_of(view, self.bins))
        total = view.weights.sum(keepdims=True)
        return lambda hits: self.combine(total, mass, predicted, hits)

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in cells of rows, (C, B), to B values."""
        rows = BinnedCells.of(predictions, self.bins.cut_view(predictions))
        if rows is None:
            return None
        mass, predicted = rows.totals(rows.weights), rows.totals(rows.weights * rows.cells.probs)
        hits, total = rows.sums(rows.weights), np.array(rows.total)
        return CountedMetric(rows.cells, lambda counts: self.combine(total, mass, predicted, hits(counts)))

    def class_values(self, predictions: Predictions) -> FloatArray:
        """Return the value of every class against the rest, (K,), without a pass over the rows for each class."""
        return predictions.once(("class values", self), lambda: self._class_values(predictions))

    def _class_values(self, predictions: Predictions) -> FloatArray:
        total, values = predictions.weights.sum(keepdims=True), []
        for sums in class_bin_sums(predictions, self.bins):
            mass, predicted, hits = (part[:, None] for part in sums)
            values.append(self.combine(mass.sum(axis=0) if self.bins.leaves_none_out else total, mass, predicted, hits))
        return np.concatenate(values)

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Say how many bins hold weight."""
        return {"bins_used": bins_used(self.view(predictions), self.bins)}


@dataclass(frozen=True)
class ECE(BinnedMetric):
    r"""Expected calibration error: how far frequency and mean prediction are apart, averaged over bins.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)
    norm : float, default=1
        The exponent r below; 2 gives the root mean square, inf the largest gap of any bin.

    Notes
    -----
    With the weight :math:`W_b` of bin :math:`b` out of :math:`W`, its weighted mean prediction :math:`\bar p_b` and
    frequency :math:`\bar y_b`,

    .. math:: \Big(\sum_b \frac{W_b}{W} |\bar p_b - \bar y_b|^r\Big)^{1/r}.

    It is biased upwards: a calibrated model has a positive ECE by chance, which `ChanceECE` estimates.
    Given more than two classes, it means `TopLabel` of itself.

    References
    ----------
    M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> ECE()(Predictions([0.25, 0.25, 0.75, 0.75], labels=[0, 0, 1, 1]))
    0.25
    """

    label = "ECE"
    meaning = "Expected calibration error: the gap between prediction and frequency, averaged over bins of equal width."
    bins: Binning = EqualWidth(15)
    norm: float = 1

    def about(self) -> Description:
        """Return the description that readers see."""
        found = super().about()
        if self == ECE():
            return replace(found, principal=True)
        if self.norm == np.inf:
            return replace(
                found, label="ECE, maximum", meaning="The largest gap of any bin, even of one with few rows."
            )
        if self.norm != 1:
            name = "root mean square" if self.norm == 2 else f"norm {as_given(self.norm)}"
            meaning = "As ECE, but gaps are raised to a power, so that large ones weigh more."
            return replace(found, label=f"ECE, {name}", meaning=meaning)
        if isinstance(self.bins, EqualWidth):
            return replace(found, label=f"ECE, {self.bins.n_bins} bins")
        return replace(
            found, label="ECE, equal mass", meaning="As ECE, but every bin holds the same share of the rows."
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_norm(self.norm, largest=True)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return the norm of the gaps."""
        gap_sums = np.abs(predicted - hits)
        if self.norm == 1:
            return gap_sums.sum(axis=0) / total
        gaps = bin_ratio(gap_sums, mass)
        if self.norm == np.inf:
            return gaps.max(axis=0)
        return root((mass * gaps**self.norm).sum(axis=0) / total, self.norm)


@dataclass(frozen=True)
class ChanceECE(Metric):
    r"""The ECE that a perfectly calibrated model with these predictions would have by chance.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Notes
    -----
    If every label is drawn from its prediction, the residuals of bin :math:`b` sum to a variable with mean 0 and
    variance :math:`V_b = \sum_{i \in b} w_i^2 p_i (1 - p_i)`: each row is one draw, regardless of its weight. Its mean
    absolute value is near :math:`\sqrt{2 V_b / \pi}` where many rows matter, and never above
    :math:`A_b = \sum_{i \in b} 2 w_i p_i (1 - p_i)`, the sum of the rows' own mean absolute residuals. The value is

    .. math:: \frac1W \sum_b \min\big(\sqrt{2 V_b / \pi},\; A_b\big).

    The labels do not enter. `ConsistencyTest` draws the whole law instead of approximating its mean.

    Examples
    --------
    >>> p = Predictions([0.5] * 200, labels=[0, 1] * 100)
    >>> round(ChanceECE()(p), 4), ECE()(p)  # sqrt(2 * 50 / pi) / 200
    (0.0282, 0.0)
    """

    label = "ECE by chance"
    meaning = "The ECE that a perfectly calibrated model with the same predictions has on average."
    family = "binned"
    accepts = "binary"
    better = "none"
    measures = "chance"
    weights = "pairs"
    bins: Binning = EqualWidth(15)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_binning(self.bins, EqualWidth))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        view = self.view(predictions)
        cut = self.bins.cut_view(view)
        spread = bin_totals(cut, view.positive * (1 - view.positive))

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            expected = np.minimum(np.sqrt(2 * spread(view.squares(weights)) / np.pi), 2 * spread(weights))
            return expected.sum(axis=0) / weights.sum(axis=0)

        return evaluate


def as_binning(bins: object, kind: type[EqualWidth] | type[EqualMass]) -> Binning:
    """Return a binning as it is, and a number as that many bins of the given kind; refuse anything else."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        return kind(int(bins))
    if not isinstance(bins, Binning):
        raise TypeError(
            f"bins must be a Binning such as EqualWidth(15) or EqualMass(15), or a number of bins, but is {bins!r}."
        )
    return bins


def bins_used(view: Predictions, bins: Binning) -> int:
    """Return the number of bins that hold weight."""
    return int((bin_sums_of(view, bins)[0] > 0).sum())


def bin_ratio(numerator: FloatArray, mass: FloatArray) -> FloatArray:
    """Divide by the weight of the bin; empty bins give 0."""
    return np.divide(numerator, mass, out=np.zeros_like(numerator), where=mass > 0)
