"""What the sections of an assessment share: the data, the requested metrics, and the progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from calibrant._border.types import IntArray, Progress, Rng
from calibrant._border.warn import warn
from calibrant.assessment.verdict import Examined
from calibrant.forecasts import Forecasts
from calibrant.metrics import Metric
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import group_rows
from calibrant.resampling.seeds import version_and_seed
from calibrant.results import (
    Assessment,
    ClassSummary,
    ClasswiseCurves,
    CumulativeCurve,
    Estimate,
    Interval,
    ReliabilityCurve,
    ScoreDecomposition,
    TestResult,
)

if TYPE_CHECKING:
    from calibrant.results import ROCOutline


class Fields(TypedDict, total=False):
    """Fields of an `Assessment` that its sections fill."""

    metrics: Mapping[str, Estimate]
    curve: ReliabilityCurve
    classes: tuple[ClassSummary, ...]
    groups: Mapping[str, Assessment]
    settings: Mapping[str, object]
    curves: Mapping[str, ReliabilityCurve]
    cumulative: CumulativeCurve
    decompositions: tuple[ScoreDecomposition, ...]
    ranking: "ROCOutline | None"
    classwise: ClasswiseCurves | None
    adjusted: Mapping[str, float]
    intervals: Mapping[str, Interval]
    tests: Mapping[str, TestResult]


@dataclass
class Steps:
    """Progress of an assessment, in units of one redraw of the labels; every section counts as `section` of them."""

    total: int
    report: Progress | None = None
    section: int = 0
    done: int = field(default=0, init=False)
    ahead: int = field(default=0, init=False)
    """Units of the current section that are counted already."""

    def add(self, steps: int) -> None:
        """Count completed steps."""
        self.done += steps
        if self.report is not None:
            self.report(self.done, self.total)

    def of_section(self, done: int, total: int) -> None:
        """Count the completed part of the current section."""
        before, self.ahead = self.ahead, self.section * done // total
        self.add(self.ahead - before)

    def end_section(self) -> None:
        """Count the rest of the section that was completed."""
        rest, self.ahead = self.section - self.ahead, 0
        self.add(rest)

    def within(self) -> Progress:
        """Return a callback for a part of the work that counts its own steps from 0."""
        before = 0

        def move(done: int, _total: int) -> None:
            nonlocal before
            self.add(done - before)
            before = done

        return move


@dataclass(frozen=True, eq=False)
class Work:
    """The input of every section: the data, what was asked, and the verdict; `groups` are parts of the rows."""

    predictions: Predictions
    metrics: Mapping[str, Metric]
    n_resamples: int
    tolerance: float
    examined: Examined
    groups: Mapping[str, Predictions]
    of_groups: Mapping[str, Metric]
    steps: Steps

    def estimates(self, progress: Progress | None = None) -> dict[str, Estimate]:
        """Return the value of every metric that has enough rows, computed on first use."""
        return measured(self.predictions, self.metrics, progress)


def measured(
    predictions: Predictions, metrics: Mapping[str, Metric], progress: Progress | None = None
) -> dict[str, Estimate]:
    """Return the value of every metric that has enough rows of positive weight, kept with the predictions."""
    n_weighted = int((predictions.weights > 0).sum())

    def estimate(metric: Metric) -> Estimate:
        return predictions.once(("estimate", metric), lambda: metric.estimate(predictions))

    found: dict[str, Estimate] = {}
    for done, (key, metric) in enumerate(metrics.items(), start=1):
        if metric.least_rows <= n_weighted and metric.suits(predictions):
            found[key] = estimate(metric)
        if progress is not None:
            progress(done, len(metrics))
    return found


def rows_by_group(by: object, data: Predictions | Forecasts) -> dict[str, IntArray]:
    """Return the rows of each group that has weight, given the group of each row; none without groups."""
    if by is None:
        return {}
    found = {name: rows for name, rows in group_rows(by, data.n_samples).items() if data.weights[rows].any()}
    if isinstance(data, Predictions) and _are_labels([data.labels[rows] for rows in found.values()]):
        warn(
            "the groups are the labels: where all outcomes are alike, the best model looks miscalibrated. Form groups "
            "by what is known before the outcome."
        )
    return found


def _are_labels(groups: Sequence[IntArray]) -> bool:
    """Return whether each group has one label, several times, and no other group has it."""
    alike = all(len(labels) > 1 and labels.min() == labels.max() for labels in groups)
    return alike and len({int(labels[0]) for labels in groups}) == len(groups) > 1


def settings_of(data: Predictions | Forecasts, n_resamples: int, tolerance: float, rng: Rng) -> dict[str, object]:
    """Return the settings that an assessment holds: those of its test, the seed and the version."""
    own = version_and_seed(rng)
    return {
        "version": own["version"],
        "resamples": n_resamples,
        "seed": own["seed"],
        "weighted": data.is_weighted,
        "tolerance": tolerance,
    }
