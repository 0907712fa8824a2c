"""Lifts: binary metrics applied to views of several classes."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant._core.threads import in_order
from calibrant.exceptions import InputError
from calibrant.metrics.base.metric import ClassRows, Metric
from calibrant.predictions import Predictions
from calibrant.results import Description, Estimate


@dataclass(frozen=True)
class Lift(Metric):
    """A metric made of another one, whose statistical behaviour it inherits."""

    metric: Metric

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric) or not self.metric.predictions:
            raise TypeError(f"metric must be a Metric of class predictions such as ECE(), but is {self.metric!r}.")
        for name in ("family", "better", "weights", "measures", "cells"):
            object.__setattr__(self, name, getattr(self.metric, name))
        if "debiased" in self.metric.methods:  # Other methods are not valid for averages over classes.
            object.__setattr__(self, "methods", ("debiased",))


@dataclass(frozen=True)
class ByClass(Lift):
    """A metric applied to every class, perhaps with separate settings for each."""

    members: tuple[Metric, ...] = field(default=(), repr=False)
    rows: ClassVar[ClassRows]
    """The rows from which the metric of a class is computed."""

    def of_classes(self, predictions: Predictions) -> tuple[Metric, ...]:
        """Return the metric of every class: its member, or one with settings that the classes share."""
        n_classes = predictions.n_classes
        if not self.members:
            shared = self.metric.fit_shared_bandwidth(predictions, self.rows)
            return shared.members if shared else (self.metric,) * n_classes
        if len(self.members) != n_classes:
            raise InputError(
                f"members must be one metric per class, but there are {len(self.members)} for {n_classes} classes. "
                "Choose bandwidths on predictions of the same classes."
            )
        return self.members

    @abstractmethod
    def _values(self, predictions: Predictions) -> dict[int, float]:
        """Return the values by class index, for every class that has one."""

    @abstractmethod
    def _average(self, predictions: Predictions, values: Mapping[int, float]) -> float:
        """Return the value of the lift, given the values of the classes."""

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        return self._average(data, self._values(data))

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the value of every class that has one, and settings that the classes share."""
        return self._described(predictions, self._values(predictions))

    def describe(self, data: Predictions) -> Estimate:
        """Return the value with its details; the values of the classes are computed once for both."""
        self.check(data)
        values = self._values(data)
        details = self._described(data, values)
        return Estimate(name=repr(self), value=self._average(data, values), details=details, about=self.about())

    def _described(self, predictions: Predictions, values: Mapping[int, float]) -> Mapping[str, object]:
        shared = None if self.members else self.metric.fit_shared_bandwidth(predictions, self.rows)
        by_class = {predictions.classes[c]: value for c, value in values.items()}
        return {"classes": by_class, **(shared.details if shared else {})}

    def _with_members(self, fitted: Mapping[int, Metric], predictions: Predictions) -> Self:
        """Return the lift with new metrics for some classes; itself if they are the same as before."""
        n_classes = predictions.n_classes
        before = self.members or (self.metric,) * n_classes
        after = [fitted.get(c, metric) for c, metric in enumerate(before)]
        unchanged = all(new is old for new, old in zip(after, before, strict=True))
        return self if unchanged else replace(self, members=tuple(after))


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

    def about(self) -> Description:
        """Return the description that readers see."""
        inner = self.metric.about()
        return replace(inner, label=f"{inner.label}, top label", meaning=f"{inner.label} of the most probable class.")

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

    rows = "all"

    def about(self) -> Description:
        """Return the description that readers see."""
        inner = self.metric.about()
        meaning = f"{inner.label} of every class against the rest, averaged over classes."
        return replace(inner, label=f"{inner.label}, one vs rest", meaning=meaning)

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth of every class on its one-vs-rest view."""
        fitted = {c: metric.fit_bandwidth(view) for c, (metric, view) in enumerate(self._views(predictions))}
        return self._with_members(fitted, predictions)

    def has_value(self, data: Predictions) -> bool:
        """Return whether the metric has a value for every class."""
        return all(metric.has_value(view) for metric, view in self._views(data))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the metric on every one-vs-rest view."""
        return self._mean([metric.prepare(view) for metric, view in self._views(predictions)])

    def prepare_labels(self, predictions: Predictions) -> Evaluator:
        """Return the map from class indices, (n, B), to B means over the classes."""
        of_classes = None if self.members else self.metric.prepare_classes(predictions)
        if of_classes is not None:
            return lambda labels: sum(of_classes(labels), start=np.zeros(1)) / predictions.n_classes
        views = list(self._views(predictions))
        prepared = in_order(lambda one: one[0].prepare_labels(one[1]), views)
        return self._mean([_of_class(evaluate, c) for c, evaluate in enumerate(prepared)])

    def _values(self, predictions: Predictions) -> dict[int, float]:
        """Return the value of every class, if possible by one method of the metric for all of them."""
        if not self.members:
            return dict(enumerate(map(float, self.metric.class_values(predictions))))
        return {c: metric.value(view) for c, (metric, view) in enumerate(self._views(predictions))}

    def _average(self, predictions: Predictions, values: Mapping[int, float]) -> float:  # noqa: ARG002 (all count alike)
        """Return the mean of the classes."""
        return float(np.mean([*values.values()]))

    def _views(self, predictions: Predictions) -> Iterator[tuple[Metric, Predictions]]:
        """Yield the metric and the view of every class."""
        for c, metric in enumerate(self.of_classes(predictions)):
            yield metric, predictions.one_vs_rest(c)

    @staticmethod
    def _mean(parts: list[Evaluator]) -> Evaluator:
        def mean(columns: FloatArray) -> FloatArray:
            return sum(in_order(lambda part: part(columns), parts), start=np.zeros(1)) / len(parts)

        return mean


def _of_class(part: Evaluator, c: int) -> Evaluator:
    return lambda labels: part((labels == c).view(np.int8))


def weighable(view: Predictions) -> Predictions:
    """Return the view, with weights of 1 if all its weights are 0: replicates may have others."""
    if view.weights.any():
        return view
    return Predictions._trusted(view.probs, view.labels, np.ones(view.n_samples), view.classes)  # noqa: SLF001 (derived)
