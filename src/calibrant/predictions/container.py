"""The container of predicted class probabilities and observed labels."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, Self

import numpy as np

from calibrant._border import checks, suspicions
from calibrant._border import labels as label_rules
from calibrant._border.convert import Raw, convert
from calibrant._border.types import BoolArray, FloatArray, IntArray, RowIndex
from calibrant._border.warn import warn
from calibrant.exceptions import InputError
from calibrant.predictions.rows import Rows, read_only

_CACHED = ("log_probs", "predicted", "copies")
"""Cached arrays with one entry per row that do not depend on the labels."""

_KEPT_CELLS = 2_000_000
"""Views of single classes are kept for matrices up to this size: they take 24 bytes per probability."""


class Classifier(Protocol):
    """A fitted classifier with scikit-learn's interface."""

    @property
    def classes_(self) -> Iterable[Hashable]:
        """The classes, in the order of the columns."""

    def predict_proba(self, X: Any, /) -> object:
        """Return probabilities, (n, K)."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Predictions(Rows):
    """Predicted class probabilities together with the observed labels.

    Everything is checked here, once; the arrays inside are float64, read-only copies.

    Parameters
    ----------
    probs : array-like of shape (n, K) or (n,)
        Predicted probabilities, one row per sample. One column, or one dimension, means the probability of
        class 1. Rows that sum to 1 within 1e-3 (half precision: 2e-2) are renormalised exactly.
    labels : array-like of shape (n,)
        Observed classes: integers 0 to K - 1, booleans, names found in `classes`, or one-hot rows.
    weights : array-like of shape (n,), optional
        Non-negative weights of the rows. They are relative: a constant factor changes no metric, test or limit, and a
        row of weight 0 counts as absent. If the largest is above 1e100 or below 1e-100, all are divided by it.
    classes : sequence of length K, optional
        Names of the classes in the order of the columns. By default the column names of a data frame, else
        0 to K - 1; a data frame with the same names in another order is rearranged. Whole numbers are matched
        with the labels by value, and names may be given beside labels 0 to K - 1.
    positive : optional
        With one column of probabilities, the label of class 1: ``positive="yes"`` where labels are "yes" and "no".
    renormalise : bool, default=False
        Accept rows of non-negative numbers with any positive sum and divide them by it.

    Attributes
    ----------
    probs : ndarray of shape (n, K)
    labels : ndarray of shape (n,)
        Class indices 0 to K - 1.
    weights : ndarray of shape (n,)
        Ones if no weights were given.
    classes : tuple of length K

    Warns
    -----
    DataWarning
        If the data is valid but suspicious: predictions that are 0 or 1 throughout, fewer rows than classes; from
        50 rows on, classes that hardly occur, an accuracy of 1, or one below chance.

    Examples
    --------
    >>> p = Predictions([0.2, 0.9, 0.6], labels=[0, 1, 1])
    >>> p.n_samples, p.n_classes
    (3, 2)
    >>> p.residuals[0].round(3).tolist()
    [0.2, -0.2]
    >>> Predictions([0.2, 0.9], labels=["no", "yes"], positive="no").labels.tolist()
    [1, 0]
    """

    def __init__(
        self,
        probs: object,
        labels: object,
        weights: object = None,
        classes: object = None,
        *,
        positive: Hashable | None = None,
        renormalise: bool = False,
    ) -> None:
        matrix, raw = checks.as_probabilities(probs, renormalise=renormalise)
        classes = label_rules.with_positive(classes, positive, labels, raw)
        self._validate(raw, matrix, None, labels, weights, classes)

    @classmethod
    def from_logits(
        cls,
        logits: object,
        labels: object,
        weights: object = None,
        classes: object = None,
        *,
        positive: Hashable | None = None,
    ) -> Self:
        """Build predictions from logits; the probabilities are their softmax.

        Parameters
        ----------
        logits : array-like of shape (n, K) or (n,)
            Unnormalised log-probabilities; an offset common to a row does not matter, -inf marks an impossible
            class. One column, or one dimension, means the log-odds of class 1.
        labels, weights, classes, positive
            As for `Predictions`.

        Examples
        --------
        >>> Predictions.from_logits([[0.0, 0.0], [1000.0, 0.0]], labels=[0, 0]).probs.tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        matrix, log_probs, raw = checks.as_log_probabilities(logits)
        self = cls.__new__(cls)
        classes = label_rules.with_positive(classes, positive, labels, raw)
        self._validate(raw, matrix, log_probs, labels, weights, classes)
        if suspicions.look_like_probabilities(raw.values):
            message = "these logits look like probabilities: if they are, pass them to Predictions itself."
            warn(message)
        return self

    @classmethod
    def from_estimator(cls, model: Classifier, X: object, y: object, sample_weight: object = None) -> Self:
        """Build predictions from a fitted scikit-learn classifier.

        Parameters
        ----------
        model : object with `predict_proba` and, after fitting, `classes_`
        X : array-like of shape (n, d)
            Rows that the model was not fitted to.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional

        Examples
        --------
        >>> from sklearn.dummy import DummyClassifier
        >>> model = DummyClassifier().fit([[0], [0], [0], [0]], ["no", "no", "no", "yes"])
        >>> p = Predictions.from_estimator(model, [[1], [2]], ["yes", "no"])
        >>> p.probs.tolist(), p.classes
        ([[0.75, 0.25], [0.75, 0.25]], ('no', 'yes'))
        """
        if not hasattr(model, "predict_proba"):
            raise TypeError(
                f"model must have predict_proba, but {type(model).__name__} has none. Calibrate a decision function "
                'with calibrant.calibrators.PlattScaling(scores="raw").'
            )
        return cls(model.predict_proba(X), y, sample_weight, [*model.classes_])

    @classmethod
    def _trusted(
        cls,
        probs: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        classes: tuple[Hashable, ...],
        log_probs: FloatArray | None = None,
        predicted: IntArray | None = None,
        copies: FloatArray | None = None,
    ) -> Self:
        """Build from arrays derived from checked ones, without checks or copies."""
        self = cls.__new__(cls)
        self._store(probs, labels, weights, classes, log_probs=log_probs, predicted=predicted, copies=copies)
        return self

    @classmethod
    def _joined(cls, like: Self, probs: FloatArray, observed_log_probs: FloatArray) -> Self:
        """Build from other probabilities and the log-probabilities of the labels, which cannot underflow."""
        self = cls._trusted(probs, like.labels, like.weights, like.classes)
        self.once("observed log-probabilities", lambda: read_only(observed_log_probs))
        return self

    def _validate(
        self,
        raw: Raw,
        probs: FloatArray,
        log_probs: FloatArray | None,
        labels: object,
        weights: object,
        classes: object,
    ) -> None:
        raw_labels = convert(labels, "labels")
        raw_weights = None if weights is None else convert(weights, "weights")
        for one, other in combinations(filter(None, [raw, raw_labels, raw_weights]), 2):
            checks.check_alignment(one, other)
        names = label_rules.as_classes(classes, probs.shape[1])
        order = label_rules.column_order(raw.columns, names)
        if order is not None:
            probs = probs.take(order, axis=1)
            log_probs = None if log_probs is None else log_probs.take(order, axis=1)
        indices, names = label_rules.as_labels(raw_labels, raw, probs.shape, names)
        row_weights = checks.as_weights(raw_weights, len(probs))
        predicted = _most_probable(probs)  # Before the array is read-only: NumPy would copy it first.
        self._store(probs, indices, row_weights, names, log_probs=log_probs, predicted=predicted)
        for message in suspicions.suspicions(probs, predicted, indices, row_weights, names):
            warn(message)

    def __repr__(self) -> str:
        return f"Predictions(n_samples={self.n_samples}, n_classes={self.n_classes})"

    @property
    def positive(self) -> FloatArray:
        """Probability of class 1 in binary predictions."""
        if self.n_classes != 2:
            raise InputError(
                f"binary predictions are needed here, but there are {self.n_classes} classes. "
                "Reduce them first with .top_label() or .one_vs_rest(c)."
            )
        return self.probs[:, 1]

    def top_label(self) -> Self:
        """Binary view: the confidence in the predicted class, and whether it was right.

        Examples
        --------
        >>> p = Predictions([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.0, 0.25, 0.75]], labels=[0, 2, 2])
        >>> p.top_label().positive.tolist(), p.top_label().labels.tolist()
        ([0.7, 0.5, 0.75], [1, 0, 1])
        """
        return self.once("top label", self._top_label)

    def _top_label(self) -> Self:
        confidence = self.probs[np.arange(self.n_samples), self.predicted]
        return self._binary(confidence, self.predicted == self.labels, ("wrong", "right"))

    def one_vs_rest(self, c: int) -> Self:
        """Binary view: the probability of the class with index `c`, and whether it was observed."""
        if not isinstance(c, (int, np.integer)):
            raise TypeError(f"c must be a class index, but is {c!r}. Pass p.classes.index(name) for a name.")
        if not 0 <= c < self.n_classes:
            raise InputError(f"c must be a class index from 0 to {self.n_classes - 1}, but is {c}.")
        if self.probs.size > _KEPT_CELLS:
            return self._one_vs_rest(c)
        return self.once(("one vs rest", int(c)), lambda: self._one_vs_rest(c))

    def _one_vs_rest(self, c: int) -> Self:
        return self._binary(self.probs[:, c], self.labels == c, ("rest", self.classes[c]))

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, rows: int | RowIndex) -> Self:
        """Return the predictions at these rows: a slice, indices, a mask, or one row."""
        return self.take([rows] if isinstance(rows, (int, np.integer)) else rows)

    def take(self, rows: RowIndex) -> Self:
        """Return the predictions at these rows (indices or a mask), in this order."""
        probs = self.probs[rows]
        if probs.ndim != 2 or len(probs) == 0:
            raise InputError("rows must pick at least one row, but none is left. Pass row indices or a mask.")
        cached = {name: self.__dict__[name][rows] for name in _CACHED if self.__dict__.get(name) is not None}
        return self._trusted(probs, self.labels[rows], self.weights[rows], self.classes, **cached)

    def with_labels(self, labels: IntArray) -> Self:
        """Return the same predictions with other class indices, which are trusted."""
        cached = {name: self.__dict__[name] for name in _CACHED if name in self.__dict__}
        other = self._trusted(self.probs, labels, self.weights, self.classes, **cached)
        other.__dict__["_kept"] = (self._kept[False], {})
        return other

    def _binary(self, positive: FloatArray, hits: BoolArray, classes: tuple[Hashable, ...]) -> Self:
        probs = np.empty((self.n_samples, 2))
        np.subtract(1.0, positive, out=probs[:, 0])
        probs[:, 1] = positive
        return self._trusted(probs, hits.astype(np.int64), self.weights, classes, copies=self.copies)


def check_predictions(value: object, name: str = "predictions") -> "Predictions":
    """Return the value if it is `Predictions`; otherwise raise a TypeError that says what to pass."""
    if not isinstance(value, Predictions):
        # Functions with an argument `data` also take two arrays; tell this to a caller who passed only one.
        two = ", or two arrays: labels, then probabilities" if name == "data" else ""
        raise TypeError(
            f"{name} must be Predictions, but is of type {type(value).__name__}. Pass Predictions(probs, labels){two}."
        )
    return value


def _most_probable(probs: FloatArray) -> IntArray:
    """Return the class with the largest probability in each row; the lowest index wins a tie."""
    # For two columns, a comparison takes a tenth of the time of argmax.
    return (probs[:, 1] > probs[:, 0]).astype(np.int64) if probs.shape[1] == 2 else probs.argmax(axis=1)
