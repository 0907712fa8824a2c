"""The subject of a search: predicted classes, or predictive distributions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypedDict

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.forecasts import EnsembleInflation, ForecastCalibrator, QuantileShift, ShiftScaling
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts, Quantiles, Samples, pit
from calibrant.groups.evidence import ClusteredRows, Evidence, IndependentRows, TransformedRows
from calibrant.groups.rows import Rows, ScoreRows, offset, saved
from calibrant.groups.score_sums import BIAS, SPREAD
from calibrant.groups.tested import Tested
from calibrant.metrics import CRPS
from calibrant.predictions import Predictions

FIXES: tuple[ForecastCalibrator, ...] = (
    ShiftScaling(),
    EnsembleInflation("moments"),
    QuantileShift(),
    ShiftScaling(score="crps"),
)
"""Calibrators that measure the worth of fixing a group: the first that suits the distributions is used."""

INSIDE = 0.9
"""Probability of the central intervals whose coverage is given for every group."""


def spread_of_shifted(place: float) -> float:
    r"""Return the mean of :math:`(2 u - 1)^2` for normal forecasts whose targets are shifted to a given mean of u.

    A shift by b standard deviations moves the mean of :math:`u = \Phi(z + b)` to :math:`\Phi(b / \sqrt 2)`.

    Examples
    --------
    >>> round(spread_of_shifted(0.5), 12), round(spread_of_shifted(0.8), 2)
    (0.333333333333, 0.55)
    """
    from scipy.special import ndtr, ndtri

    shift = np.sqrt(2) * ndtri(np.clip(place, 1e-6, 1 - 1e-6))
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    return float(weights @ (2 * ndtr(nodes + shift) - 1) ** 2 / weights.sum())


FORECASTS = "forecasts"
"""The name of the subject if it is not the probability of an event."""


class Named(TypedDict, total=False):
    """Fields of a `FoundGroup` that say what is off: the event, location or spread, and the coverage."""

    event: str
    what: str
    coverage: float | None


class Subject(ABC):
    """Rows in which something can be off, for one event or several."""

    event: str

    @property
    @abstractmethod
    def evidence(self) -> list[Evidence]:
        """The evidence against the predictions, for every event."""

    @property
    def columns(self) -> Mapping[str, FloatArray]:
        """Additional columns that a tree may split."""
        return {}

    def rows(self, event: int, _before: Sequence[BoolArray]) -> Rows:
        """Return the rows of an event, corrected for the groups that stand alone for earlier events."""
        return self.evidence[event].rows

    def worth(self, one: Tested, half: BoolArray) -> float:
        """Return how much less all rows lose on average if a group is fixed, measured on rows that the fix did not see.

        The fix is learnt from the first half of the rows and measured on the second, as for the leaves of the tree; of
        cells also the other way round.
        """
        weights, gain, mass = self.evidence[one.event].rows.weights, 0.0, 0.0
        for learnt in (half, ~half) if one.tested is None else (half,):
            gain += self.gain(one.event, one.inside & learnt, one.inside & ~learnt)
            mass += float(weights[~learnt].sum())
        return gain / mass

    @abstractmethod
    def gain(self, event: int, learnt: BoolArray, judged: BoolArray) -> float:
        """Return how much less some rows of a group lose, in all, by a fix that is learnt from others."""

    @abstractmethod
    def named(self, one: Tested) -> Named:
        """Return the fields that say what is off in a group."""


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
        """The name of the event, or "every class"."""
        return next(iter(self.views)) if len(self.views) == 1 else "every class"

    @cached_property
    def evidence(self) -> list[Evidence]:
        """The evidence against the predictions, for every event."""
        found: list[Evidence] = []
        for view in self.views.values():
            rows = Rows(view.positive, view.labels.astype(np.float64), relative_weights(view))
            found.append(IndependentRows(rows) if self.cluster is None else ClusteredRows(rows, self.cluster))
        return found

    def gain(self, event: int, learnt: BoolArray, judged: BoolArray) -> float:
        """Return the decrease of the sum of log losses by one shift of log-odds."""
        rows = self.evidence[event].rows
        return saved(rows.take(judged), offset(rows.take(learnt)))

    def named(self, one: Tested) -> Named:
        """Return the name of the event, if there are several."""
        return {"event": [*self.views][one.event] if len(self.views) > 1 else ""}


@dataclass(frozen=True, eq=False)
class Distributions(Subject):
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
        """The transforms, uniform under calibration; for columns of quantiles, drawn between their levels."""
        law = self.forecasts.distribution
        if not law.has_cdf:
            raise InputError(
                "the search for groups needs univariate forecasts with a distribution function, but these are "
                f"{law}. Search one coordinate at a time."
            )
        if not isinstance(law, Quantiles):
            return pit(self.forecasts, self.rng)
        place = (law.values < self.forecasts.targets[:, None]).sum(axis=1)
        ends = np.concatenate([[0.0], law.levels, [1.0]])
        return np.asarray(ends[place] + self.rng.random(law.n) * (ends[place + 1] - ends[place]))

    @cached_property
    def evidence(self) -> list[Evidence]:
        """The evidence against location and spread."""
        u, weights = self._transforms, relative_weights(self.forecasts)
        found: list[Evidence] = []
        for score in (BIAS, SPREAD):
            rows = ScoreRows(np.full(len(u), score.mean), score.of(u), weights, score.variance)
            found.append(TransformedRows(rows, score) if self.cluster is None else ClusteredRows(rows, self.cluster))
        return found

    @cached_property
    def columns(self) -> Mapping[str, FloatArray]:
        """Median and width of the forecasts.

        Ensembles have none: where members happen to lie close together, the target lies outside more often, even if it
        is drawn like them.
        """
        law = self.forecasts.distribution
        if isinstance(law, Samples):
            return {}
        middle, low, high = law.quantile([0.5, 0.25, 0.75]).T
        return {"the predicted median": np.asarray(middle), "the predicted width": np.asarray(high - low)}

    def rows(self, event: int, before: Sequence[BoolArray]) -> Rows:
        """Return the rows of an event; for the spread, corrected for shifts, which alone move targets far out."""
        rows = self.evidence[event].rows
        if not event or not before:
            return rows
        events = rows.events.copy()
        for inside in before:
            place = float(np.average(self._transforms[inside], weights=rows.weights[inside]))
            events[inside] -= spread_of_shifted(place) - SPREAD.mean
        return replace(rows, events=events)

    def gain(self, event: int, learnt: BoolArray, judged: BoolArray) -> float:  # noqa: ARG002 (one fix for both)
        """Return the decrease of the sum of the CRPS by the calibrator that suits the distributions."""
        some, others = self._relative.take(learnt), self._relative.take(judged)
        if min(some.n_samples, others.n_samples) < 2:
            return 0.0
        fix = next(fix for fix in FIXES if fix.suits(self._relative.distribution))
        score = CRPS(ensemble="fair")
        try:
            gain = score(others) - score(clone(fix).fit(some).calibrate(others))
        except InputError:  # Too few distinct targets to learn from: nothing is gained.
            return 0.0
        return float(others.weights.sum()) * gain if np.isfinite(gain) else 0.0

    def named(self, one: Tested) -> Named:
        """Return whether location or spread is off, and the share of targets in central intervals."""
        inside = one.inside if one.tested is None else one.inside & one.tested
        u, tail = self._transforms[inside], (1 - INSIDE) / 2
        held = float(np.average((u >= tail) & (u <= 1 - tail), weights=self.forecasts.weights[inside]))
        return {"event": "", "what": (BIAS, SPREAD)[one.event].name, "coverage": held}


def relative_weights(data: Predictions | Forecasts) -> FloatArray:
    """Return weights with mean 1; exactly 1 if they are all equal up to rounding."""
    weights = data.weights / data.weights.mean() if data.is_weighted else np.ones(data.n_samples)
    return np.ones(data.n_samples) if np.ptp(weights) < 1e-12 else weights
