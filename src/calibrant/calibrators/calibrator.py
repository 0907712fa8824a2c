"""The base class of all calibrators: estimators that map scores to calibrated probabilities."""

from abc import ABC, abstractmethod
from copy import copy
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import as_log_probabilities, as_probabilities, check_copies
from calibrant._border.labels import column_order
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import keep_argmax, log_softmax, softmax
from calibrant.calibrators.estimator import Estimator, check_is_fitted
from calibrant.calibrators.inputs import (
    RAW_LOGITS,
    advice_for_calibrators,
    as_raw_logits,
    check_has_logits,
    check_order,
    check_same_columns,
    columns_of,
    refuse_raw_logits,
    string_names,
    warn_of_impossible_labels,
)
from calibrant.calibrators.names import CALIBRATORS
from calibrant.calibrators.operations import Value, check_own
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions

Kind = Literal["parametric", "binning", "isotonic", "ensemble", "composition"]
Level = Literal["high", "medium", "low"]
"""Level of the data efficiency, or of the expressiveness, of a calibrator."""


class Calibrator(Estimator, ABC):
    """Base of all calibrators; a subclass defines `_fit` and `_apply`, both on log-probabilities.

    The constructor argument `scores` states what `fit` and `predict_proba` are given: "probs" or "logits", "raw" for
    methods that accept a ranker's scores, or "raw-logits" for methods that use the offset common to the logits of a
    row. It is never guessed. Two classes may be given as one column, the probability or log-odds of class 1.

    A calibrator inside another one is called through `learn` and `transform`, which exchange log-probabilities and
    ignore `scores`. They refuse "raw-logits", because log-probabilities no longer have the offsets.

    Attributes
    ----------
    kind : {"parametric", "binning", "isotonic", "ensemble", "composition"}
    preserves_argmax : bool
        Whether the most probable class of a row never changes.
    n_parameters : str
        Number of learnt parameters, for K classes.
    data_efficiency, expressiveness : {"high", "medium", "low"}
        "high" if few rows suffice, and "high" if many shapes of miscalibration can be repaired.
    use_when : str
        Advice in one sentence.
    accepts_raw_logits : bool
        Whether `scores="raw-logits"` is supported: logits as a network computes them, (n, K), not normalised.
    sensitive_to_zeros : bool
        Whether observed labels of probability 0 dominate the fit, because it depends on their logarithm.
    classes_ : ndarray of shape (K,)
        Names of the classes, in the order of the columns of an array.
    feature_names_in_ : ndarray of str
        Column names of the data frame that `fit` was given, if all are strings. A later data frame must have the same
        names in the same order; an array has no names and is not checked.
    """

    kind: ClassVar[Kind]
    preserves_argmax: bool
    n_parameters: ClassVar[str]
    data_efficiency: ClassVar[Level]
    expressiveness: ClassVar[Level]
    use_when: ClassVar[str]
    accepts_raw_logits: ClassVar[bool] = False
    sensitive_to_zeros: ClassVar[bool] = False
    scores: str
    classes_: NDArray[np.generic]
    feature_names_in_: NDArray[np.generic]

    @abstractmethod
    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn the attributes, whose names end in an underscore; weights are positive."""

    @abstractmethod
    def _apply(self, log_probs: FloatArray) -> FloatArray:
        """Return calibrated log-probabilities, of shape (n, K), up to an additive constant per row."""

    def operations(self, x: Value, k: int) -> Value:
        """Return `_apply` as operations on log-probabilities of k classes, for export."""
        check_own(self, "_operations")
        return self._operations(x, k)

    def _operations(self, x: Value, k: int) -> Value:
        """Express `_apply` in terms of `Value`."""
        raise NotImplementedError

    def known_name(self) -> str:
        """Return its name in `CALIBRATORS`, or "" if it has none."""
        return CALIBRATORS.name_of(self)

    def fit(
        self, scores: object, labels: object = None, sample_weight: object = None, *, classes: object = None
    ) -> Self:
        """Learn the map from scores and observed labels, or from predictions that hold both.

        Parameters
        ----------
        scores : array-like of shape (n, K) or (n,), or Predictions
        labels : array-like of shape (n,)
            As for `Predictions`; 0 or 1 if the scores are raw. Leave it out if `scores` are `Predictions`.
        sample_weight : array-like of shape (n,), optional
            A row of weight w counts as w copies, as in scikit-learn; 0 leaves it out.
        classes : sequence, optional
            Names of the K classes, as for `Predictions`; a class without a row is kept.
        """
        given = scores
        if isinstance(scores, Predictions):
            self._check_alone((labels, sample_weight, classes))
            check_copies(scores.weights)
            predictions, inputs, given = scores, scores.log_probs, scores.probs
        else:
            kind = self._kind()
            if kind == "raw":
                return self._fit_raw(scores, labels, sample_weight, classes)
            check_copies(sample_weight)
            build = Predictions if kind == "probs" else Predictions.from_logits
            with advice_for_calibrators():
                predictions = build(scores, labels, sample_weight, classes)
                inputs = as_raw_logits(scores, predictions.classes) if kind == RAW_LOGITS else predictions.log_probs
        self._remember_columns(given)
        self.classes_ = np.array(predictions.classes)
        warn_of_impossible_labels(self, predictions.log_probs, predictions.labels, predictions.weights)
        return self.learn_from(inputs, predictions.labels, predictions.weights)

    def _fit_raw(self, scores: object, labels: object, sample_weight: object, classes: object) -> Self:
        """Learn the map from a ranker's scores, where `_kind` accepts them."""
        raise NotImplementedError

    def _check_alone(self, others: tuple[object, ...]) -> None:
        """Refuse anything beside predictions, and scores that predictions do not hold."""
        if any(other is not None for other in others):
            raise TypeError(
                "Predictions already hold labels, weights and classes: pass nothing else, as in fit(predictions)."
            )
        if self._kind() not in ("probs", "logits"):
            raise InputError(
                f'scores="{self.scores}" cannot be derived from Predictions, which hold probabilities. Pass the two '
                "arrays instead: fit(scores, labels)."
            )

    def learn(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> Self:
        """Learn the map from checked log-probabilities, (n, K), and class indices."""
        check_has_logits(self)
        return self.learn_from(log_probs, labels, weights)

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def learn_from(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> Self:
        """Learn the map from the input of `_fit`: checked log-probabilities, or raw logits with that `scores`."""
        used = weights > 0
        if not used.all():
            log_probs, labels, weights = log_probs[used], labels[used], weights[used]
        self._fit(log_probs, labels, weights)
        return self

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def learn_again(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> Self:
        """Learn from rows that resemble those of the last fit, whose result may serve as the starting point.

        Weights are positive. The result is that of `learn`, up to the tolerance of the search.
        """
        self._fit(log_probs, labels, weights)
        return self

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def predict_proba(self, scores: object) -> FloatArray:
        """Return calibrated probabilities for scores or predictions, of shape (n, K); rows sum to 1."""
        check_is_fitted(self)
        given, log_probs = self._read(scores)
        self._check_classes(log_probs)
        scores = self._apply(log_probs)
        return self._kept(given, softmax(scores, out=_buffer(scores, log_probs)))

    def predict(self, scores: object) -> NDArray[np.generic]:
        """Return the most probable class of every row."""
        best = self.predict_proba(scores).argmax(axis=1)
        return self.classes_[best]

    def transform(self, log_probs: FloatArray) -> FloatArray:
        """Return calibrated log-probabilities, normalised, for log-probabilities."""
        check_has_logits(self)
        return self.transform_from(log_probs)

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def transform_from(self, log_probs: FloatArray) -> FloatArray:
        """Return the same for the input of `_apply`: log-probabilities, or raw logits with that `scores`."""
        scores = self._apply(log_probs)
        return self._kept(log_probs, log_softmax(scores, out=_buffer(scores, log_probs)))

    def _read(self, scores: object) -> tuple[FloatArray, FloatArray]:
        """Return the given scores, (n, K), and their log-probabilities.

        Both are needed to keep the order of classes: nearly equal probabilities can have the same logarithm.
        """
        kind = self._kind()
        if isinstance(scores, Predictions) and kind in ("probs", "logits"):
            check_order(scores.classes, self.classes_.tolist(), "classes of predictions")
            return (scores.probs if kind == "probs" else scores.log_probs), scores.log_probs
        order = self._order_of_columns(scores)
        if kind == RAW_LOGITS:
            logits = as_raw_logits(scores)
            logits = logits if order is None else logits.take(order, axis=1)
            return logits, logits
        if kind == "logits":
            _, log_probs, _ = as_log_probabilities(scores)
            log_probs = log_probs if order is None else log_probs.take(order, axis=1)
            return log_probs, log_probs
        with advice_for_calibrators():
            probs, _ = as_probabilities(scores)
        probs = probs if order is None else probs.take(order, axis=1)
        with np.errstate(divide="ignore"):
            return probs, np.log(probs)

    def _remember_columns(self, scores: object) -> None:
        """Store the column names of a data frame, and remove those of an earlier fit."""
        self.__dict__.pop("feature_names_in_", None)
        names = string_names(columns_of(scores))
        if names is not None:
            self.feature_names_in_ = names

    def _order_of_columns(self, scores: object) -> list[int] | None:
        """Return the column of each class, or None if the columns are in order; refuse columns other than in `fit`."""
        columns = columns_of(scores)
        if columns is None:
            return None
        classes = self.classes_.tolist()
        if string_names(columns) is None or not hasattr(self, "feature_names_in_"):
            check_order(columns, classes, "columns of scores")
            return None
        check_same_columns(columns, self.feature_names_in_.tolist())
        return column_order(columns, tuple(classes))

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def calibrated(self, probs: FloatArray, log_probs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return calibrated probabilities and their logarithms."""
        self._check_classes(log_probs)
        log_probs = self.transform_from(log_probs)
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
        if isinstance(self.scores, str) and self.scores == RAW_LOGITS:
            self.check_raw_logits()
        elif self.scores not in ("probs", "logits"):
            others = f', or "{RAW_LOGITS}"' if self.accepts_raw_logits else ""
            raise InputError(f'scores must be "probs" or "logits"{others}, but is {self.scores!r}.')
        return self.scores

    def check_raw_logits(self) -> None:
        """Refuse raw logits if the map does not depend on their offsets."""
        if not self.accepts_raw_logits:
            refuse_raw_logits(type(self).__name__)


def _buffer(scores: FloatArray, log_probs: FloatArray) -> FloatArray | None:
    """Return the scores as a buffer for results if nothing else reads them, which saves an allocation."""
    fresh = scores is not log_probs and scores.base is None and scores.flags.writeable and scores.flags.c_contiguous
    return scores if fresh else None


class WarmStartCalibrator(Calibrator):
    """Base of the calibrators whose search can start from an earlier fit; a subclass defines `_search`."""

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self._search(log_probs, labels, weights, None)

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def learn_again(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> Self:
        """Learn from rows that resemble those of the last fit; the search starts at its result."""
        self._search(log_probs, labels, weights, copy(self))
        return self

    @abstractmethod
    def _search(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray, near: Self | None) -> None:
        """Learn the attributes; the search may start at those of `near`, a fit to similar rows."""


def are_calibrators(members: object) -> bool:
    """Return whether it is a list of at least one calibrator."""
    return isinstance(members, list) and len(members) > 0 and all(isinstance(m, Calibrator) for m in members)
