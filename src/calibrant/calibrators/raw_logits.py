"""Raw logits, as a network computes them, with the offset per row that the softmax removes."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from calibrant._border.checks import as_floats, fail_at
from calibrant._border.convert import convert
from calibrant._border.labels import column_order
from calibrant._border.numerals import count
from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.calibrators.calibrator import Calibrator

RAW_LOGITS = "raw-logits"
"""Value of a calibrator's argument `scores` for raw logits."""

LARGEST_LOGIT = 1e6
"""Networks have no larger logits, and the squares of larger ones would cancel the digits of all others."""


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


def uses_raw_logits(calibrator: "Calibrator") -> bool:
    """Return whether a calibrator takes raw logits."""
    return bool(calibrator.scores == RAW_LOGITS)


def check_has_logits(calibrator: "Calibrator") -> None:
    """Refuse a calibrator of raw logits where only log-probabilities, without the offsets, are available."""
    if uses_raw_logits(calibrator):
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
