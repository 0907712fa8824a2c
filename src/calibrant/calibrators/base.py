"""What every calibrator is: an estimator that maps scores to calibrated probabilities."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calibrant._checks import as_log_probabilities, as_probabilities
from calibrant._convert import InputError
from calibrant._labels import column_order
from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.blocks import keep_argmax, log_softmax, softmax
from calibrant.calibrators.given import check_order, check_same_columns, columns_of, texts, words_of_calibrators
from calibrant.predictions import Predictions

Scores = Literal["probs", "logits"]
"""What a calibrator is given."""


class Calibrator(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of all calibrators; a method writes `_fit` and `_apply`, both on log-probabilities.

    The constructor argument `scores` says what `fit` and `predict_proba` are given: "probs" or "logits", and "raw" for
    the methods that accept a ranker's scores. It is never guessed. Two classes may be given as one column, the
    probability or log-odds of class 1.

    A calibrator inside another one is called through `learn` and `transform`, which exchange log-probabilities and
    do not look at `scores`.

    Attributes
    ----------
    kind : {"parametric", "binning", "isotonic", "ensemble", "composition"}
    preserves_argmax : bool
        Whether the most probable class of a row can never change.
    n_parameters : str
        Numbers learnt, for K classes.
    data_efficiency, expressiveness : {"high", "medium", "low"}
        How few rows it needs, and how many shapes of miscalibration it can repair.
    use_when : str
        Advice in one sentence.
    classes_ : ndarray of shape (K,)
        Names of the classes, in the order of the columns of an array.
    feature_names_in_ : ndarray of str
        Names of the columns that `fit` was given, if it was a data frame and all of them are strings. A later data
        frame must have the same names in the same order; an array has no names, and is not checked.
    """

    kind: ClassVar[Literal["parametric", "binning", "isotonic", "ensemble", "composition"]]
    preserves_argmax: bool
    n_parameters: ClassVar[str]
    data_efficiency: ClassVar[Literal["high", "medium", "low"]]
    expressiveness: ClassVar[Literal["high", "medium", "low"]]
    use_when: ClassVar[str]
    scores: str
    classes_: Any
    feature_names_in_: Any

    @abstractmethod
    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn names that end in an underscore; no weight is 0."""

    @abstractmethod
    def _apply(self, log_probs: FloatArray) -> FloatArray:
        """Return calibrated log-probabilities, of shape (n, K), up to a number that is added to a row."""

    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, *, classes: Any = None) -> Self:
        """Learn the map from scores and observed labels.

        Parameters
        ----------
        scores : array-like of shape (n, K) or (n,)
        labels : array-like of shape (n,)
            As for `Predictions`.
        sample_weight : array-like of shape (n,), optional
        classes : sequence, optional
            Names of the K classes, as for `Predictions`; a class without a row is kept.
        """
        build = Predictions.from_logits if self._kind() == "logits" else Predictions
        with words_of_calibrators():
            predictions = build(scores, labels, sample_weight, classes)
        self._remember_columns(scores)
        self.classes_ = np.array(predictions.classes)
        return self.learn(predictions.log_probs, predictions.labels, predictions.weights)

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def learn(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> Self:
        """Learn the map from checked log-probabilities, (n, K), and class indices."""
        used = weights > 0
        if not used.all():
            log_probs, labels, weights = log_probs[used], labels[used], weights[used]
        self._fit(log_probs, labels, weights)
        return self

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def predict_proba(self, scores: Any) -> FloatArray:
        """Return calibrated probabilities, of shape (n, K), whose rows sum to 1."""
        check_is_fitted(self)
        given, log_probs = self._read(scores)
        self._check_classes(log_probs)
        scores = self._apply(log_probs)
        return self._kept(given, softmax(scores, out=_room(scores, log_probs)))

    def predict(self, scores: Any) -> Any:
        """Return the most probable class of every row."""
        best = self.predict_proba(scores).argmax(axis=1)
        return self.classes_[best]

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def transform(self, log_probs: FloatArray) -> FloatArray:
        """Return calibrated log-probabilities, normalised, for log-probabilities."""
        scores = self._apply(log_probs)
        return self._kept(log_probs, log_softmax(scores, out=_room(scores, log_probs)))

    def _read(self, scores: Any) -> tuple[FloatArray, FloatArray]:
        """Return what was given, (n, K), and its log-probabilities: neighbouring numbers may share a logarithm."""
        order = self._order_of_columns(scores)
        if self._kind() == "logits":
            _, log_probs, _ = as_log_probabilities(scores)
            log_probs = log_probs if order is None else log_probs.take(order, axis=1)
            return log_probs, log_probs
        with words_of_calibrators():
            probs, _ = as_probabilities(scores)
        probs = probs if order is None else probs.take(order, axis=1)
        with np.errstate(divide="ignore"):
            return probs, np.log(probs)

    def _remember_columns(self, scores: Any) -> None:
        """Keep the names of a data frame's columns, and forget those of an earlier fit."""
        self.__dict__.pop("feature_names_in_", None)
        names = texts(columns_of(scores))
        if names is not None:
            self.feature_names_in_ = names

    def _order_of_columns(self, scores: Any) -> list[int] | None:
        """Return where `fit` found each class among the same columns, None if in place; others are refused."""
        columns = columns_of(scores)
        if columns is None:
            return None
        classes = self.classes_.tolist()
        if texts(columns) is None or not hasattr(self, "feature_names_in_"):
            check_order(columns, classes, "columns of scores")
            return None
        check_same_columns(columns, self.feature_names_in_.tolist())
        return column_order(columns, tuple(classes))

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def _calibrated(self, probs: FloatArray, log_probs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return calibrated probabilities and their logarithms."""
        self._check_classes(log_probs)
        log_probs = self.transform(log_probs)
        return self._kept(probs, keep_argmax(log_probs, np.exp(log_probs))), log_probs

    def _kept(self, before: FloatArray, after: FloatArray) -> FloatArray:
        return keep_argmax(before, after) if self.preserves_argmax else after

    def _check_classes(self, log_probs: FloatArray) -> None:
        if log_probs.shape[1] != len(self.classes_):
            raise InputError(
                f"scores must have the {len(self.classes_)} classes that the calibrator was fitted on, "
                f"but have {log_probs.shape[1]}."
            )

    def _kind(self) -> str:
        if self.scores not in ("probs", "logits"):
            raise InputError(f'scores must be "probs" or "logits", but is {self.scores!r}.')
        return self.scores


def _room(scores: FloatArray, log_probs: FloatArray) -> FloatArray | None:
    """Return the scores as room for results if nobody else reads them: a new large array costs more than arithmetic."""
    fresh = scores is not log_probs and scores.base is None and scores.flags.writeable and scores.flags.c_contiguous
    return scores if fresh else None


def normalised(scores: FloatArray) -> FloatArray:
    """Return the log-softmax of every row; -inf marks an impossible class."""
    return log_softmax(scores)


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
    check_order(predictions.classes, calibrator.classes_.tolist(), "classes of predictions")
    probs, log_probs = calibrator._calibrated(predictions.probs, predictions.log_probs)  # noqa: SLF001 (one module)
    return Predictions._trusted(  # noqa: SLF001 (rows are normalised by construction)
        probs, predictions.labels, predictions.weights, predictions.classes, log_probs
    )
