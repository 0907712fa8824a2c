"""Outcomes of asking which calibrator to use for predictive distributions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant.results.advice import printed_advice
from calibrant.results.comparison import Difference
from calibrant.results.reading import Readable


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ForecastCandidate(Readable):
    """How one calibrator of predictive distributions does on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        As in `FORECAST_CALIBRATORS`, or a composition such as "shift-scale>pit".
    loss : float
        Mean score of the out-of-fold laws; smaller is better. It may be infinite.
    mace : float or None
        Calibration error of their quantiles, for information: nothing is ranked by it. None for vectors.
    coverage : float or None
        Share of targets in their central intervals of probability 0.9. None for vectors.
    over_nothing : Difference or None
        Loss minus that of the forecasts as they are; None for these, and where both are infinite.
    behind_best : Difference or None
        Loss minus that of the best candidate; None for that one, and where both are infinite.
    """

    name: str
    loss: float
    mace: float | None
    coverage: float | None
    over_nothing: Difference | None
    behind_best: Difference | None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ForecastRecommendation(Readable):
    """Which calibrator of predictive distributions to use, and why.

    Attributes
    ----------
    name : str
        The calibrator to use; "identity" if nothing beats doing nothing.
    headline : str
        One sentence.
    reasons : tuple of str
        The rule, the numbers and the reservations, in words.
    calibrator : ForecastCalibrator
        The calibrator of that name, fitted to all rows.
    candidates : tuple of ForecastCandidate
        From the simplest, doing nothing, to the most flexible.
    best : str
        The candidate with the smallest loss, of those that beat doing nothing; of all, if none does.
    alternative : str or None
        The best of the candidates that are simpler than the recommended one.
    over_alternative : Difference or None
        The recommended one's loss minus that of the alternative.
    score : {"crps", "log"}
        What was compared.
    tolerance : float
        Additional loss that was accepted for a simpler candidate.
    law : str
        Kind of the predictive distributions.
    n_samples, n_folds, n_resamples : int
    level : float
        Of the intervals.
    settings : mapping
        Seed, version.
    disagreement : str
        Why the advice and the verdict of `assess_forecasts` seem to differ; empty if they do not. It is the last of
        the reasons, too.
    """

    name: str
    headline: str
    reasons: tuple[str, ...]
    calibrator: Any
    candidates: tuple[ForecastCandidate, ...]
    best: str
    alternative: str | None
    over_alternative: Difference | None
    score: str
    tolerance: float
    law: str
    n_samples: int
    n_folds: int
    n_resamples: int
    level: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    disagreement: str = ""

    def _printed(self) -> list[tuple[str, str]]:
        return printed_advice(self, f"{self.n_samples:,} forecasts ({self.law})")

    def candidate(self, name: str) -> ForecastCandidate:
        """Return the candidate of this name."""
        return next(candidate for candidate in self.candidates if candidate.name == name)
