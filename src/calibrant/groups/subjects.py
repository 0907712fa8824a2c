"""What is searched: predicted classes, or predictive distributions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.forecasts import Forecasts
from calibrant.groups.evidence import ClusteredRows, Evidence, IndependentRows
from calibrant.groups.forecasts import (
    coverage,
    forecast_evidence,
    own_columns,
    spread_of_shifted,
    transforms,
    worth_of_fix,
)
from calibrant.groups.parts import Tested
from calibrant.groups.rows import Rows, worth_of
from calibrant.groups.score_tails import BIAS, SPREAD
from calibrant.predictions import Predictions

FORECASTS = "forecasts"
"""What is said to be searched if it is not the probability of an event."""


class Subject(ABC):
    """Rows in which something can be off, for one event or several."""

    event: str

    @property
    @abstractmethod
    def evidence(self) -> list[Evidence]:
        """What speaks against the predictions, for every event."""

    @property
    def columns(self) -> Mapping[str, FloatArray]:
        """Further columns that a tree may split."""
        return {}

    def rows(self, event: int, _before: Sequence[BoolArray]) -> Rows:
        """Return the rows of an event, after groups that are off for an earlier one are explained."""
        return self.evidence[event].rows

    @abstractmethod
    def worth(self, one: Tested, half: BoolArray) -> float:
        """Return what fixing a group is worth, learnt from other rows than those it is measured on."""

    @abstractmethod
    def named(self, one: Tested) -> dict[str, Any]:
        """Return what is off in a group, and further numbers that tell of it."""


@dataclass(frozen=True, eq=False)
class Classes(Subject):
    """Probabilities of events: of the second of two classes, of the predicted class, or of every class."""

    views: Mapping[str, Predictions]
    cluster: IntArray | None

    @classmethod
    def of(cls, predictions: Predictions, classes: Literal["top", "each"], cluster: IntArray | None) -> "Classes":
        """Return the events that are searched."""
        if predictions.n_classes == 2:
            return cls({str(predictions.classes[1]): predictions}, cluster)
        if classes == "top":
            return cls({"the predicted class": predictions.top_label()}, cluster)
        return cls({str(name): predictions.one_vs_rest(c) for c, name in enumerate(predictions.classes)}, cluster)

    @property
    def event(self) -> str:  # type: ignore[override]
        """The event, if there is one."""
        return next(iter(self.views)) if len(self.views) == 1 else "every class"

    @cached_property
    def evidence(self) -> list[Evidence]:
        """What speaks against the predictions, for every event."""
        found: list[Evidence] = []
        for view in self.views.values():
            rows = Rows(view.positive, view.labels.astype(np.float64), relative_weights(view))
            found.append(IndependentRows(rows) if self.cluster is None else ClusteredRows(rows, self.cluster))
        return found

    def worth(self, one: Tested, half: BoolArray) -> float:
        """Return by how much the log loss of all rows falls."""
        return worth_of(self.evidence[one.event].rows, one.inside, half, both=one.tested is None)

    def named(self, one: Tested) -> dict[str, Any]:
        """Return the name of the event, if there are several."""
        return {"event": [*self.views][one.event] if len(self.views) > 1 else ""}


@dataclass(frozen=True, eq=False)
class Laws(Subject):
    """Predictive distributions: their location, and their spread."""

    forecasts: Forecasts
    cluster: IntArray | None
    rng: np.random.Generator
    event: str = FORECASTS

    @cached_property
    def _relative(self) -> Forecasts:
        """The forecasts with weights of mean 1, which calibrators count as copies."""
        return Forecasts(self.forecasts.distribution, self.forecasts.targets, relative_weights(self.forecasts))

    @cached_property
    def _transforms(self) -> FloatArray:
        return transforms(self.forecasts, self.rng)

    @cached_property
    def evidence(self) -> list[Evidence]:
        """What speaks against location and spread."""
        return forecast_evidence(self._transforms, relative_weights(self.forecasts), self.cluster)

    @cached_property
    def columns(self) -> Mapping[str, FloatArray]:
        """Where the forecasts lie, and how wide they are."""
        return own_columns(self.forecasts)

    def rows(self, event: int, before: Sequence[BoolArray]) -> Rows:
        """Return the rows of an event; targets of a shifted forecast lie far out for that reason alone."""
        rows = self.evidence[event].rows
        if not event or not before:
            return rows
        events = rows.events.copy()
        for inside in before:
            place = float(np.average(self._transforms[inside], weights=rows.weights[inside]))
            events[inside] -= spread_of_shifted(place) - SPREAD.mean
        return replace(rows, events=events)

    def worth(self, one: Tested, half: BoolArray) -> float:
        """Return by how much the CRPS of all rows falls."""
        return worth_of_fix(self._relative, one.inside, half, both=one.tested is None)

    def named(self, one: Tested) -> dict[str, Any]:
        """Return whether location or spread is off, and how many targets central intervals hold."""
        inside = one.inside if one.tested is None else one.inside & one.tested
        held = coverage(self._transforms[inside], self.forecasts.weights[inside])
        return {"event": "", "what": (BIAS, SPREAD)[one.event].name, "coverage": held}


def relative_weights(data: Predictions | Forecasts) -> FloatArray:
    """Return weights with mean 1, and ones where they are all the same."""
    weights = data.weights / data.weights.mean() if data.is_weighted else np.ones(data.n_samples)
    return np.ones(data.n_samples) if np.ptp(weights) < 1e-12 else weights
