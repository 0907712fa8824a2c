"""Two arrays in place of `Predictions`, in the order of scikit-learn: first the labels, then the probabilities."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import bad_rows
from calibrant._border.convert import Raw, convert, is_missing
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions

Result = TypeVar("Result")


def as_data(data: object, y_prob: object = None, sample_weight: object = None, positive: object = None) -> object:
    """Return predictions or forecasts as they are, or build predictions from two arrays.

    Parameters
    ----------
    data : Predictions, Forecasts, or array-like of shape (n,)
        With `y_prob`, the labels: 0 to K - 1, or other values, whose sorted order is that of the columns of `y_prob`.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities; one column is that of the second class.
    sample_weight : array-like of shape (n,), optional
    positive : optional
        The class whose probability a single column holds; required if the labels are text. By default the second of
        the sorted labels.

    Examples
    --------
    >>> as_data(["no", "yes", "yes"], [[0.8, 0.2], [0.1, 0.9], [0.4, 0.6]]).classes
    ('no', 'yes')
    >>> as_data(["dog", "cat", "cat"], [0.2, 0.9, 0.6], positive="cat").classes
    ('dog', 'cat')
    """
    if isinstance(data, (Predictions, Forecasts)):
        if y_prob is not None or sample_weight is not None or positive is not None:
            raise TypeError(
                f"{type(data).__name__} already hold labels and weights: pass them alone, with settings by name, "
                "such as rng=."
            )
        return data
    if isinstance(sample_weight, str):
        raise TypeError(
            f"sample_weight must be an array, but is {sample_weight!r}. Pass names by keyword, such as metrics=, test= "
            "or method=."
        )
    if y_prob is None:
        return data  # The callee refuses it by name.
    labels, probs = convert(data, "y_true"), convert(y_prob, "y_prob")
    if _look_like_probabilities(labels) and not _look_like_probabilities(probs):
        raise InputError("y_true must be the labels and y_prob the probabilities, but they look swapped. Swap them.")
    if positive is not None:
        return Predictions(y_prob, data, sample_weight, positive=positive)
    return Predictions(y_prob, data, sample_weight, _classes(labels, probs))


def takes_two_arrays(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let a function of predictions also be called with (y_true, y_prob, ..., sample_weight=None)."""

    @wraps(function)
    def called(data: object, *others: object, sample_weight: object = None, **settings: object) -> Result:
        if "y_prob" in settings:
            return function(as_data(data, settings.pop("y_prob"), sample_weight), *others, **settings)
        if others and _is_array(data) and _is_array(others[0]):
            return function(as_data(data, others[0], sample_weight), *others[1:], **settings)
        return function(as_data(data, None, sample_weight), *others, **settings)

    return called


def takes_labels_first(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let a function of named predictions also be called with (y_true, {name: y_prob}, ..., sample_weight=None)."""

    @wraps(function)
    def called(models: object, *others: object, sample_weight: object = None, **settings: object) -> Result:
        by_name = others[0] if others else None
        if _is_array(models) and isinstance(by_name, Mapping):
            models = {name: as_data(models, probs, sample_weight) for name, probs in by_name.items()}
            return function(models, *others[1:], **settings)
        if sample_weight is not None:
            raise TypeError("Predictions hold their weights: sample_weight belongs to labels and arrays.")
        return function(models, *others, **settings)

    return called


def _is_array(value: object) -> bool:
    """Whether the value may be labels or probabilities, rather than settings or predictions."""
    is_container = hasattr(value, "__len__") or hasattr(value, "__array__")
    return is_container and not isinstance(value, (str, Predictions, Forecasts, Mapping))


def _look_like_probabilities(raw: Raw) -> bool:
    """Whether some numbers lie strictly between 0 and 1, as labels never do."""
    values = raw.values
    return values.dtype.kind == "f" and bool(np.any((values > 0) & (values < 1)))


def _classes(labels: Raw, probs: Raw) -> tuple[object, ...] | None:
    """Return the sorted labels, or None if they are class indices or if the columns name the classes."""
    n_classes = probs.values.shape[1] if probs.values.ndim == 2 and probs.values.shape[1] > 1 else 2
    if probs.columns is not None or labels.values.ndim != 1:
        return None
    values = labels.values
    if values.dtype.kind in "iub" and values.size and values.min() >= 0 and values.max() < n_classes:
        return None
    _refuse_missing(values)
    found = np.unique(values) if values.dtype.kind != "O" else _distinct(values)
    if found.dtype.kind == "f" and np.isin(found, np.arange(n_classes)).all():
        return None
    if len(found) != n_classes:
        raise InputError(
            f"y_true must hold all {n_classes} classes, or their indices from 0 to {n_classes - 1}, to tell which "
            f"column of y_prob belongs to which, but holds {len(found)}. Pass Predictions(y_prob, y_true, "
            "classes=[...])."
        )
    if (probs.values.ndim == 1 or probs.values.shape[1] == 1) and isinstance(found[0], str):
        name = str(found[1])
        raise InputError(
            f"y_true holds names like {name!r}, whose order does not say which class y_prob is the probability of. "
            f"Name it, as in positive={name!r} or Predictions(y_prob, y_true, positive={name!r})."
        )
    return tuple(found.tolist())


def _refuse_missing(values: NDArray[np.generic]) -> None:
    if values.dtype.kind not in "fO":
        return
    missing = np.isnan(values) if values.dtype.kind == "f" else np.array([is_missing(value) for value in values])
    if missing.any():
        row = int(missing.argmax())
        raise InputError(
            f"y_true must have no missing values, but row {row} is {values[row]} ({bad_rows(missing)}). "
            "Drop or repair them."
        )


def _distinct(values: NDArray[np.generic]) -> NDArray[np.generic]:
    try:
        return np.array(sorted(set(values.tolist())), dtype=object)
    except TypeError as error:
        raise InputError("y_true must hold labels of one kind, but holds several. Pass text or numbers.") from error
