"""Convert and check raw scores of a ranker and binary labels."""

import numpy as np

from calibrant._border.checks import as_floats, as_weights, check_alignment, check_length
from calibrant._border.convert import Raw, convert
from calibrant._border.types import BoolArray, FloatArray
from calibrant.exceptions import InputError


def as_ranking(scores: object, labels: object, weights: object) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return the scores, whether each row is positive, and the weights, of the rows with positive weight."""
    raw_scores, raw_labels = convert(scores, "scores"), convert(labels, "labels")
    raw_weights = None if weights is None else convert(weights, "weights")
    check_alignment(raw_scores, raw_labels)
    values = _as_column(raw_scores)
    positive = _as_binary(raw_labels, len(values))
    mass = as_weights(raw_weights, len(values))
    if raw_weights is not None:
        check_alignment(raw_scores, raw_weights)
    present = mass > 0
    found = np.unique(positive[present]).astype(int).tolist()
    if len(found) < 2:
        raise InputError(
            f"labels must hold both classes, but all rows with positive weight are {found[0]}. "
            "With one class there is no ROC curve and no AUC: add rows of the other."
        )
    return values[present], positive[present], mass[present]


def as_scores(scores: object) -> FloatArray:
    """Return one score per row: any number except NaN."""
    return _as_column(convert(scores, "scores"))


def _as_column(raw: Raw) -> FloatArray:
    values = as_floats(raw)
    if values.shape[1] != 1:
        raise InputError(
            f"scores must be one number per row, but have shape {raw.values.shape}. Pass the column of one class."
        )
    missing = np.isnan(values[:, 0])
    if missing.any():
        raise InputError(
            f"scores must not be NaN, but row {int(missing.argmax())} is nan "
            f"({int(missing.sum())} of {len(values)} rows). Drop or repair such rows."
        )
    return values[:, 0]


def _as_binary(raw: Raw, n_samples: int) -> BoolArray:
    check_length(raw, n_samples)
    values = raw.values.ravel() if raw.values.size == n_samples else raw.values
    if values.ndim != 1:
        raise InputError(f"labels must have one entry per row, but have shape {raw.values.shape}. Pass the classes.")
    bad = ~((values == 0) | (values == 1))
    if np.any(bad):
        row = int(np.argmax(bad))
        raise InputError(
            f"labels must be 0 or 1, or booleans, but row {row} is {values.tolist()[row]!r:.60}. "
            "Pass labels == name, with the name of the positive class."
        )
    return values == 1
