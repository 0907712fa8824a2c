"""Outcomes of asking which calibrator to use, and how many rows it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from calibrant.results.comparison import Difference
from calibrant.results.readable import Readable

C = TypeVar("C", bound="Judged")

SCORE_NAMES = {"nll": "log loss", "brier": "Brier score", "crps": "CRPS", "log": "log score"}
"""Names of the scores by which candidates are compared."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Judged(Readable):
    """How one calibrator performs on rows that it was not fitted to: the fields that candidates of all kinds share.

    Attributes
    ----------
    name : str
        As in `CALIBRATORS` or `FORECAST_CALIBRATORS`, or a composition such as "ts>irm".
    loss : float
        Mean score of the out-of-fold predictions; smaller is better. It may be infinite.
    over_nothing : Difference or None
        Loss minus that of the uncalibrated predictions; None for these themselves, and where both are infinite.
    behind_best : Difference or None
        Loss minus that of the best candidate; None for the best itself, and where both are infinite.

    Examples
    --------
    >>> Judged(name="ts", loss=0.25, over_nothing=None, behind_best=None)
    Judged
      name  ts
      loss  0.25
    """

    name: str
    loss: float
    over_nothing: Difference | None
    behind_best: Difference | None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Candidate(Judged):
    """How one calibrator of class probabilities performs on rows that it was not fitted to.

    Attributes
    ----------
    name, loss, over_nothing, behind_best
        As in `Judged`.
    accuracy : float
    ece, kde_ece : float
        Calibration errors of the out-of-fold predictions, for information: nothing is ranked by them.
    changed : float
        Share of the rows whose predicted class changes.
    converged : bool
        Whether the optimiser ended at its optimum in every fold.
    """

    accuracy: float
    ece: float
    kde_ece: float
    changed: float
    converged: bool


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ForecastCandidate(Judged):
    """How one calibrator of predictive distributions performs on rows that it was not fitted to.

    Attributes
    ----------
    name, loss, over_nothing, behind_best
        As in `Judged`.
    mace : float or None
        Calibration error of the quantiles, for information: nothing is ranked by it. None for vectors.
    coverage : float or None
        Share of targets in central intervals of probability 0.9. None for vectors.
    """

    mace: float | None
    coverage: float | None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Advice(Readable, Generic[C]):
    """Which calibrator to use, and why: the fields that advice for classes and for predictive distributions shares.

    Attributes
    ----------
    name : str
        The calibrator to use; "identity" if nothing beats doing nothing.
    headline : str
        One sentence.
    reasons : tuple of str
        The rule, the numbers and the reservations, in words.
    calibrator : Calibrator or ForecastCalibrator
        The calibrator of that name, fitted to all rows.
    candidates : tuple of Judged
        From the simplest, doing nothing, to the most flexible.
    best : str
        The candidate with the smallest loss among those that beat doing nothing or, if none does, among all.
    alternative : str or None
        The best of the candidates that are simpler than the recommended one.
    over_alternative : Difference or None
        The loss of the recommended calibrator minus that of the alternative.
    score : str
        What was compared: "nll" or "brier" for classes, "crps" or "log" for predictive distributions.
    tolerance : float
        Additional loss that was accepted for a simpler candidate.
    n_samples, n_folds, n_resamples : int
    level : float
        Confidence level of the intervals.
    settings : mapping
        Seed, version.
    disagreement : str
        Why the advice seems to contradict the verdict of the assessment: nothing to do although miscalibration was
        found, or the other way round. Empty if it does not. It is also the last of the reasons.

    Examples
    --------
    >>> from calibrant import Predictions, recommend
    >>> p = Predictions([0.5, 0.5] * 30, labels=[0, 1] * 30)  # Nothing to improve.
    >>> advice = recommend(p, candidates=["ts"], rng=0)
    >>> isinstance(advice, Advice), advice.name
    (True, 'identity')
    """

    name: str
    headline: str
    reasons: tuple[str, ...]
    calibrator: Any
    candidates: tuple[C, ...]
    best: str
    alternative: str | None
    over_alternative: Difference | None
    score: str
    tolerance: float
    n_samples: int
    n_folds: int
    n_resamples: int
    level: float
    settings: Mapping[str, object] = field(default_factory=dict)
    disagreement: str = ""

    @property
    def score_name(self) -> str:
        """The score that decides between candidates, in words."""
        return SCORE_NAMES[self.score]

    def candidate(self, name: str) -> C:
        """Return the candidate of this name."""
        return next(candidate for candidate in self.candidates if candidate.name == name)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Recommendation(Advice[Candidate]):
    """Which calibrator to use, and why.

    Attributes
    ----------
    keep_argmax : bool
        Whether the predicted classes had to stay.
    n_classes : int

    Notes
    -----
    The other attributes are those of `Advice`; the candidates are of the type `Candidate`.
    """

    keep_argmax: bool
    n_classes: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ForecastRecommendation(Advice[ForecastCandidate]):
    """Which calibrator of predictive distributions to use, and why.

    Attributes
    ----------
    law : str
        Kind of the predictive distributions, such as "Normal".

    Notes
    -----
    The other attributes are those of `Advice`; the candidates are of the type `ForecastCandidate`.
    """

    law: str

    @property
    def score_name(self) -> str:
        """The score that decides between candidates, in words; for draws, the CRPS is the fair one."""
        return f"fair {super().score_name}" if (self.score, self.law) == ("crps", "Samples") else super().score_name


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Fix(Readable):
    """A calibrator that was applied to every fold after a fit to all other folds.

    Attributes
    ----------
    method : str
        The calibrator, as in `CALIBRATORS` or `FORECAST_CALIBRATORS`, or a composition such as "ts>irm".
    changed : float or None
        Share of the rows whose predicted class changes; None for predictive distributions.
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
    recommendation: Recommendation | ForecastRecommendation | None = None


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
        Mean and standard deviation of the value minus that of the uncalibrated predictions, on the same rows.
    n_infinite : int
        Repeats whose value is infinite; if there are any, the four numbers above are infinite.
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
        Number of rows on which each repeat is judged.
    baseline : mapping of str to float
        Every metric of the uncalibrated predictions: its mean over the held-out rows of all repeats.
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
    settings: Mapping[str, object] = field(default_factory=dict)

    def of(self, calibrator: str, metric: str) -> tuple[LearningPoint, ...]:
        """Return the points of this calibrator and metric, by size."""
        start = (self.calibrators.index(calibrator) * len(self.metrics) + self.metrics.index(metric)) * len(self.sizes)
        return self.points[start : start + len(self.sizes)]
