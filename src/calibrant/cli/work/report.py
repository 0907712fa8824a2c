"""What the page of `calibrant report` shows: assessments, the effect of a fix, decisions and groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from calibrant.cli.options.deciding import Deciding
from calibrant.cli.options.features import feature_columns
from calibrant.cli.options.judging import Judging
from calibrant.cli.options.reading import distinct
from calibrant.cli.printing import show
from calibrant.cli.printing.assessments import print_verdict, without_draws
from calibrant.cli.printing.decisions import print_base_rate
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions
from calibrant.report.fix import honest
from calibrant.results import (
    Assessment,
    Comparison,
    DecisionReport,
    Fix,
    ForecastAssessment,
    GroupFindings,
    IntervalCheck,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.options.reading import Columns
    from calibrant.scale.reading import AnySketch

    Groups = NDArray[np.generic] | None

Data = TypeVar("Data", Predictions, Forecasts)

COMPARED = ("nll", "brier", "accuracy", "rms-debiased", "kde-ece", "ece")
"""Metrics of classes that are compared before and after a fix."""


class Extras(TypedDict, total=False):
    """What a page shows besides assessments: arguments of `render_html`."""

    comparison: Comparison
    fix: Fix
    findings: GroupFindings
    decisions: DecisionReport
    intervals: IntervalCheck


@dataclass(frozen=True)
class Fixing:
    """How to fix predictions, None for not at all, and the columns that define groups."""

    method: str | None
    folds: int
    features: str | None


@dataclass
class Contents:
    """What a page shows: assessments by their names on it, which are printed as soon as they are known, and extras."""

    options: Judging
    deciding: Deciding
    fixing: Fixing
    shown: dict[str, Assessment | ForecastAssessment] = field(default_factory=dict)
    extras: Extras = field(default_factory=Extras)

    def add_sketch(self, sketch: "AnySketch", name: str) -> None:
        """Assess a sketch."""
        found = self.options.assess(sketch, name, "assessing")
        if not self.options.json:
            print_verdict(found)
        self.shown[name] = found

    def add_files(self, files: list[Path]) -> None:
        """Assess the rows of several files, one per model, side by side."""
        names = distinct(files, [file.name for file in files])
        read = {name: self.options.either([file], self.options.by) for name, file in zip(names, files, strict=True)}
        models = {name: data for name, (data, _) in read.items() if isinstance(data, Predictions)}
        self.deciding.check_rows(models)
        there = DecisionReport()
        for name, (data, others) in read.items():
            groups = others.get(self.options.by or "")
            if isinstance(data, Predictions):
                models[name], there = self._moved(data)
                self._add_classes(name, models[name], groups, heading=name)
            else:
                self.shown[name] = self.options.assess_forecasts(data, name, groups)
        if self.deciding.is_used:
            self.extras["decisions"] = self.deciding.decide(models, there, self.options)

    def add_file(self, file: Path) -> None:
        """Assess the rows of one file, show the effect of a fix, and search groups."""
        options, features = self.options, self.fixing.features
        # Features are read before long work, so that a wrong name fails early.
        names = [] if features is None else feature_columns([file], options, features)
        data, others = options.either([file], *names, options.by)
        groups, table = others.get(options.by or ""), {name: others[name] for name in names}
        if isinstance(data, Forecasts):
            self._one_of_forecasts(file.name, data, groups)
        else:
            self._one_of_classes(file.name, data, groups, table or None)
        if features is not None:
            from calibrant.groups import GroupSearch

            with show.listening_bar("searching groups", quiet=options.silent):
                self.extras["findings"] = GroupSearch()(data, features=table, rng=options.seed)

    def _one_of_classes(self, name: str, read: Predictions, groups: "Groups", table: "Columns | None") -> None:
        fixing = self.fixing
        self.deciding.check_rows({name: read})
        before, there = self._moved(read)
        if fixing.method is not None:
            from calibrant.advice.cross_fit import check_folds

            check_folds(fixing.folds, before)
        self._add_classes(name, before, groups, heading="" if fixing.method is None else name)
        models, change = {name: before}, ""
        if fixing.method is not None and (after := self._fixed(before, fixing.method, table)) is not None:
            change = self.extras["fix"].method
            models[f"{name} > {change}"] = after
            self._add_classes(f"{name} > {change}", after, None, heading=f"{name} > {change}")
            self._compare(models, COMPARED)
        if self.deciding.is_used and fixing.method is None:
            found = self.deciding.examine(before, there, name, self.options)
            # The fix has a row in the table of costs, as in `evaluate`, but no curve on the page.
            self.extras["decisions"] = replace(found, models={n: found.models[n] for n in models if found.models})
        elif self.deciding.is_used:
            self.extras["decisions"] = self.deciding.decide(models, there, self.options, change)

    def _one_of_forecasts(self, name: str, before: Forecasts, groups: "Groups") -> None:
        self.shown[name] = self.options.assess_forecasts(before, name, groups)
        method = self.fixing.method
        if method is None:
            return
        from calibrant.advice.fixing import AUTO
        from calibrant.calibrators.forecasts import WeightedConformalIntervals, check_intervals
        from calibrant.cli.work.intervals import intervals_of

        intervals = None if method == AUTO else intervals_of(method)
        if intervals is not None:
            by = None if isinstance(intervals, WeightedConformalIntervals) else groups
            self.extras["intervals"] = check_intervals(intervals, before, by, rng=self.options.seed)
        elif (after := self._fixed(before, method, None)) is not None:
            fixed = f"{name} > {self.extras['fix'].method}"
            self.shown[fixed] = self.options.assess_forecasts(after, fixed)
            self._compare({name: before, fixed: after}, None)

    def _moved(self, predictions: Predictions) -> tuple[Predictions, DecisionReport]:
        """Return predictions moved to the base rate, and print what that changes, before the verdict."""
        after, there = self.deciding.moved(predictions, self.options)
        if not self.options.json:
            print_base_rate(there)
        return after, there

    def _add_classes(self, name: str, predictions: Predictions, groups: "Groups", *, heading: str) -> None:
        """Print the verdict under a heading as soon as it is known, then assess everything that the page shows."""
        if not self.options.json:
            verdict = self.options.assess(predictions, name, f"testing {name}", sections=())
            if heading:
                show.print_heading(heading)
            print_verdict(verdict)
        self.shown[name] = self.options.assess(predictions, name, f"assessing {name}", by=groups)

    def _fixed(self, before: Data, method: str, table: "Columns | None") -> Data | None:
        """Return data calibrated by fits to other rows, None if nothing is recommended."""
        from calibrant.advice import calibrate_held_out

        with show.progress_bar("fitting calibrators", quiet=self.options.silent) as progress:
            after, how = calibrate_held_out(
                before, method, features=table, n_folds=self.fixing.folds, progress=progress, rng=self.options.seed
            )
        self.extras["fix"] = how
        return None if how.recommendation is not None and how.method == "identity" else after

    def _compare(self, models: Mapping[str, Predictions | Forecasts], metrics: Sequence[str] | None) -> None:
        from calibrant.assessment.comparison import compare

        with show.progress_bar("comparing before and after", quiet=self.options.silent) as progress:
            found = compare(models, metrics, intervals=False, progress=progress, rng=self.options.seed)
        self.extras["comparison"] = found

    def without_draws(self) -> dict[str, Assessment | ForecastAssessment]:
        """Return the assessments without null draws and data of figures, for JSON."""
        return {name: without_draws(assessment) for name, assessment in self.shown.items()}

    def print_rest(self) -> None:
        """Print the verdicts on forecasts, then the groups found, how the fix was judged and what it gives."""
        if self.options.are_forecasts:
            for name, assessment in self.shown.items():
                if len(self.shown) > 1:
                    show.print_heading(name)
                print_verdict(assessment)
        extras = self.extras
        if "findings" in extras:
            show.print_lines(["", extras["findings"].headline])
        if "comparison" in extras:
            show.print_lines(["", honest(extras["fix"])])
        if "intervals" in extras:
            show.print_lines(["", extras["intervals"].headline])
        if "fix" in extras and extras["fix"].recommendation is not None and extras["fix"].recommendation.disagreement:
            show.print_lines(["", extras["fix"].recommendation.disagreement])
