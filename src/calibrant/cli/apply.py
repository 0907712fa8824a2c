"""`calibrant apply`: a file of predictions with calibrated probabilities."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant._border.numerals import percent
from calibrant.cli.fitted import fingerprint, listed, warn_if_fitted_here
from calibrant.cli.options import FIXING, OUTPUT, EitherSource, File, Out, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from calibrant._border.types import FloatArray, Progress
    from calibrant.calibrators.store import StoredCalibrator
    from calibrant.cli.shifting import Shift


def apply(  # noqa: PLR0913 (each is one decision of the user)
    file: File,
    /,
    *,
    out: Out,
    calibrator: Annotated[Path | None, Parameter(group=FIXING)] = None,
    base_rate: Annotated[str | None, Parameter(group=FIXING)] = None,
    trained_rate: Annotated[str | None, Parameter(group=FIXING)] = None,
    source: EitherSource = EitherSource(),
    replace: Annotated[
        bool, Parameter(group=OUTPUT, help="Overwrite the columns of probabilities instead of adding new ones.")
    ] = False,
    overwrite: Annotated[bool, Parameter(group=OUTPUT, help="Allow FILE itself to be replaced.")] = False,
) -> None:
    """Write a copy of FILE with columns of calibrated probabilities.

    The calibrated proba_a is in calibrated_proba_a, and so on; all other columns stay as they are. Labels are not
    needed. With --logits, which a calibrator fitted with --raw-logits needs, the new columns hold logits too:
    logarithms of the calibrated probabilities.
    For a fix of groups (calibrant fit --features), FILE must have the columns of features that it uses.
    Forecasts get columns such as calibrated_mu and calibrated_sigma, or calibrated quantiles or draws; if they are no
    longer normal, a mean, an sd and five quantiles. Conformal intervals are in calibrated_low and calibrated_high.
    With --drop-missing, rows with missing values are kept, and their new columns are empty.

    For example:
      calibrant apply new.csv --calibrator calibrator.json --out new.parquet
      calibrant apply logits.csv --logits --calibrator calibrator.json --out out.csv
      calibrant apply new.csv --calibrator calibrator.json --base-rate 0.02 --out new.parquet
      calibrant apply new.csv --base-rate auto --trained-rate 0.3 --out new.parquet
      calibrant apply new.csv --mean mu --sd sigma --calibrator calibrator.json --out out.csv

    Parameters
    ----------
    file
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with one column per class.
    calibrator
        File written by calibrant fit.
    out
        Where to write; the extension determines the format.
    base_rate
        Share of class 1 in FILE, or comma-separated shares of all classes. The probabilities, calibrated first if there
        is a calibrator, are adjusted to it. "auto" estimates it from the rows. The adjustment is right if the rows of
        each class look as before.
    trained_rate
        Share for which the probabilities are calibrated; by default that of the rows the calibrator was fitted to.
    """
    from calibrant.calibrators.forecasts import ForecastCalibrator
    from calibrant.cli.forecasting import apply_forecasts
    from calibrant.cli.outputs import refuse_same
    from calibrant.cli.shifting import Shift
    from calibrant.io import check_writable

    if not overwrite:
        refuse_same(file, out, "Name another file, or allow it with --overwrite.")
    _check_options(source, base_rate, trained_rate)
    stored = _stored(calibrator, out, needed=base_rate is None)
    check_writable(out)
    if stored is not None and (isinstance(stored.calibrator, ForecastCalibrator) or source.are_forecasts):
        _check_kind(stored, source, base_rate)
        apply_forecasts(file, stored, out, source, replace=replace)
        return
    _check_positive(source.positive, stored)
    shift = None
    if base_rate is not None:
        names = source.class_names or (None if stored is None else stored.calibrator.classes_.tolist())
        shift = Shift.of(base_rate, trained_rate, None if stored is None else stored.details.get("class_shares"), names)
    _apply_classes(file, (stored, shift), out, source, replace=replace)


def _check_options(source: EitherSource, base_rate: str | None, trained_rate: str | None) -> None:
    """Refuse options that would have no effect, before anything is read."""
    from calibrant.exceptions import InputError

    source.check()
    if base_rate is not None and source.are_forecasts:
        raise InputError("--base-rate is for classes, but the options describe forecasts. Remove it.")
    if trained_rate is not None and base_rate is None:
        raise InputError("--trained-rate needs --base-rate. Add that, or leave --trained-rate out.")
    if source.weight is not None:
        raise InputError("--weight has no effect here, because every row is calibrated by itself. Leave it out.")


def _check_positive(positive: str | None, stored: "StoredCalibrator | None") -> None:
    """Refuse a column of another class than the one that the calibrator was fitted to."""
    from calibrant.exceptions import InputError

    fitted = None if stored is None else str(stored.calibrator.classes_[-1])
    if positive is not None and positive != fitted:
        found = "no calibrator is named" if fitted is None else f"the calibrator was fitted to the column of {fitted}"
        raise InputError(
            f"--positive {positive} has no effect: {found}. Leave it out, and give a column of that class."
        )


def _stored(calibrator: Path | None, out: Path, *, needed: bool) -> "StoredCalibrator | None":
    """Return the calibrator in the file; None if none is named and none is needed."""
    from calibrant.calibrators.store import load_with_details
    from calibrant.cli.outputs import refuse_same
    from calibrant.exceptions import InputError
    from calibrant.groups.store import holds_groups
    from calibrant.groups.store import load_with_details as load_groups

    if calibrator is None:
        if needed:
            raise InputError("--calibrator or --base-rate is required. Name the file that calibrant fit has written.")
        return None
    refuse_same(calibrator, out)
    return load_groups(calibrator) if holds_groups(calibrator) else load_with_details(calibrator)


def _apply_classes(
    file: Path,
    steps: "tuple[StoredCalibrator | None, Shift | None]",
    out: Path,
    source: Source,
    *,
    replace: bool,
) -> None:
    """Write a copy of the file with columns of calibrated probabilities."""
    from calibrant.cli import show
    from calibrant.cli.group_fixing import needed_columns
    from calibrant.exceptions import InputError
    from calibrant.io.rewrite import rewrite_probabilities

    stored, shift = steps
    if stored is not None and stored.calibrator.scores == "raw":
        raise InputError("the calibrator was fitted to raw scores, which files do not hold. Apply it in Python.")
    if stored is not None and stored.calibrator.scores == "raw-logits" and not source.logits:
        raise InputError("the calibrator was fitted to raw logits. If the columns of FILE hold these, add --logits.")
    counts = _Counts()

    with show.progress_bar("calibrating", quiet=source.silent, then="writing") as progress:
        columns = rewrite_probabilities(
            file,
            out,
            lambda values, features=None: _calibrated(steps, (values, features), source, counts, progress),
            others=() if stored is None else needed_columns(stored.calibrator),
            label=source.label,
            probs=source.columns,
            logits=source.logits,
            classes=source.class_names or (None if stored is None else stored.calibrator.classes_.tolist()),
            replace=replace,
            percent=source.percent,
            drop_missing=source.drop_missing,
        )
    _print(stored, shift, counts, columns, source)
    if not source.json:
        show.print_path("table", out)
        if not replace:
            unit = ", in percent as those that were read" if source.percent else ""
            show.print_lines([f"The new columns are {listed(columns)}{unit}."])
            show.print_lines(
                ["Commands read the old ones unless --probs names the new ones; --replace writes only new ones."]
            )


def _print(
    stored: "StoredCalibrator | None",
    shift: "Shift | None",
    counts: "_Counts",
    columns: "Sequence[str]",
    source: Source,
) -> None:
    """Print what was done."""
    from calibrant.cli import show

    changed = counts.changed / counts.rows
    if source.json:
        result: dict[str, object] = {"n_samples": counts.rows, "columns": list(columns), "changed": changed}
        if source.percent:
            result["unit"] = "percent"
        if stored is not None:
            result["sha256"] = stored.sha256
        show.print_json(result | ({} if shift is None else shift.found))
        return
    lines = [] if shift is None else list(shift.lines)
    if stored is not None:
        kind = " of raw logits" if stored.calibrator.scores == "raw-logits" else ""
        method = stored.details.get("method", type(stored.calibrator).__name__)
        lines.insert(0, f"{show.rows(counts.rows)} calibrated by {method}{kind} ({stored.sha256[:12]}).")
    show.print_lines([*lines, f"{percent(changed, 2)} of the predicted classes have changed."])


def _check_kind(stored: "StoredCalibrator", source: EitherSource, base_rate: str | None) -> None:
    """Refuse a calibrator of classes for forecasts, and the other way round."""
    from calibrant.calibrators.forecasts import ForecastCalibrator
    from calibrant.exceptions import InputError

    if base_rate is not None:
        raise InputError("--base-rate is for classes, but the calibrator was fitted to forecasts. Remove it.")
    if not isinstance(stored.calibrator, ForecastCalibrator):
        raise InputError("the calibrator was fitted to classes, but the options describe forecasts. Remove them.")
    if not source.are_forecasts:
        raise InputError(
            "the calibrator was fitted to forecasts: name their columns with --mean and --sd, with --draws or with "
            "--quantiles."
        )


class _Counts:
    """Numbers of rows to report."""

    rows = changed = 0


def _calibrated(
    steps: "tuple[StoredCalibrator | None, Shift | None]",
    read: "tuple[ArrayLike, object]",
    source: Source,
    counts: _Counts,
    progress: "Progress",
) -> "FloatArray":
    """Return calibrated numbers of the kind and shape of those in the file; `read` holds these and the features."""
    import numpy as np

    from calibrant._border.checks import as_log_probabilities, as_probabilities

    (stored, shift), values = steps, read[0]
    if source.logits:
        before, scores, _ = as_log_probabilities(values)
    else:
        before, _ = as_probabilities(values, renormalise=source.renormalise)
        scores = before
    counts.rows = len(before)
    predicted = before.argmax(axis=1)
    if stored is not None:
        _calibrate(stored, read, (before, scores), source, progress)
    elif source.logits:
        before = scores
    if shift is not None:
        before = shift(before, logits=source.logits)
    counts.changed = int(np.sum(before.argmax(axis=1) != predicted))
    if np.ndim(values) == 2 and np.shape(values)[1] > 1:
        return before
    one = before[:, 1] - before[:, 0] if source.logits else before[:, 1]
    return one.reshape(np.shape(values))


def _calibrate(
    stored: "StoredCalibrator",
    read: tuple[object, object],
    arrays: "tuple[FloatArray, FloatArray]",
    source: Source,
    progress: "Progress",
) -> None:
    """Overwrite the first of the arrays, probabilities, with those that the calibrator computes from the second."""
    import numpy as np

    from calibrant._core.threads import in_order
    from calibrant.calibrators.inputs import RAW_LOGITS, as_raw_logits
    from calibrant.groups import GroupBoosting
    from calibrant.predictions import row_blocks

    before, scores = arrays
    warn_if_fitted_here(stored, fingerprint(before))
    calibrator = stored.calibrator
    if isinstance(calibrator, GroupBoosting):
        calibrator.set_params(scores="logits" if source.logits else "probs")
        probs = calibrator.predict_proba(scores, read[1])
        before[:] = np.log(probs) if source.logits else probs
        return
    if calibrator.scores == RAW_LOGITS:
        scores = as_raw_logits(read[0])
    else:
        calibrator.set_params(scores="logits" if source.logits else "probs")
    transform = calibrator.transform_from if source.logits else calibrator.predict_proba

    def replace(rows: slice) -> int:
        before[rows] = transform(scores[rows])  # In place, to save the memory of a matrix.
        return rows.stop

    for done in in_order(replace, list(row_blocks(before.shape))):
        progress(done, len(before))
