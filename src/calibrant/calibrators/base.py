"""What every calibrator is: an estimator that maps scores to calibrated probabilities."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant._checks import as_log_probabilities, as_probabilities
from calibrant._convert import InputError
from calibrant._typing import FloatArray, IntArray
from calibrant.predictions import Predictions


class Calibrator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of all calibrators; a method writes `_fit` and `_apply`, both on log-probabilities.

    The constructor argument `scores` says what `fit` and `predict_proba` are given: "probs" or "logits". It is
    never guessed. Two classes may be given as one column, the probability or log-odds of class 1.

    Attributes
    ----------
    preserves_argmax : bool
        Whether the most probable class of a row can never change.
    """

    preserves_argmax: ClassVar[bool]
    scores: Literal["probs", "logits"]

    @abstractmethod
    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn names that end in an underscore."""

    @abstractmethod
    def _apply(self, log_probs: FloatArray) -> FloatArray:
        """Return calibrated log-probabilities, normalised or not."""

    def fit(self, scores: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Learn the map from scores and observed labels.

        Parameters
        ----------
        scores : array-like of shape (n, K) or (n,)
        labels : array-like of shape (n,)
            As for `Predictions`.
        sample_weight : array-like of shape (n,), optional
        """
        build = Predictions.from_logits if self._kind() == "logits" else Predictions
        predictions = build(scores, labels, sample_weight)
        self.classes_ = np.array(predictions.classes)
        self._fit(predictions.log_probs, predictions.labels, predictions.weights)
        return self

    def predict_proba(self, scores: Any) -> FloatArray:
        """Return calibrated probabilities, of shape (n, K), whose rows sum to 1."""
        check_is_fitted(self)
        if self._kind() == "logits":
            _, log_probs, _ = as_log_probabilities(scores)
        else:
            probs, _ = as_probabilities(scores)
            with np.errstate(divide="ignore"):
                log_probs = np.log(probs)
        return self._calibrated(log_probs)[0]

    def predict(self, scores: Any) -> Any:
        """Return the most probable class of every row."""
        return self.classes_[self.predict_proba(scores).argmax(axis=1)]

    def _calibrated(self, log_probs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return calibrated probabilities and their logarithms."""
        if log_probs.shape[1] != len(self.classes_):
            raise InputError(
                f"scores must have the {len(self.classes_)} classes that the calibrator was fitted on, "
                f"but have {log_probs.shape[1]}."
            )
        probs, normalised, _ = as_log_probabilities(self._apply(log_probs))
        return probs, normalised

    def _kind(self) -> str:
        if self.scores not in ("probs", "logits"):
            raise InputError(f'scores must be "probs" or "logits", but is {self.scores!r}.')
        return self.scores


def calibrate(calibrator: Calibrator, predictions: Predictions) -> Predictions:
    """Return the predictions with calibrated probabilities and everything else as it was.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted, on other rows than these.
    predictions : Predictions

    Examples
    --------
    >>> from calibrant.calibrators import Identity
    >>> p = Predictions([0.2, 0.7], labels=[0, 1])
    >>> calibrate(Identity().fit(p.probs, p.labels), p).positive.round(3).tolist()
    [0.2, 0.7]
    """
    check_is_fitted(calibrator)
    probs, log_probs = calibrator._calibrated(predictions.log_probs)  # noqa: SLF001 (one module)
    return Predictions._trusted(  # noqa: SLF001 (rows are normalised by construction)
        probs, predictions.labels, predictions.weights, predictions.classes, log_probs
    )
