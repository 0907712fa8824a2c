"""What commands print about a calibrator and the rows that it was fitted on."""

import json as json_text
import math
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._border.numerals import as_given, few_percent, significant
from calibrant._border.types import FloatArray
from calibrant._border.warn import warn
from calibrant.calibrators.estimator import Estimator
from calibrant.calibrators.store import StoredCalibrator
from calibrant.cli.printing import show
from calibrant.forecasts import Distribution, Forecasts

OPTIMISTIC = (
    'Both are computed on the rows that the calibrator was fitted on, so "after" is too optimistic. Apply it '
    "to other rows and evaluate those."
)

SOLVER = ("gradient_norm", "n_iter", "converged")
"""What was learnt about the solver, which a reader needs only where it has not converged."""

DEEPEST = 2
"""Deepest indentation of a part that is described with its numbers; deeper ones are named only."""

LONGEST = 8
"""Longest list of numbers that is printed in full."""


def print_fitted(heading: str, lines: Iterable[str], record: Mapping[str, Any], out: Path, *, json: bool) -> None:
    """Print what was learnt and the metrics on the rows of the fit; with `json`, the record instead."""
    if json:
        show.print_json(record)
        return
    measured = record["in_sample"]
    before, after = measured["before"], measured["after"]
    show.print_heading(heading)
    show.print_lines(lines)
    show.print_heading("On the same rows")
    values = [(name, *(significant(when[name].value, 4) for when in (before, after))) for name in before]
    show.print_table(("metric", "before", "after"), values)
    if "changed" in measured:
        show.print_lines([f"{few_percent(measured['changed'])} of the predicted classes have changed."])
    show.print_lines([OPTIMISTIC])
    show.print_path("calibrator", out)


def fingerprint(probs: FloatArray) -> str:
    """Return a fingerprint that distinguishes sets of predictions."""
    return sha256(np.ascontiguousarray(probs, dtype="<f8").data).hexdigest()


def are_rows_of_fit(stored: StoredCalibrator, rows: str | None) -> bool:
    """Whether the rows with this fingerprint are those of the fit; False if there is no fingerprint."""
    return rows is not None and stored.details.get("fingerprint") == rows


def warn_if_fitted_here(stored: StoredCalibrator, rows: str | None) -> None:
    """Warn if the rows with this fingerprint are those of the fit."""
    if are_rows_of_fit(stored, rows):
        message = "the calibrator was fitted on these rows, so its results on them look better than on new rows."
        warn(message)


def law_fingerprint(law: Distribution) -> str | None:
    """Return a fingerprint that distinguishes sets of forecasts; None if all forecasts are equal."""
    numbers = law.draws if hasattr(law, "draws") else law.values if hasattr(law, "values") else None
    numbers = np.column_stack([law.mean(), law.sd()]) if numbers is None else numbers
    return None if np.all(numbers == numbers[:1]) else fingerprint(numbers)


def forecast_details(method: str, forecasts: Forecasts) -> dict[str, object]:
    """Return the details of a fit that are stored with the calibrator."""
    law = forecasts.distribution
    return {
        "method": method,
        "law": type(law).__name__,
        "n_samples": forecasts.n_samples,
        "fingerprint": law_fingerprint(law),
    }


def learnt(calibrator: object) -> dict[str, object]:
    """Return the learnt values of a calibrator, and of those inside it, as numbers and texts."""
    result: dict[str, object] = {"class": type(calibrator).__name__}
    for name, value in vars(calibrator).items():
        plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        if not name.endswith("_") or name in ("classes_", "dim_"):
            continue
        if isinstance(plain, Estimator):
            result[name[:-1]] = learnt(plain)
        elif isinstance(plain, list) and any(isinstance(entry, Estimator) for entry in plain):
            result[name[:-1]] = [learnt(entry) for entry in plain[:LONGEST]]
        else:
            result[name[:-1]] = _short(value, plain)
    return result


def _short(value: ArrayLike, plain: ArrayLike) -> object:
    """Return a few numbers as they are, and for more of them their shape."""
    numbers = np.atleast_1d(plain)
    if numbers.size > LONGEST:
        return f"{' x '.join(str(n) for n in np.shape(value))} numbers"
    if numbers.dtype.kind == "f" and not all(math.isfinite(number) for number in numbers.ravel()):
        return json_text.dumps(plain).replace("Infinity", "inf")
    return plain


def describe(found: Mapping[str, object], indent: str = "") -> Iterator[str]:
    """Yield lines that describe what was learnt; of steps that converged, without the steps of the solver."""
    yield f"{indent}{found['class']}"
    if len(indent) > DEEPEST:
        return
    for name, value in found.items():
        if name in SOLVER and found.get("converged"):
            continue
        if isinstance(value, dict):
            yield from describe(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for entry in value:
                yield from describe(entry, indent + "  ")
        elif name != "class":
            yield f"{indent}  {name.replace('_', ' ')}: {_text(value)}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return as_given(value)
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
