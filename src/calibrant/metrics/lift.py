"""Lifts: a metric of binary predictions applied to views of many classes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import Evaluator, FloatArray
from calibrant.metrics.base import Metric
from calibrant.predictions import Predictions
from calibrant.results import Estimate


class Lift(Metric):
    """A metric made of another one; it inherits how that behaves."""

    metric: Metric

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric) or not self.metric.predictions:
            raise TypeError(f"metric must be a Metric of class predictions such as ECE(), but is {self.metric!r}.")
        for name in ("family", "better", "weights", "measures"):
            object.__setattr__(self, name, getattr(self.metric, name))


class _ByClass(Lift):
    """A metric of every class, which may have settings of its own in each."""

    members: tuple[Metric, ...]

    def member(self, c: int, n_classes: int) -> Metric:
        """Return the metric of class c."""
        if self.members and len(self.members) != n_classes:
            raise InputError(
                f"members must be one metric a class, but there are {len(self.members)} for {n_classes} classes. "
                "Choose bandwidths on predictions of the same classes."
            )
        return self.members[c] if self.members else self.metric

    def _with_members(self, fitted: Mapping[int, Metric], n_classes: int) -> Self:
        """Return the lift with new metrics for some classes; itself if they are those that it has."""
        before = [self.member(c, n_classes) for c in range(n_classes)]
        after = [fitted.get(c, metric) for c, metric in enumerate(before)]
        unchanged = all(new is old for new, old in zip(after, before, strict=True))
        return self if unchanged else replace(self, members=tuple(after))  # type: ignore[type-var]  # its heirs are dataclasses


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

    metric: Metric

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth on the top-label view."""
        fitted = self.metric.fit_bandwidth(predictions.top_label())
        return self if fitted is self.metric else replace(self, metric=fitted)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on the top-label view."""
        return self.metric.prepare(predictions.top_label())

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Turn classes into correctness for the metric's own evaluator."""
        evaluate = self.metric.prepare_labels(predictions.top_label())
        predicted = predictions.predicted[:, None]
        return lambda labels: evaluate((labels == predicted).astype(np.int64))

    def details(self, predictions: Predictions) -> Mapping[str, Any]:
        """Pass on the metric's own details."""
        return self.metric.details(predictions.top_label())


@dataclass(frozen=True)
class Classwise(_ByClass):
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

    metric: Metric
    members: tuple[Metric, ...] = field(default=(), repr=False)

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth of every class on its one-vs-rest view."""
        fitted = {c: metric.fit_bandwidth(view) for c, (metric, view) in enumerate(self._views(predictions))}
        return self._with_members(fitted, predictions.n_classes)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on every one-vs-rest view."""
        return self._mean([metric.prepare(view) for metric, view in self._views(predictions)])

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Turn classes into one-vs-rest outcomes for the metric's own evaluators."""
        views = enumerate(self._views(predictions))
        return self._mean([_of_class(metric.prepare_labels(view), c) for c, (metric, view) in views])

    def details(self, predictions: Predictions) -> Mapping[str, Any]:
        """Give the value of every class."""
        return {"classes": dict(zip(predictions.classes, self._class_values(predictions), strict=True))}

    def estimate(self, data: Any) -> Estimate:
        """Return the value with its details, of which it is the mean: nothing is computed twice."""
        self.check(data)
        details = self.details(data)
        return Estimate(name=repr(self), value=float(np.mean([*details["classes"].values()])), details=details)

    def _class_values(self, predictions: Predictions) -> list[float]:
        if not self.members:
            return list(map(float, self.metric.class_values(predictions)))
        return [metric(view) for metric, view in self._views(predictions)]

    def _views(self, predictions: Predictions) -> Iterator[tuple[Metric, Predictions]]:
        """Yield the metric and the view of every class."""
        for c in range(predictions.n_classes):
            yield self.member(c, predictions.n_classes), predictions.one_vs_rest(c)

    @staticmethod
    def _mean(parts: list[Evaluator]) -> Evaluator:
        return lambda columns: sum((part(columns) for part in parts), start=np.zeros(1)) / len(parts)


@dataclass(frozen=True)
class PerPredictedClass(_ByClass):
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

    metric: Metric
    members: tuple[Metric, ...] = field(default=(), repr=False)

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth of every class on the rows predicted as it; classes that are not keep their rule."""
        groups = _by_prediction(predictions)
        n_classes = predictions.n_classes
        fitted = {c: self.member(c, n_classes).fit_bandwidth(view) for _, c, view in groups if view.weights.any()}
        return self._with_members(fitted, n_classes)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on the rows predicted as each class."""
        n_classes = predictions.n_classes
        groups = [
            (rows, self.member(c, n_classes).prepare(_weighable(view))) for rows, c, view in _by_prediction(predictions)
        ]

        def evaluate(weights: Any) -> FloatArray:
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
        """Turn classes into correctness within the rows predicted as each class."""
        groups = [
            (rows, c, view.weights.sum(), self.member(c, predictions.n_classes).prepare_labels(view))
            for rows, c, view in _by_prediction(predictions)
            if view.weights.any()
        ]
        total = predictions.weights.sum()

        def evaluate(labels: Any) -> FloatArray:
            parts = [mass * part((labels[rows] == c).astype(np.int64)) for rows, c, mass, part in groups]
            return np.asarray(sum(parts)) / total

        return evaluate

    def details(self, predictions: Predictions) -> Mapping[str, Any]:
        """Give the value of every class that is predicted at all."""
        return {"classes": {predictions.classes[c]: value for c, _, value in self._values(predictions)}}

    def estimate(self, data: Any) -> Estimate:
        """Return the value with its details, of which it is the weighted mean: nothing is computed twice."""
        self.check(data)
        found = self._values(data)
        value = float(sum(mass * value for _, mass, value in found) / data.weights.sum())
        return Estimate(name=repr(self), value=value, details={"classes": {data.classes[c]: v for c, _, v in found}})

    def _values(self, predictions: Predictions) -> list[tuple[int, float, float]]:
        """Return index, weight and value of every class that is predicted at all."""
        return [
            (c, float(view.weights.sum()), self.member(c, predictions.n_classes)(view))
            for _, c, view in _by_prediction(predictions)
            if view.weights.any()
        ]


def _of_class(part: Evaluator, c: int) -> Callable[[Any], FloatArray]:
    return lambda labels: part((labels == c).astype(np.int64))


def _weighable(view: Predictions) -> Predictions:
    """Return the view, with weights of 1 if its rows have none: replicates may give them some."""
    if view.weights.any():
        return view
    return Predictions._trusted(view.probs, view.labels, np.ones(view.n_samples), view.classes)  # noqa: SLF001 (derived)


def _by_prediction(predictions: Predictions) -> list[tuple[Any, int, Predictions]]:
    predicted = predictions.predicted
    groups = []
    for c in np.unique(predicted).tolist():
        rows = np.flatnonzero(predicted == c)
        groups.append((rows, c, predictions.one_vs_rest(c).take(rows)))
    return groups
