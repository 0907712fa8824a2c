"""Observed labels that were impossible by the predictions."""

import warnings
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import DataWarning

if TYPE_CHECKING:
    from calibrant.calibrators.base import Calibrator


def warn_of_impossible_labels(
    calibrator: "Calibrator", log_probs: FloatArray, labels: IntArray, weights: FloatArray
) -> None:
    """Warn that rows whose label had probability 0 dominate the map, if the calibrator is sensitive to them."""
    if not calibrator.sensitive_to_zeros:
        return
    impossible = (log_probs[np.arange(len(labels)), labels] == -np.inf) & (weights > 0)
    if not impossible.any():
        return
    name, count = known_name(calibrator), int(impossible.sum())
    by_name = f'"guard>{name}", ' if name else ""
    rows = f"row {int(impossible.argmax())} has" if count == 1 else f"{count} of {len(labels)} rows have"
    message = (
        f"{rows} an observed label of probability 0. Its logarithm counts as -708 here, so such rows dominate the "
        f"map, which is then poor for all others. Put a guard before it: {by_name}"
        f"Compose([LaplaceGuard(), {calibrator!r:.80}])."
    )
    warnings.warn(message, DataWarning, stacklevel=3)


def known_name(calibrator: "Calibrator") -> str:
    """Return the name of a calibrator in `CALIBRATORS`, and of a composition those of its stages; "" for others.

    Examples
    --------
    >>> from calibrant.calibrators import OrderPreserving, parse
    >>> known_name(OrderPreserving("oi")), known_name(parse("ts>beta"))
    ('iop-oi', 'ts>beta')
    """
    from calibrant.calibrators import CALIBRATORS
    from calibrant.calibrators.compose import Compose
    from calibrant.calibrators.names import THEN

    if isinstance(calibrator, Compose):
        names = [known_name(stage) for stage in calibrator.stages]
        return THEN.join(names) if all(names) else ""
    for name, build in CALIBRATORS.items():
        kind, settings = (build.func, build.keywords) if isinstance(build, partial) else (build, {})
        if kind is type(calibrator) and all(getattr(calibrator, k) == v for k, v in settings.items()):
            return name
    return ""
