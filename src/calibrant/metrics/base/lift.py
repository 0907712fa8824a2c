"""Base classes of metrics that apply another one to views of several classes."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from calibrant.exceptions import InputError
from calibrant.metrics.base.metric import ClassRows, Metric
from calibrant.predictions import Predictions
from calibrant.results import Description, Estimate


@dataclass(frozen=True)
class Lift(Metric):
    """A metric made of another one, whose statistical behaviour it inherits.

    `label` and `meaning` say to what the other metric is applied.
    """

    principal = True  # If the other metric is.
    metric: Metric

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric) or not self.metric.predictions:
            raise TypeError(f"metric must be a Metric of class predictions such as ECE(), but is {self.metric!r}.")
        for name in ("family", "better", "weights", "measures", "cells"):
            object.__setattr__(self, name, getattr(self.metric, name))
        if "debiased" in self.metric.methods:  # Other methods are not valid for averages over classes.
            object.__setattr__(self, "methods", ("debiased",))

    def about(self) -> Description:
        """Return the description that readers see."""
        inner = self.metric.about()
        return replace(
            inner,
            label=f"{inner.label}, {self.label}",
            meaning=f"{inner.label} {self.meaning}",
            principal=inner.principal and self.principal,
        )


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
    def _views(self, predictions: Predictions) -> Iterator[tuple[int, Metric, Predictions]]:
        """Yield the index, the metric and the binary predictions of every class that has a value."""

    @abstractmethod
    def _average(self, predictions: Predictions, values: Mapping[int, float]) -> float:
        """Return the value of the lift, given the values of the classes."""

    def fit_bandwidth(self, predictions: Predictions) -> Self:
        """Choose the bandwidth of every class on its own predictions; classes without any keep the rule."""
        before = self.members or (self.metric,) * predictions.n_classes
        after = [*before]
        for c, metric, view in self._views(predictions):
            after[c] = metric.fit_bandwidth(view)
        unchanged = all(new is old for new, old in zip(after, before, strict=True))
        return self if unchanged else replace(self, members=tuple(after))

    def has_value(self, data: Predictions) -> bool:
        """Return whether the metric has a value for every class."""
        return all(metric.has_value(view) for _, metric, view in self._views(data))

    def value(self, data: Predictions) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        return self._average(data, self._values(data))

    def _values(self, predictions: Predictions) -> dict[int, float]:
        """Return the values by class index, for every class that has one."""
        return {c: metric.value(view) for c, metric, view in self._views(predictions)}

    def details(self, predictions: Predictions) -> Mapping[str, object]:
        """Give the value of every class that has one, and settings that the classes share."""
        return self.describe(predictions).details

    def describe(self, data: Predictions) -> Estimate:
        """Return the value with its details; the values of the classes are computed once for both."""
        self.check(data)
        values = self._values(data)
        shared = None if self.members else self.metric.fit_shared_bandwidth(data, self.rows)
        by_class = {data.classes[c]: value for c, value in values.items()}
        details = {"classes": by_class, **(shared.details if shared else {})}
        return Estimate(name=repr(self), value=self._average(data, values), details=details, about=self.about())
