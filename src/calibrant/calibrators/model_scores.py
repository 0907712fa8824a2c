"""Out-of-fold scores of a classifier, as log-probabilities of all classes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from calibrant._border.checks import as_log_probabilities, as_probabilities
from calibrant._border.numerals import counted
from calibrant._border.types import FloatArray, IntArray
from calibrant._border.warn import warn
from calibrant.exceptions import InputError

Response = Literal["predict_proba", "predict_log_proba", "decision_function"]


class Fold(NamedTuple):
    """Rows, and their scores from an estimator that was trained without them."""

    rows: IntArray
    log_probs: FloatArray
    n_unknown: int
    """Number of further rows, whose classes the estimator did not see."""


def score_fold(
    estimator: Any,
    X: object,
    labels: NDArray[np.generic],
    split: tuple[IntArray, IntArray],
    params: Mapping[str, object],
    scoring: tuple[NDArray[np.generic], Response],
) -> Fold:
    """Train an estimator on the first part of a split and score the second.

    Of the arguments of `fit`, `params`, those with n entries are restricted to the training rows. `scoring` holds all
    classes, ascending, and the name of the scoring method.
    """
    train, test = split
    n_rows = len(labels)
    cut = {name: _safe_indexing(v, train) if _length(v) == n_rows else v for name, v in params.items()}
    estimator.fit(_safe_indexing(X, train), labels[train], **cut)
    seen = np.isin(labels[test], estimator.classes_)
    rows = test[seen]
    if not len(rows):
        return Fold(rows, np.empty((0, len(scoring[0]))), len(test))
    return Fold(rows, class_log_probs(estimator, _safe_indexing(X, rows), *scoring), len(test) - len(rows))


def gathered(folds: Sequence[Fold]) -> tuple[IntArray, FloatArray]:
    """Return the rows of all folds and their scores, and warn how many rows could not be scored."""
    rows = np.concatenate([fold.rows for fold in folds])
    n_unknown = sum(fold.n_unknown for fold in folds)
    if not len(rows):
        raise InputError(
            "every class must be both in the training rows and in the test rows of some fold, but none is. Use fewer "
            'folds, or train the estimator first and pass cv="prefit" with other rows.'
        )
    if n_unknown:
        warn(
            f"the calibrator is fitted without {counted(n_unknown)} whose class does not occur in the training rows of "
            "the fold. Use fewer folds, or stratified ones."
        )
    return rows, np.concatenate([fold.log_probs for fold in folds])


def class_log_probs(estimator: Any, X: object, classes: NDArray[np.generic], response: Response) -> FloatArray:
    """Return log-probabilities of all classes, (n, K), from a trained estimator; -inf for classes it has not seen."""
    if not hasattr(estimator, response):
        raise InputError(f"{type(estimator).__name__} has no {response}. Choose another response.")
    scores = np.asarray(getattr(estimator, response)(X))
    known = np.asarray(estimator.classes_)
    log_probs = np.zeros((len(scores), 1)) if len(known) == 1 else _log_probs(scores, len(known), response)
    if np.array_equal(known, classes):
        return log_probs
    result = np.full((len(scores), len(classes)), -np.inf)
    result[:, np.searchsorted(classes, known)] = log_probs
    return result


def _log_probs(scores: FloatArray, n_classes: int, response: Response) -> FloatArray:
    width = n_classes if scores.ndim == 2 else 2
    if width != n_classes or (scores.ndim == 2 and scores.shape[1] != n_classes):
        raise InputError(
            f"{response} must return one score for each of {n_classes} classes, but returns the shape {scores.shape}. "
            'Support vector machines need decision_function_shape="ovr".'
        )
    if response != "predict_proba":
        return as_log_probabilities(scores)[1]
    with np.errstate(divide="ignore"):
        return np.log(as_probabilities(scores)[0])


def _length(value: object) -> int | None:
    return len(value) if hasattr(value, "__len__") and not isinstance(value, str) else None
