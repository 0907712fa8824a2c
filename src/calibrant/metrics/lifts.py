"""Lifts: binary metrics applied to views of several classes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant._core.threads import in_order
from calibrant.binning.ties import starts_of_ties
from calibrant.metrics.base.lift import ByClass, Lift
from calibrant.metrics.base.metric import Metric
from calibrant.predictions import Predictions


@dataclass(frozen=True)
class TopLabel(Lift):
    """The metric of confidence against correctness.

    Unlike a bare binary metric, it reduces two classes as well: to max(p, 1 - p) against being right.

    Examples
    --------
    >>> from calibrant.metrics import ECE
    >>> p = Predictions([0.1, 0.1], labels=[0, 0])  # confidence 0.9, always right
    >>> round(TopLabel(ECE())(p), 4)
    0.1
    """

    label = "top label"
    meaning = "of the most probable class."

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth on the top-label view."""
        fitted = self.metric.fit_bandwidth(predictions.top_label())
        return self if fitted is self.metric else replace(self, metric=fitted)

    def has_value(self, data: Predictions) -> bool:
        """Return whether the metric has a value on the top-label view."""
        return self.metric.has_value(data.top_label())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on the top-label view."""
        return self.metric.prepare(predictions.top_label())

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from class indices, (n, B), to B values of the metric of correctness."""
        evaluate = self.metric.prepare_labels(predictions.top_label())
        predicted = predictions.predicted[:, None]
        return lambda labels: evaluate((labels == predicted).astype(np.int64))

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the details of the inner metric."""
        return self.metric.details(predictions.top_label())


@dataclass(frozen=True)
class Classwise(ByClass):
    r"""The metric of every class against the rest, averaged over the K classes with equal weight.

    Parameters
    ----------
    metric : Metric
        Of binary predictions.
    members : tuple of Metric, optional
        The same with settings of its own for each class; see `fit_bandwidth`.

    Notes
    -----
    .. math:: \frac1K \sum_k m\big((p_{ik}, 1[y_i = k])_i\big).

    The estimate's details hold the value of each class.

    Examples
    --------
    >>> from calibrant.metrics import ECE
    >>> p = Predictions([[0.6, 0.2, 0.2]] * 10, labels=[0] * 6 + [1] * 2 + [2] * 2)
    >>> round(Classwise(ECE())(p), 4)
    0.0
    """

    label = "one vs rest"
    meaning = "of every class against the rest, averaged over classes."
    rows = "all"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on every one-vs-rest view."""
        return self._mean([metric.prepare(view) for _, metric, view in self._views(predictions)])

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from class indices, (n, B), to B means over the classes."""
        of_classes = None if self.members else self.metric.prepare_classes(predictions)
        if of_classes is not None:
            return lambda labels: sum(of_classes(labels), start=np.zeros(1)) / predictions.n_classes
        views = list(self._views(predictions))
        prepared = in_order(lambda one: one[1].prepare_labels(one[2]), views)
        return self._mean([partial(_of_class, evaluate, c) for c, evaluate in enumerate(prepared)])

    def _values(self, predictions: Predictions) -> dict[int, float]:
        """Return the value of every class, if possible by one method of the metric for all of them."""
        if not self.members:
            return dict(enumerate(map(float, self.metric.class_values(predictions))))
        return super()._values(predictions)

    def _average(self, predictions: Predictions, values: Mapping[int, float]) -> float:  # noqa: ARG002 (all count alike)
        """Return the mean of the classes."""
        return float(np.mean([*values.values()]))

    def _views(self, predictions: Predictions) -> Iterator[tuple[int, Metric, Predictions]]:
        """Yield the index, the metric and the one-vs-rest view of every class."""
        for c, metric in enumerate(self.of_classes(predictions)):
            yield c, metric, predictions.one_vs_rest(c)

    @staticmethod
    def _mean(parts: list[Evaluator]) -> Evaluator:
        def mean(columns: FloatArray) -> FloatArray:
            return sum(in_order(lambda part: part(columns), parts), start=np.zeros(1)) / len(parts)

        return mean


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

    label = "per predicted class"
    meaning = "of the rows predicted as each class, weighted by their share."
    principal = False
    rows = "predicted"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on the rows predicted as each class."""
        members = self.of_classes(predictions)
        groups = [(rows, members[c].prepare(_weighable(view))) for rows, c, view in by_prediction(predictions)]

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

    def _views(self, predictions: Predictions) -> Iterator[tuple[int, Metric, Predictions]]:
        """Yield the index, the metric and the binary predictions of every class predicted for a row with weight."""
        members = self.of_classes(predictions)
        for _, c, view in by_prediction(predictions):
            if view.weights.any():
                yield c, members[c], view

    def _average(self, predictions: Predictions, values: Mapping[int, float]) -> float:
        """Return the mean over classes, weighted by the rows predicted as each."""
        masses = {c: float(view.weights.sum()) for _, c, view in by_prediction(predictions)}
        return float(sum(masses[c] * value for c, value in values.items()) / predictions.weights.sum())


def _of_class(part: Evaluator, c: int, labels: IntArray) -> FloatArray:
    return part((labels == c).view(np.int8))


def _weighable(view: Predictions) -> Predictions:
    """Return the view, with weights of 1 if all its weights are 0: replicates may have others."""
    if view.weights.any():
        return view
    return Predictions._trusted(view.probs, view.labels, np.ones(view.n_samples), view.classes)  # noqa: SLF001 (derived)


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
