"""Calibrators of two classes: one function of one score."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np

from calibrant._border.checks import check_copies
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import softplus
from calibrant.calibrators.base import Calibrator, normalised
from calibrant.calibrators.estimator import check_is_fitted, clone
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.roc.ranking import as_ranking, as_scores

LARGEST_LOG_ODDS = -float(np.log(np.finfo(np.float64).tiny))
"""Parametric maps treat log-odds beyond this, those of the probabilities 0 and 1 among them, as this."""


class BinaryCalibrator(Calibrator):
    """Base of the calibrators of two classes; a method writes `fit_line` and `log_odds`.

    The score is the log-odds of class 1, or with scores="raw" the number that was given. Given more than two classes,
    it means `OneVsRest` of itself.

    Attributes
    ----------
    accepts_raw : bool
        Whether `scores="raw"` makes sense: real numbers on an unknown scale, higher for class 1.
    """

    preserves_argmax = False
    accepts_raw: ClassVar[bool] = False

    @abstractmethod
    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn from one score per row, which may be infinite, and whether class 1 was observed; no weight is 0."""

    @abstractmethod
    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1, infinite for probabilities 0 and 1."""

    @np.errstate(under="ignore")
    def fit(self, scores: Any, labels: Any = None, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Learn the map from scores and observed labels, or from predictions that hold both.

        Parameters
        ----------
        scores : array-like of shape (n, K) or (n,), or Predictions
        labels : array-like of shape (n,)
            As for `Predictions`; 0 or 1 if the scores are raw.
        sample_weight : array-like of shape (n,), optional
        classes : sequence, optional
            Names of the K classes, as for `Predictions`; a class without a row is kept.
        """
        if self._kind() != "raw" or isinstance(scores, Predictions):
            return super().fit(scores, labels, sample_weight, classes=classes)
        check_copies(sample_weight)
        values, hits, weights = as_ranking(scores, labels, sample_weight)
        self._remember_columns(scores)
        self.classes_ = np.arange(2) if classes is None else np.array(classes)
        return self.fit_line(values, hits, weights)

    @np.errstate(under="ignore")
    def predict_proba(self, scores: Any) -> FloatArray:
        """Return calibrated probabilities, of shape (n, K), whose rows sum to 1."""
        check_is_fitted(self)
        if self._kind() == "raw" and not isinstance(scores, Predictions):
            return self.line_probs(self._read_raw(scores))
        given, log_probs = self._read(scores)
        if log_probs.shape[1] == 2 == len(self.classes_):
            return self.line_probs(log_probs[:, 1] - log_probs[:, 0])
        return self._calibrated(given, log_probs)[0]

    def _read_raw(self, scores: Any) -> FloatArray:
        """Return a ranker's scores."""
        self._order_of_columns(scores)
        return as_scores(scores)

    def line_probs(self, scores: FloatArray) -> FloatArray:
        """Return both calibrated probabilities, (n, 2), for one score per row."""
        return probs_of(self.log_odds(scores))

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        if log_probs.shape[1] == 2:
            self.fit_line(log_probs[:, 1] - log_probs[:, 0], labels == 1, weights)
            return
        from calibrant.calibrators.lift import OneVsRest

        self.lifted_ = OneVsRest(clone(self)).learn(log_probs, labels, weights)

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        if log_probs.shape[1] == 2:
            return log_probs_of(self.log_odds(log_probs[:, 1] - log_probs[:, 0]))
        return self.lifted_.transform(log_probs)

    def _kind(self) -> str:
        if self.scores == "raw":
            if not self.accepts_raw:
                raise InputError(
                    f'{type(self).__name__} needs scores="probs" or scores="logits": raw scores have no scale that it '
                    "could use. IsotonicCalibration, ROCConvexHull and PlattScaling accept them."
                )
            return "raw"
        return super()._kind()


def bounded(log_odds: FloatArray) -> FloatArray:
    """Return log-odds without infinities."""
    return np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def log_probs_of(log_odds: FloatArray) -> FloatArray:
    """Return the logarithms of both probabilities, (n, 2).

    Examples
    --------
    >>> np.exp(log_probs_of(np.array([0.0, -np.inf]))).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    return np.column_stack([-softplus(log_odds), -softplus(-log_odds)])


def probs_of(log_odds: FloatArray) -> FloatArray:
    """Return both probabilities, (n, 2).

    Examples
    --------
    >>> probs_of(np.array([0.0, -np.inf])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    from scipy.special import expit

    probs = np.empty((len(log_odds), 2))
    expit(log_odds, out=probs[:, 1])
    expit(-log_odds, out=probs[:, 0])
    return probs


def log_odds_of_classes(log_probs: FloatArray) -> FloatArray:
    r"""Return :math:`\ln p_k - \ln \sum_{j \ne k} p_j` of every class, (n, K), accurate also near 1.

    Examples
    --------
    >>> log_odds_of_classes(np.log([[0.5, 0.25, 0.25]])).round(4).tolist()
    [[0.0, -1.0986, -1.0986]]
    """
    rows, top = np.arange(len(log_probs)), log_probs.argmax(axis=1)
    probs = np.exp(log_probs)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-np.minimum(probs, 0.5))  # Others than the largest are at most one half.
        probs[rows, top] = 0.0
        rest[rows, top] = np.log(probs.sum(axis=1))
    return log_probs - rest


Score = Literal["probability", "logit", "margin"]

SCORE_DECIMALS = 12
"""Scores of classes that agree to this many decimals are ties: they were computed by different sums."""


def class_scores(log_probs: FloatArray, score: Score) -> FloatArray:
    """Return one score for every class, (n, K), rounded so that equal probabilities make ties."""
    if score == "probability":
        values = log_odds_of_classes(log_probs)
    elif score == "logit":
        values = normalised(log_probs)
    elif score == "margin":
        ascending = np.sort(log_probs, axis=1)
        best, second = ascending[:, -1:], ascending[:, -2:-1]
        values = log_probs - np.where(log_probs == best, second, best)
    else:
        raise InputError(f'score must be "probability", "logit" or "margin", but is {score!r}.')
    return np.round(values, SCORE_DECIMALS)
