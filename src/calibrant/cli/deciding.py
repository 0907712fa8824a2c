"""The options about decisions: costs, thresholds, the risk of answers, the base rate."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from calibrant._border.types import Progress
    from calibrant.cli.options import Judging
    from calibrant.metrics.costs import Costs
    from calibrant.predictions import Predictions
    from calibrant.results import DecisionChange, DecisionReport, Decisions

DECIDING = Group("Decisions", sort_key=3)

METHOD = "platt"
"""The fix whose worth is shown by default: the one behind the best threshold."""


@Parameter(name="*", group=DECIDING)
@dataclass(frozen=True, kw_only=True)
class Deciding:
    """What decisions cost, how often answers may be wrong, and how frequent the event is."""

    cost_fp: Annotated[
        float | None, Parameter(help="Cost of acting where the event does not happen: a false positive.")
    ] = None
    cost_fn: Annotated[float | None, Parameter(help="Cost of not acting where it does: a false negative.")] = None
    threshold: Annotated[
        float | None,
        Parameter(help="Act from this probability on; by default the best threshold for the costs, if calibrated."),
    ] = None
    max_risk: Annotated[
        float | None, Parameter(help="Largest acceptable error rate: find how many rows can be answered within it.")
    ] = None
    confidence: Annotated[float, Parameter(help="Confidence of the limits of costs and risks.")] = 0.95
    base_rate: Annotated[
        str | None,
        Parameter(
            help="Share of class 1 where predictions are used, or of all classes, comma-separated: corrects them."
        ),
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether anything differs from an evaluation without decisions."""
        return self.is_asked or self.base_rate is not None

    @property
    def is_asked(self) -> bool:
        """Whether anything is to be said about decisions."""
        return any(value is not None for value in (self.cost_fp, self.cost_fn, self.threshold, self.max_risk))

    def check(self, *, of_rows: bool) -> None:
        """Refuse options that mean nothing, before anything is read.

        Parameters
        ----------
        of_rows : bool
            Whether rows of class predictions are read, which all of them need.
        """
        from calibrant.exceptions import InputError

        if self.is_used and not of_rows:
            raise InputError(
                "costs, risks and base rates need rows of class predictions, but the options are for forecasts or for "
                "a sketch. Remove them, or read the rows."
            )
        for name in ("threshold", "max_risk", "confidence"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise InputError(f"--{name.replace('_', '-')} must be above 0 and below 1, but is {value:g}.")
        _ = self.costs
        if self.base_rate is not None and self.max_risk is not None:
            raise InputError(
                "--max-risk promises an error rate by counting rows, but --base-rate gives rows of different classes "
                "different weights. Ask for one of them at a time."
            )
        if self.base_rate is not None:
            as_numbers(self.base_rate, "--base-rate")

    @property
    def costs(self) -> "Costs | None":
        """The costs, those of the threshold if only that is given, or None."""
        from calibrant.exceptions import InputError

        given = {"--cost-fp": self.cost_fp, "--cost-fn": self.cost_fn}
        missing = [name for name, value in given.items() if value is None]
        if len(missing) == 1:
            raise InputError(
                f"--cost-fp and --cost-fn belong together, but {missing[0]} is missing. Only their ratio decides, so "
                "that one of them may be 1."
            )
        for name, value in given.items():
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} must be a cost above 0, but is {value:g}.")
        if missing and self.threshold is None:
            return None
        from calibrant.metrics.costs import Costs

        if self.cost_fp is not None and self.cost_fn is not None:
            return Costs(self.cost_fp, self.cost_fn)
        return None if self.threshold is None else Costs.at(self.threshold)

    def moved(self, predictions: "Predictions") -> "tuple[Predictions, dict[str, tuple[float, float]]]":
        """Return the predictions for the base rate, with weights of their rows, and the shares before and after."""
        if self.base_rate is None:
            return predictions, {}
        from calibrant.counts import class_shares
        from calibrant.decisions.moved import move_base_rate

        after = move_base_rate(predictions, as_numbers(self.base_rate, "--base-rate"))
        shares = zip(class_shares(predictions).tolist(), class_shares(after).tolist(), strict=True)
        return after, dict(zip(map(str, predictions.classes), shares, strict=True))

    @property
    def prevalence(self) -> float | None:
        """The known share of the event."""
        import numpy as np

        return None if self.base_rate is None else float(np.atleast_1d(as_numbers(self.base_rate, "--base-rate"))[-1])

    def decide(
        self,
        models: "dict[str, Predictions]",
        rates: "dict[str, tuple[float, float]]",
        options: "Judging",
        change: str = "",
    ) -> "DecisionReport":
        """Return what is asked about these models, of which the last may be a fix of the first by `change`."""
        from calibrant.cli.show import progress_bar
        from calibrant.results import DecisionReport

        if not self.is_asked:
            return DecisionReport(base_rate=rates)
        with progress_bar("deciding", quiet=options.silent) as progress:
            found, changed = self._decided(models, options.seed, change, progress)
        return DecisionReport(models=found, change=changed, base_rate=rates)

    def _decided(
        self, models: "dict[str, Predictions]", seed: int, change: str, progress: "Progress"
    ) -> "tuple[dict[str, Decisions], DecisionChange | None]":
        """Return what is asked about each model, and about the change."""
        from dataclasses import replace

        from calibrant.decisions import DecisionPlan
        from calibrant.exceptions import InputError

        costs = self.costs
        _check_classes(models, costs)
        plan = DecisionPlan(costs, self.threshold, self.max_risk, self.confidence, self.prevalence)
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
        self, predictions: "Predictions", rates: "dict[str, tuple[float, float]]", name: str, options: "Judging"
    ) -> "DecisionReport":
        """Return what is asked about one set of predictions, with the worth of a fix if there are costs and rows."""
        from calibrant.advice import calibrate_held_out
        from calibrant.cli.show import progress_bar
        from calibrant.decisions.summary import can_fit

        models, change = {name: predictions}, ""
        if self.costs is not None and predictions.n_classes == 2 and can_fit(predictions):
            with progress_bar("fitting calibrators", quiet=options.silent) as progress:
                models[f"{name} > {METHOD}"], _ = calibrate_held_out(
                    predictions, METHOD, progress=progress, rng=options.seed
                )
            change = METHOD
        return self.decide(models, rates, options, change)


def _check_classes(models: "dict[str, Predictions]", costs: "Costs | None") -> None:
    from calibrant.exceptions import InputError

    for p in models.values():
        if costs is not None and p.n_classes != 2:
            raise InputError(
                f"--cost-fp, --cost-fn and --threshold are for two classes, but there are {p.n_classes}. Name the "
                "column of one class with --probs and its label with --positive."
            )


def as_numbers(text: str, option: str) -> float | list[float]:
    """Return one number, or a list of those between commas."""
    from calibrant.exceptions import InputError

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"{option} must be a share such as 0.02, or one for each class such as 0.5,0.3,0.2, but is {text!r}."
        ) from error
    if not all(0 < number < 1 for number in numbers):
        raise InputError(f"{option} must be above 0 and below 1, but is {text}.")
    return numbers[0] if len(numbers) == 1 else numbers
