"""A binary metric within the rows that are predicted as each class."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant.binning.ties import starts_of_ties
from calibrant.metrics.lifts import ByClass, weighable
from calibrant.predictions import Predictions
from calibrant.results import Description


@dataclass(frozen=True)
class PerPredictedClass(ByClass):
    r"""The metric within the rows predicted as each class, weighted by the share of those rows.

    Parameters
    ----------
    metric : Metric
        Of binary predictions.
    members : tuple of Metric, optional
        The same with settings of its own for each class; see `fit_bandwidth`.

    Notes
    -----
    With :math:`I_k` the rows whose most probable class is :math:`k`,

    .. math:: \sum_k \frac{W(I_k)}{W} \, m\big((p_{ik}, 1[y_i = k])_{i \in I_k}\big).

    Classes that are never predicted do not enter.

    Examples
    --------
    >>> from calibrant.metrics import ECE
    >>> p = Predictions([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]], labels=[0, 0, 0])
    >>> round(PerPredictedClass(ECE())(p), 4)  # 2/3 * 0.1 + 1/3 * 0.8
    0.3333
    """

    rows = "predicted"

    def about(self) -> Description:
        """Return the description that readers see."""
        inner = self.metric.about()
        meaning = f"{inner.label} of the rows predicted as each class, weighted by their share."
        return replace(inner, label=f"{inner.label}, per predicted class", meaning=meaning, principal=False)

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth of every class on the rows predicted as it; classes never predicted keep the rule."""
        groups, members = by_prediction(predictions), self.of_classes(predictions)
        fitted = {c: members[c].fit_bandwidth(view) for _, c, view in groups if view.weights.any()}
        return self._with_members(fitted, predictions)

    def has_value(self, data: Predictions) -> bool:
        """Return whether the metric has a value for every class that is predicted."""
        members = self.of_classes(data)
        return all(members[c].has_value(view) for _, c, view in by_prediction(data) if view.weights.any())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on the rows predicted as each class."""
        members = self.of_classes(predictions)
        groups = [(rows, members[c].prepare(weighable(view))) for rows, c, view in by_prediction(predictions)]

        def evaluate(weights: FloatArray) -> FloatArray:
            total = np.zeros(weights.shape[1])
            for rows, part in groups:
                own = weights[rows]
                mass = own.sum(axis=0)
                present = mass > 0
                if present.any():
                    total[present] += mass[present] * part(own[:, present])
            return total / weights.sum(axis=0)

        return evaluate

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from class indices, (n, B), to B values; an event is that the predicted class is right."""
        members = self.of_classes(predictions)
        groups = [
            (rows, c, view.weights.sum(), members[c].prepare_labels(view))
            for rows, c, view in by_prediction(predictions)
            if view.weights.any()
        ]
        total = predictions.weights.sum()

        def evaluate(labels: IntArray) -> FloatArray:
            parts = [mass * part((labels[rows] == c).astype(np.int64)) for rows, c, mass, part in groups]
            return np.asarray(sum(parts)) / total

        return evaluate

    def _values(self, predictions: Predictions) -> dict[int, float]:
        """Return the value of every class that is predicted for a row with weight."""
        members = self.of_classes(predictions)
        return {c: members[c](view) for _, c, view in by_prediction(predictions) if view.weights.any()}

    def _average(self, predictions: Predictions, values: Mapping[int, float]) -> float:
        """Return the mean over classes, weighted by the rows predicted as each."""
        masses = {c: float(view.weights.sum()) for _, c, view in by_prediction(predictions)}
        return float(sum(masses[c] * value for c, value in values.items()) / predictions.weights.sum())


def by_prediction(predictions: Predictions) -> list[tuple[IntArray, int, Predictions]]:
    """Return, for each predicted class, its rows, its index and their binary predictions; cached."""
    return predictions.once("by prediction", lambda: _grouped(predictions))


def _grouped(predictions: Predictions) -> list[tuple[IntArray, int, Predictions]]:
    top, groups = predictions.top_label(), []
    order = np.argsort(predictions.predicted, kind="stable")
    ascending = predictions.predicted[order]
    for rows in np.split(order, starts_of_ties(ascending)[1:]):
        c = int(predictions.predicted[rows[0]])
        names = ("rest", predictions.classes[c])
        part = top.take(rows)
        view = Predictions._trusted(part.probs, part.labels, part.weights, names, copies=part.copies)  # noqa: SLF001 (derived)
        groups.append((rows, c, view))
    return groups
