"""Options about decisions: costs, thresholds, the risk of answers, the base rate."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from calibrant._border.numerals import as_given
from calibrant.cli.options.reading import are_numbers, as_numbers
from calibrant.cli.printing import show
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant._border.types import Progress
    from calibrant.cli.options.judging import Judging
    from calibrant.metrics.costs import Costs
    from calibrant.predictions import Predictions
    from calibrant.results import DecisionChange, DecisionReport, Decisions

DECIDING = Group("Decisions", sort_key=3)

LEVEL = 0.95
"""Default confidence of limits."""

METHOD = "platt"
"""The calibrator whose value is shown, which also gives the best threshold."""


@Parameter(name="*", group=DECIDING)
@dataclass(frozen=True, kw_only=True)
class Deciding:
    """What decisions cost, how often answers may be wrong, and how frequent the event is."""

    cost_fp: Annotated[
        float | None, Parameter(help="Cost of a false positive: acting although the event does not happen.")
    ] = None
    cost_fn: Annotated[
        float | None, Parameter(help="Cost of a false negative: not acting although the event happens.")
    ] = None
    threshold: Annotated[
        float | None,
        Parameter(
            help="Act if the probability is at least this; by default the best threshold for the costs if the "
            "model is calibrated."
        ),
    ] = None
    max_risk: Annotated[
        float | None, Parameter(help="Largest acceptable error rate; shows how many rows can be answered within it.")
    ] = None
    confidence: Annotated[float, Parameter(help="Confidence level of the limits of costs and risks.")] = LEVEL
    base_rate: Annotated[
        str | None,
        Parameter(
            help="Share of class 1, or comma-separated shares of all classes, where the model is used: corrects the "
            "predictions for it. Or a file of predictions from there, without labels, to estimate the share from."
        ),
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether any of these options is given."""
        return self.is_asked or self.base_rate is not None

    @property
    def is_asked(self) -> bool:
        """Whether decisions are to be examined."""
        return any(value is not None for value in (self.cost_fp, self.cost_fn, self.threshold, self.max_risk))

    def check(self, *, of_rows: bool, as_they_are: bool = True) -> None:
        """Refuse impossible or useless options, before anything is read.

        Parameters
        ----------
        of_rows : bool
            Whether rows of class predictions are read, which all of these options need.
        as_they_are : bool, default=True
            Whether one model is judged, without a fix: only then can a base rate be estimated from a file.
        """
        if self.is_used and not of_rows:
            raise InputError(
                "costs, risks and base rates need rows of class predictions, but the options are for forecasts or for "
                "a sketch. Remove them, or read the rows."
            )
        if self.confidence != LEVEL and not self.is_asked and not self.population:
            raise InputError(
                "--confidence is for limits of costs, risks and estimated base rates, but none of them is requested. "
                "Request one, for example with --max-risk, or leave --confidence out."
            )
        for name in ("threshold", "max_risk", "confidence"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise InputError(f"--{name.replace('_', '-')} must be above 0 and below 1, but is {as_given(value)}.")
        _ = self.costs
        self._check_base_rate(as_they_are=as_they_are)

    def check_rows(self, models: "dict[str, Predictions]") -> None:
        """Refuse rows that the options do not apply to, before they are judged."""
        from calibrant.decisions.selective import check_equal

        _check_classes(models, self.costs)
        for name, p in models.items():
            if self.max_risk is not None:
                try:
                    check_equal(p)
                except InputError as error:
                    raise InputError(f"{name}: {error}") from error

    def _check_base_rate(self, *, as_they_are: bool) -> None:
        """Refuse a base rate that is neither a share nor a file, or that does not fit the other options."""
        if self.base_rate is None:
            return
        if self.max_risk is not None:
            raise InputError(
                "--max-risk promises an error rate by counting rows, but --base-rate gives rows of different classes "
                "different weights. Use one of them at a time."
            )
        if self.population:
            if not as_they_are:
                raise InputError(
                    "--base-rate FILE estimates the share from the predictions of one model without a fix. With "
                    "several models, or with --calibrate, give a share; to estimate it after a fix, write both files "
                    "with calibrant apply first."
                )
            return
        if not are_numbers(self.base_rate):
            raise InputError(
                "--base-rate must be a share such as 0.02, one share per class such as 0.5,0.3,0.2, or a file of "
                f"predictions to estimate it from, but {self.base_rate!r} is not a number, and there is no such file."
            )
        as_numbers(self.base_rate, "--base-rate")

    @property
    def population(self) -> list[Path]:
        """The files from which the base rate is estimated; none if it is given as a number."""
        from calibrant.io.opening import as_paths

        if self.base_rate is None or are_numbers(self.base_rate):
            return []
        try:
            return [path for path in map(Path, as_paths(self.base_rate)) if path.exists()]
        except OSError:
            return []

    @property
    def costs(self) -> "Costs | None":
        """The costs, or those for which the threshold is best if only that is given; else None."""
        given = {"--cost-fp": self.cost_fp, "--cost-fn": self.cost_fn}
        missing = [name for name, value in given.items() if value is None]
        if len(missing) == 1:
            raise InputError(
                f"--cost-fp and --cost-fn belong together, but {missing[0]} is missing. Only their ratio matters, so "
                "one of them may be 1."
            )
        for name, value in given.items():
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} must be a cost above 0, but is {as_given(value)}.")
        if missing and self.threshold is None:
            return None
        from calibrant.metrics.costs import Costs

        if self.cost_fp is not None and self.cost_fn is not None:
            return Costs(self.cost_fp, self.cost_fn)
        return None if self.threshold is None else Costs.at(self.threshold)

    def moved(self, predictions: "Predictions", options: "Judging") -> "tuple[Predictions, DecisionReport]":
        """Return predictions and row weights adjusted to the base rate, and a report of the adjustment."""
        from calibrant.results import DecisionReport

        if self.base_rate is None:
            return predictions, DecisionReport()
        from calibrant.cli.work.base_rates import estimated_from, usable_shares
        from calibrant.counts import class_shares
        from calibrant.decisions.base_rate import move_base_rate

        files = self.population
        found = estimated_from(files, predictions, self.confidence, options) if files else None
        rates = as_numbers(self.base_rate, "--base-rate") if found is None else usable_shares(found.shares, found.name)
        after = move_base_rate(predictions, rates)
        shares = zip(class_shares(predictions).tolist(), class_shares(after).tolist(), strict=True)
        moved = dict(zip(map(str, predictions.classes), shares, strict=True))
        return after, DecisionReport(base_rate=moved, population=found)

    def decide(
        self, models: "dict[str, Predictions]", there: "DecisionReport", options: "Judging", change: str = ""
    ) -> "DecisionReport":
        """Return the requested results for these models; with `change`, the last is the first, fixed by this method."""
        if not self.is_asked:
            return there
        prevalence = list(there.base_rate.values())[-1][1] if there.base_rate else None
        with show.progress_bar("deciding", quiet=options.silent) as progress:
            found, changed = self._decided(models, prevalence, options.seed, change, progress)
        return replace(there, models=found, change=changed)

    def _decided(
        self,
        models: "dict[str, Predictions]",
        prevalence: float | None,
        seed: int,
        change: str,
        progress: "Progress",
    ) -> "tuple[dict[str, Decisions], DecisionChange | None]":
        """Return the requested results for each model, and for the change."""
        from calibrant.decisions import DecisionPlan

        costs = self.costs
        plan = DecisionPlan(costs, self.threshold, self.max_risk, self.confidence, prevalence)
        fixed = plan if not change else replace(plan, threshold=None)
        found: dict[str, Decisions] = {}
        steps = len(models) + bool(change)
        for done, (name, p) in enumerate(models.items()):
            progress(done, steps)
            try:
                found[name] = (fixed if found else plan)(p, name, rng=seed)
            except InputError as error:
                raise InputError(f"{name}: {error}") from error
        if not change or costs is None:
            return found, None
        progress(len(models), steps)
        before, *_, after = models.values()
        return found, plan.change(before, after, change, rng=seed)

    def examine(
        self, predictions: "Predictions", there: "DecisionReport", name: str, options: "Judging"
    ) -> "DecisionReport":
        """Return the requested results for one model, and what a fix is worth if there are costs and enough rows."""
        from calibrant.advice import calibrate_held_out
        from calibrant.decisions.plan import can_fit

        models, change = {name: predictions}, ""
        if self.costs is not None and predictions.n_classes == 2 and can_fit(predictions):
            with show.progress_bar("fitting calibrators", quiet=options.silent) as progress:
                models[f"{name} > {METHOD}"], _ = calibrate_held_out(
                    predictions, METHOD, progress=progress, rng=options.seed
                )
            change = METHOD
        return self.decide(models, there, options, change)


def _check_classes(models: "dict[str, Predictions]", costs: "Costs | None") -> None:

    for p in models.values():
        if costs is not None and p.n_classes != 2:
            raise InputError(
                f"--cost-fp, --cost-fn and --threshold are for two classes, but there are {p.n_classes}. Name the "
                "column of one class with --probs and its label with --positive."
            )
