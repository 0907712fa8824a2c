"""The work of `calibrant apply`: read a calibrator, and write a file again with calibrated columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant._border.checks import as_log_probabilities, as_probabilities
from calibrant._border.numerals import few_percent
from calibrant._border.types import FloatArray, Progress
from calibrant._core.threads import in_order
from calibrant.calibrators.forecasts import ForecastCalibrator
from calibrant.calibrators.inputs import RAW_LOGITS, as_raw_logits
from calibrant.calibrators.store import StoredCalibrator, load_with_details
from calibrant.cli.options.reading import EitherSource, names_in, refuse_same
from calibrant.cli.printing import show
from calibrant.cli.printing.fitted import fingerprint, law_fingerprint, warn_if_fitted_here
from calibrant.cli.work.intervals import COLUMN
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution
from calibrant.groups import GroupBoosting
from calibrant.groups.store import holds_groups
from calibrant.groups.store import load_with_details as load_groups
from calibrant.io import check_writable
from calibrant.io.rewrite import rewrite_forecasts, rewrite_probabilities
from calibrant.predictions import row_blocks

if TYPE_CHECKING:
    from calibrant.cli.work.base_rates import Shift

STEPS = 2
"""Steps before a file is written again: its forecasts are read, and calibrated."""


def apply_to(
    file: Path,
    calibrator: Path | None,
    rates: tuple[str | None, str | None],
    out: Path,
    source: EitherSource,
    *,
    replace: bool,
) -> None:
    """Write a copy of the file with calibrated columns, moved from the second of the rates to the first."""
    stored = None if calibrator is None else _stored(calibrator, out)
    check_writable(out)
    if stored is not None and (isinstance(stored.calibrator, ForecastCalibrator) or source.are_forecasts):
        _check_kind(stored, source, rates[0])
        _apply_forecasts(file, stored, out, source, replace=replace)
        return
    _check_classes(stored, source)
    names = names_in(source.classes) or (None if stored is None else stored.calibrator.classes_.tolist())
    (base_rate, trained_rate), shift = rates, None
    if base_rate is not None:
        from calibrant.cli.work.base_rates import Shift

        fitted_to = None if stored is None else stored.details.get("class_shares")
        shift = Shift.of(base_rate, trained_rate, fitted_to, names)
    work = _Work(stored, shift, source)
    with show.progress_bar("calibrating", quiet=source.silent, then="writing") as progress:
        columns = rewrite_probabilities(
            file,
            out,
            lambda values, features=None: work.calibrated(values, features, progress),
            others=() if stored is None else [each.name for each in getattr(stored.calibrator, "levels_", ())],
            label=source.label,
            probs=names_in(source.probs),
            logits=source.logits,
            classes=names,
            replace=replace,
            percent=source.percent,
            drop_missing=source.drop_missing,
        )
    work.print(columns)
    if not source.json:
        show.print_path("table", out)
        if not replace:
            unit = ", in percent as those that were read" if source.percent else ""
            words = "Commands read the old ones unless --probs names the new ones; --replace writes only new ones."
            show.print_lines([f"The new columns are {_listed(columns)}{unit}.", words])


def _stored(calibrator: Path, out: Path) -> StoredCalibrator:
    refuse_same(calibrator, out)
    return load_groups(calibrator) if holds_groups(calibrator) else load_with_details(calibrator)


def _check_kind(stored: StoredCalibrator, source: EitherSource, base_rate: str | None) -> None:
    """Refuse a calibrator of classes for forecasts, and the other way round."""
    if base_rate is not None:
        raise InputError("--base-rate is for classes, but the calibrator was fitted to forecasts. Remove it.")
    if not isinstance(stored.calibrator, ForecastCalibrator):
        raise InputError("the calibrator was fitted to classes, but the options describe forecasts. Remove them.")
    if not source.are_forecasts:
        raise InputError(
            "the calibrator was fitted to forecasts: name their columns with --mean and --sd, with --draws or with "
            "--quantiles."
        )


def _check_classes(stored: StoredCalibrator | None, source: EitherSource) -> None:
    """Refuse a column of another class than the one that the calibrator was fitted to, or numbers of another kind."""
    fitted = None if stored is None else str(stored.calibrator.classes_[-1])
    if source.positive is not None and source.positive != fitted:
        found = "no calibrator is named" if fitted is None else f"the calibrator was fitted to the column of {fitted}"
        raise InputError(
            f"--positive {source.positive} has no effect: {found}. Leave it out, and give a column of that class."
        )
    kind = None if stored is None else stored.calibrator.scores
    if kind == "raw":
        raise InputError("the calibrator was fitted to raw scores, which files do not hold. Apply it in Python.")
    if kind == "raw-logits" and not source.logits:
        raise InputError("the calibrator was fitted to raw logits. If the columns of FILE hold these, add --logits.")


@dataclass
class _Work:
    """The calibrator, the move of the base rate and the options, and numbers of rows to report."""

    stored: StoredCalibrator | None
    shift: "Shift | None"
    source: EitherSource
    rows: int = 0
    changed: int = 0

    def calibrated(self, values: ArrayLike, features: object, progress: Progress) -> FloatArray:
        """Return calibrated numbers of the kind and shape of those in the file."""
        logits = self.source.logits
        if logits:
            before, scores, _ = as_log_probabilities(values)
        else:
            before, _ = as_probabilities(values, renormalise=self.source.renormalise)
            scores = before
        self.rows = len(before)
        predicted = before.argmax(axis=1)
        if self.stored is not None:
            warn_if_fitted_here(self.stored, fingerprint(before))
            _calibrate(self.stored.calibrator, before, scores, (values, features), progress, logits=logits)
        elif logits:
            before = scores
        if self.shift is not None:
            before = self.shift(before, logits=logits)
        self.changed = int(np.sum(before.argmax(axis=1) != predicted))
        if np.ndim(values) == 2 and np.shape(values)[1] > 1:
            return before
        one = before[:, 1] - before[:, 0] if logits else before[:, 1]
        return one.reshape(np.shape(values))

    def print(self, columns: Sequence[str]) -> None:
        """Print what was done."""
        changed, stored, shift = self.changed / self.rows, self.stored, self.shift
        if self.source.json:
            result: dict[str, object] = {"n_samples": self.rows, "columns": list(columns), "changed": changed}
            if self.source.percent:
                result["unit"] = "percent"
            if stored is not None:
                result["sha256"] = stored.sha256
            show.print_json(result | ({} if shift is None else shift.found))
            return
        kind = " of raw logits" if stored is not None and stored.calibrator.scores == "raw-logits" else ""
        lines = [] if stored is None else [_said(self.rows, stored, kind)]
        lines += [] if shift is None else shift.lines
        show.print_lines([*lines, f"{few_percent(changed)} of the predicted classes have changed."])


def _said(n_rows: int, stored: StoredCalibrator, kind: str = "") -> str:
    method = stored.details.get("method", type(stored.calibrator).__name__)
    return f"{show.rows(n_rows)} calibrated by {method}{kind} ({stored.sha256[:12]})."


def _calibrate(
    calibrator: Any,
    before: FloatArray,
    scores: FloatArray,
    read: tuple[ArrayLike, object],
    progress: Progress,
    *,
    logits: bool,
) -> None:
    """Overwrite probabilities by those computed from the scores; `read` holds the numbers in the file and features."""
    if calibrator.scores == RAW_LOGITS:
        scores = as_raw_logits(read[0])
    else:
        calibrator.set_params(scores="logits" if logits else "probs")
    if isinstance(calibrator, GroupBoosting):
        probs = calibrator.predict_proba(scores, read[1])
        before[:] = np.log(probs) if logits else probs
        return
    transform = calibrator.transform_from if logits else calibrator.predict_proba

    def replace(rows: slice) -> int:
        before[rows] = transform(scores[rows])  # In place, to save the memory of a matrix.
        return rows.stop

    for done in in_order(replace, list(row_blocks(before.shape))):
        progress(done, len(before))


def _apply_forecasts(file: Path, stored: StoredCalibrator, out: Path, source: EitherSource, *, replace: bool) -> None:
    """Write a copy of the file with columns of calibrated forecasts."""
    rows = 0

    def calibrated(
        law: Distribution, others: Mapping[str, object] | None = None
    ) -> Distribution | dict[str, FloatArray]:
        nonlocal rows
        rows = law.n
        progress(1, STEPS)
        warn_if_fitted_here(stored, law_fingerprint(law))
        if stored.calibrator.gives == "intervals":
            ends = stored.calibrator.interval(law, *(others or {}).values())
            found: Distribution | dict[str, FloatArray] = {"low": ends.low, "high": ends.high}
        else:
            found = stored.calibrator.apply(law)
        progress(STEPS, STEPS)
        return found

    with show.progress_bar("calibrating", quiet=source.silent, then="writing") as progress:
        column = stored.details.get(COLUMN)
        request = source.forecast_request(needs_target=False)
        others = () if column is None else (column,)
        columns = rewrite_forecasts(file, out, calibrated, request, others=others, replace=replace)
    if source.json:
        show.print_json({"n_samples": rows, "columns": list(columns), "sha256": stored.sha256})
        return
    show.print_lines([_said(rows, stored)])
    show.print_path("table", out)
    if not replace:
        show.print_lines([f"The new columns are {_listed(columns)}."])


def _listed(columns: Sequence[str]) -> str:
    """Return names of columns; if there are many, only the first two and the last."""
    return ", ".join(columns) if len(columns) <= 4 else f"{columns[0]}, {columns[1]}, ..., {columns[-1]}"
