"""Checks of a calibrator's input: column names, raw logits, labels of probability 0, and advice for calibrators."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import as_floats, fail_at
from calibrant._border.convert import convert
from calibrant._border.labels import column_order
from calibrant._border.numerals import count
from calibrant._border.text import listing
from calibrant._border.types import FloatArray, IntArray
from calibrant._border.warn import warn
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.calibrators.calibrator import Calibrator

RAW_LOGITS = "raw-logits"
"""Value of a calibrator's argument `scores` for raw logits."""

LARGEST_LOGIT = 1e6
"""Networks have no larger logits, and the squares of larger ones would cancel the digits of all others."""


_ADVICE = {
    "Pass them to Predictions.from_logits.": 'Build the calibrator with scores="logits".',
    "Pass renormalise=True if the rows are proportions": "Divide each row by its sum if the rows are proportions",
    "Pass classes=[...] in the order of the columns of probs, or for one column positive=, the class whose probability "
    "it is.": (
        "Pass classes=[...] to fit, in the order of the columns; a search such as GridSearchCV passes it on from its "
        "own fit. Columns of predict_proba in scikit-learn are sorted: classes=np.unique(labels)."
    ),
}
"""Advice in the messages of `Predictions`, and what replaces it for users of a calibrator."""

_MAX_NAMES = 5
"""Largest number of names that a message lists."""


@contextmanager
def advice_for_calibrators() -> Iterator[None]:
    """Replace advice about the arguments of `Predictions` by advice about those of a calibrator."""
    try:
        yield
    except InputError as error:
        message = str(error)
        for theirs, ours in _ADVICE.items():
            message = message.replace(theirs, ours)
        error.args = (message,)
        raise


@np.errstate(all="ignore")
def as_raw_logits(data: object, classes: tuple[Hashable, ...] | None = None) -> FloatArray:
    """Return finite logits, (n, K), unchanged; the columns of a data frame in the order of the classes, if given."""
    raw = convert(data, "logits")
    values = as_floats(raw)
    if values.shape[1] == 1:
        raise InputError(
            "raw logits must have a column for every class, but there is one column, which has no offset to learn "
            'from. Build the calibrator with scores="logits".'
        )
    bad = ~np.isfinite(values)
    if bad.any():
        fail_at(raw, values, bad, "must be finite to be taken raw", 'With scores="logits", -inf is allowed.')
    bad = np.abs(values) > LARGEST_LOGIT
    if bad.any():
        remedy = "Divide all of them by the same number: maps of raw logits do not depend on it."
        fail_at(raw, values, bad, f"must not exceed {count(LARGEST_LOGIT)} in size to be taken raw", remedy)
    order = column_order(raw.columns, classes)
    return values if order is None else values.take(order, axis=1)


def check_has_logits(calibrator: "Calibrator") -> None:
    """Refuse a calibrator of raw logits where only log-probabilities, without the offsets, are available."""
    if calibrator.scores == RAW_LOGITS:
        raise InputError(
            f'{type(calibrator).__name__} with scores="{RAW_LOGITS}" needs the logits themselves, but was given '
            "predictions, which hold only probabilities. Call its fit(logits, labels) and predict_proba(logits), or "
            'build it with scores="logits".'
        )


def refuse_raw_logits(name: str) -> NoReturn:
    """Refuse raw logits for a map that does not depend on the offsets."""
    raise InputError(
        f"{name} is a function of the probabilities, so a number added to all logits of a row does not matter: "
        'build it with scores="logits". Raw logits are accepted by VectorScaling ("vs"), MatrixScaling ("ms"), '
        'OrderPreserving with family="diag" ("iop-diag") and OneVsRest with score="logit" ("irova").'
    )


def columns_of(scores: object) -> tuple[Hashable, ...] | None:
    """Return the column names of a data frame; None if they are 0, 1, ..., and for anything else."""
    if isinstance(scores, (np.ndarray, list, tuple)):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(scores, pass_through=True)
    except nw.exceptions.DuplicateError:  # Refused, with a remedy, when the values are read.
        return None
    if isinstance(frame, nw.LazyFrame):
        return tuple(frame.collect_schema().names())
    if not isinstance(frame, nw.DataFrame):
        return None
    names: tuple[Hashable, ...] = tuple(frame.columns)  # pandas allows any objects
    return None if names == tuple(range(len(names))) else names


def string_names(columns: Sequence[Hashable] | None) -> NDArray[np.str_] | None:
    """Return column names as scikit-learn stores them: only if all are strings."""
    if not columns or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(columns, dtype=np.str_)


def check_same_columns(columns: Sequence[Hashable], fitted: Sequence[Hashable]) -> None:
    """Refuse a data frame whose columns differ from those of the fit, or are in another order."""
    if tuple(columns) == tuple(fitted):
        return
    missing, added = set(fitted) - set(columns), set(columns) - set(fitted)
    found = [f"{_listed(names)} {end}" for names, end in ((missing, "missing"), (added, "new")) if names]
    raise InputError(
        "scores must have the columns that the calibrator was fitted on, in the same order, but "
        f"{' and '.join(found) or _first_difference(columns, fitted)}. "
        "Pass scores[list(calibrator.feature_names_in_)], or an array if the names do not matter."
    )


def check_order(names: Sequence[Hashable], classes: Sequence[Hashable], owner: str) -> None:
    """Refuse names that are the classes in another order; any other names are ignored."""
    order = column_order(tuple(names), tuple(classes))
    if order is not None and order != sorted(order):
        raise InputError(
            f"{owner} must be in the order of the classes that the calibrator was fitted on, but "
            f"{_first_difference(names, classes)}. Put them in the order of calibrator.classes_."
        )


def _listed(names: set[Hashable]) -> str:
    return f"{listing(sorted(map(str, names)), _MAX_NAMES)} {'is' if len(names) == 1 else 'are'}"


def _first_difference(names: Sequence[Hashable], others: Sequence[Hashable]) -> str:
    place = next(i for i, (name, other) in enumerate(zip(names, others, strict=True)) if str(name) != str(other))
    return f"number {place} is {names[place]!r} instead of {others[place]!r}"


def warn_of_impossible_labels(
    calibrator: "Calibrator", log_probs: FloatArray, labels: IntArray, weights: FloatArray
) -> None:
    """Warn that rows whose label had probability 0 dominate the fit, if the calibrator is sensitive to them."""
    if not calibrator.sensitive_to_zeros:
        return
    impossible = (log_probs[np.arange(len(labels)), labels] == -np.inf) & (weights > 0)
    if not impossible.any():
        return
    name, n_rows = calibrator.known_name(), int(impossible.sum())
    by_name = f'"guard>{name}", ' if name else ""
    rows = f"row {int(impossible.argmax())} has" if n_rows == 1 else f"{n_rows} of {len(labels)} rows have"
    warn(
        f"{rows} an observed label of probability 0. Its logarithm counts as -708 here, so such rows dominate the "
        f"fit, and the map is poor for all other rows. Put a guard before it: {by_name}"
        f"Compose([LaplaceGuard(), {calibrator!r:.80}])."
    )
