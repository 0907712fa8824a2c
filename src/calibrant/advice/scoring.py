"""How candidates for a recommendation are judged: by a proper score of every row."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibrant._border.settings import check_count, check_level
from calibrant._border.types import FloatArray
from calibrant.advice.choice import TOLERANCE, Choice
from calibrant.advice.cross_fit import OutOfFold, check_folds
from calibrant.exceptions import InputError
from calibrant.metrics import METRICS, NLL, Brier, Score
from calibrant.metrics.scores import weighted_means
from calibrant.predictions import Predictions
from calibrant.results import Candidate

SCORES: Mapping[str, Score] = {"nll": NLL(), "brier": Brier()}
"""Proper scores by which candidates may be compared: the true probabilities minimise them."""

COIN: Mapping[str, float] = {"nll": float(np.log(2)), "brier": 0.5}
"""Losses of a fair coin that is known to be one."""

LEAST_ROWS = 50
"""With fewer rows even one temperature is a guess, and no difference can be distinguished from chance."""


@dataclass(frozen=True)
class Scoring:
    """Settings by which candidates for predictions, or for forecasts, are judged."""

    score: str
    n_folds: int
    n_resamples: int
    level: float

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")
        check_count(self.n_folds, "n_folds")
        check_level(self.level)

    def check(self, predictions: Predictions) -> None:
        """Refuse other scores and too few rows."""
        if self.score not in SCORES:
            raise InputError(
                f'score must be "nll" or "brier", but is {self.score!r}. Calibration errors cannot choose: predictions '
                "that are all the same can have an error of 0."
            )
        check_folds(self.n_folds, predictions)
        if predictions.n_samples < LEAST_ROWS:
            raise InputError(
                f"at least {LEAST_ROWS} rows are needed to choose between calibrators, but there are "
                f"{predictions.n_samples} (rows of weight 0 do not count). Temperature scaling is the safest choice "
                "with so few."
            )

    def tolerance(self, predictions: Predictions) -> float:
        r"""Return the additional loss that is accepted for a simpler candidate.

        It is 0.001, a seventh of a percent of the log loss of a fair coin, :math:`\ln 2`, or the same part of the loss
        of the base rate if that is smaller: where events are rare, 0.001 may be more than there is to gain. Each class
        counts as one row more than observed, so that a class that was not observed is rare and not impossible.
        """
        n, k = predictions.n_samples, predictions.n_classes
        rows = np.bincount(predictions.labels, predictions.weights, k) / predictions.weights.mean()
        shares = (rows + 1) / (n + k)
        base = -float(shares @ np.log(shares)) if self.score == "nll" else 1 - float(shares @ shares)
        return TOLERANCE * min(1.0, base / COIN[self.score])

    def candidate(
        self, name: str, found: OutOfFold, losses: FloatArray, predictions: Predictions, chosen: Choice
    ) -> Candidate:
        """Measure the cross-fitted predictions of a candidate, given the score of every row."""
        calibrated = found.predictions
        changed = calibrated.predicted != predictions.predicted
        return Candidate(
            name=name,
            loss=float(weighted_means(losses)(predictions.weights[:, None])[0]),
            accuracy=METRICS["accuracy"](calibrated),
            ece=METRICS["ece"](calibrated),
            kde_ece=METRICS["kde-ece"](calibrated),
            changed=float(np.average(changed, weights=predictions.weights)),
            converged=found.converged,
            over_nothing=chosen.over_nothing.get(name),
            behind_best=chosen.behind_best.get(name),
        )
