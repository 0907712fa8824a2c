"""Outcomes of asking which calibrator to use, and how many rows it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant.results.comparison import Difference
from calibrant.results.reading import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Candidate(Readable):
    """How one calibrator does on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        As in `CALIBRATORS`, or a composition such as "ts>irm".
    loss : float
        Mean score of the out-of-fold predictions; smaller is better. It may be infinite.
    accuracy : float
    ece, kde_ece : float
        Calibration errors of the out-of-fold predictions, for information: nothing is ranked by them.
    changed : float
        Share of the rows whose predicted class is another one than before.
    converged : bool
        Whether the optimiser ended at its optimum in every fold.
    over_nothing : Difference or None
        Loss minus that of the predictions as they are; None for these, and where both are infinite.
    behind_best : Difference or None
        Loss minus that of the best candidate; None for that one, and where both are infinite.
    """

    name: str
    loss: float
    accuracy: float
    ece: float
    kde_ece: float
    changed: float
    converged: bool
    over_nothing: Difference | None
    behind_best: Difference | None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Recommendation(Readable):
    """Which calibrator to use, and why.

    Attributes
    ----------
    name : str
        The calibrator to use; "identity" if nothing beats doing nothing.
    headline : str
        One sentence.
    reasons : tuple of str
        The rule, the numbers and the reservations, in words.
    calibrator : Calibrator
        The calibrator of that name, fitted to all rows.
    candidates : tuple of Candidate
        From the simplest, doing nothing, to the most flexible.
    best : str
        The candidate with the smallest loss, of those that beat doing nothing; of all, if none does.
    alternative : str or None
        The best of the candidates that are simpler than the recommended one.
    over_alternative : Difference or None
        The recommended one's loss minus that of the alternative.
    keep_argmax : bool
        Whether the predicted classes had to stay.
    score : {"nll", "brier"}
        What was compared.
    n_samples, n_classes, n_folds, n_resamples : int
    level : float
        Of the intervals.
    settings : mapping
        Seed, version.
    disagreement : str
        Why the advice and the verdict of `assess` seem to differ: nothing to do where miscalibration was found, or the
        other way round. Empty if they do not. It is the last of the reasons, too.
    """

    name: str
    headline: str
    reasons: tuple[str, ...]
    calibrator: Any
    candidates: tuple[Candidate, ...]
    best: str
    alternative: str | None
    over_alternative: Difference | None
    keep_argmax: bool
    score: str
    n_samples: int
    n_classes: int
    n_folds: int
    n_resamples: int
    level: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    disagreement: str = ""

    def _printed(self) -> list[tuple[str, str]]:
        return printed_advice(self, f"{self.n_samples:,} rows of {self.n_classes} classes")

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of this name."""
        return next(candidate for candidate in self.candidates if candidate.name == name)


def printed_advice(advice: Any, rows: str) -> list[tuple[str, str]]:
    """Return how a recommendation is printed, given what its rows are."""
    losses = [f"{one.name} {one.loss:.4g}" for one in advice.candidates]
    words = [("advice", advice.headline), ("reasons", "\n".join(advice.reasons))]
    return [*words, (f"{advice.score} of", ", ".join(losses)), ("judged by", f"{rows}, in {advice.n_folds} folds")]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LearningPoint(Readable):
    """One metric of one calibrator at one number of fitted rows.

    Attributes
    ----------
    calibrator, metric : str
    size : int
        Rows that the calibrator was fitted to.
    value : float
        Mean over the repeats, on rows that were held out.
    deviation : float
        Standard deviation over the repeats.
    change, change_deviation : float
        The same for the value minus that of the predictions as they are, on the same rows.
    n_infinite : int
        Repeats whose value is infinite; all four numbers are infinite then.
    """

    calibrator: str
    metric: str
    size: int
    value: float
    deviation: float
    change: float
    change_deviation: float
    n_infinite: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LearningCurve(Readable):
    """Quality against the number of rows that calibrators are fitted to.

    Attributes
    ----------
    calibrators, metrics : tuple of str
    sizes : tuple of int
    n_repeats : int
    n_held_out : int
        Rows that each repeat is judged by.
    baseline : mapping of str to float
        Every metric of the predictions as they are: its mean over the held-out rows of all repeats.
    points : tuple of LearningPoint
        Calibrator after calibrator, metric after metric, by size.
    settings : mapping
        Seed, version.
    """

    calibrators: tuple[str, ...]
    metrics: tuple[str, ...]
    sizes: tuple[int, ...]
    n_repeats: int
    n_held_out: int
    baseline: Mapping[str, float]
    points: tuple[LearningPoint, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def _printed(self) -> list[tuple[str, str]]:
        pairs = [(calibrator, metric) for calibrator in self.calibrators for metric in self.metrics]
        values = ["; ".join(f"{p.size:,} rows {p.value:.4g}" for p in self.of(*pair)) for pair in pairs]
        held = f"{self.n_held_out:,} rows, {self.n_repeats} times"
        rows = [(f"{calibrator}, {metric}", text) for (calibrator, metric), text in zip(pairs, values, strict=True)]
        return [*rows, *((f"as they are, {m}", f"{v:.4g}") for m, v in self.baseline.items()), ("judged by", held)]

    def of(self, calibrator: str, metric: str) -> tuple[LearningPoint, ...]:
        """Return the points of this calibrator and metric, by size."""
        start = (self.calibrators.index(calibrator) * len(self.metrics) + self.metrics.index(metric)) * len(self.sizes)
        return self.points[start : start + len(self.sizes)]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Fix(Readable):
    """A calibrator that was fitted to all folds but one and applied to that one, in turn.

    Attributes
    ----------
    method : str
        The calibrator, as in `CALIBRATORS` or `FORECAST_CALIBRATORS`, or a composition such as "ts>irm".
    changed : float or None
        Share of the rows whose predicted class is another one than before; None for predictive distributions.
    n_folds : int
    converged : bool
        Whether the optimiser ended at its optimum in every fold.
    recommendation : Recommendation, ForecastRecommendation or None
        Why this calibrator; None if the caller chose it.
    """

    method: str
    changed: float | None
    n_folds: int
    converged: bool
    recommendation: Any = None
