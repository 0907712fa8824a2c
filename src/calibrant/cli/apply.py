"""`calibrant apply`: a file of predictions with calibrated probabilities."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from calibrant.cli.options import FIXING, OUTPUT, File, Out, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calibrant._typing import FloatArray, Progress
    from calibrant.calibrators.store import StoredCalibrator


def apply(
    file: File,
    /,
    *,
    calibrator: Annotated[Path, Parameter(group=FIXING)],
    out: Out,
    source: Source = Source(),
    replace: Annotated[
        bool, Parameter(group=OUTPUT, help="Write over the columns of probabilities instead of adding others.")
    ] = False,
    overwrite: Annotated[bool, Parameter(group=OUTPUT, help="Allow FILE itself to be replaced.")] = False,
) -> None:
    """Write a copy of FILE with columns of calibrated probabilities; all other columns stay as they are.

    The calibrated proba_a is in calibrated_proba_a, and so on. Labels are not needed. With --logits the new columns
    hold logits, too: logarithms of the calibrated probabilities. A calibrator fitted with --raw-logits needs --logits.
    With --drop-missing, nothing is calibrated in rows with missing values, which are kept.

    For example:
      calibrant apply new.csv --calibrator calibrator.json --out new.parquet
      calibrant apply logits.csv --logits --calibrator calibrator.json --out out.csv

    Parameters
    ----------
    file
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with a column per class.
    calibrator
        File written by calibrant fit.
    out
        Where to write; the extension determines the format.
    """
    from calibrant.calibrators.store import load_with_details
    from calibrant.cli import show
    from calibrant.cli.outputs import refuse_same
    from calibrant.exceptions import InputError
    from calibrant.io import check_writable
    from calibrant.io.rewrite import rewrite_probabilities

    refuse_same(calibrator, out)
    if not overwrite:
        refuse_same(file, out, "Name another file, or allow it with --overwrite.")
    check_writable(out)
    stored = load_with_details(calibrator)
    if stored.calibrator.scores == "raw":
        raise InputError("the calibrator was fitted to raw scores, which files do not hold. Apply it in Python.")
    if stored.calibrator.scores == "raw-logits" and not source.logits:
        raise InputError("the calibrator was fitted to raw logits. If the columns of FILE hold these, add --logits.")
    counts = _Counts()

    with show.progress_bar("calibrating", quiet=source.silent, then="writing") as progress:
        columns = rewrite_probabilities(
            file,
            out,
            lambda values: _calibrated(stored, values, source, counts, progress),
            label=source.label,
            probs=source.columns,
            logits=source.logits,
            classes=source.class_names or stored.calibrator.classes_.tolist(),
            replace=replace,
            percent=source.percent,
            drop_missing=source.drop_missing,
        )
    changed = counts.changed / counts.rows
    if source.json:
        result = {"n_samples": counts.rows, "columns": list(columns), "changed": changed, "sha256": stored.sha256}
        show.print_json(result)
        return
    kind = " of raw logits" if stored.calibrator.scores == "raw-logits" else ""
    method = stored.details.get("method", type(stored.calibrator).__name__)
    show.print_lines(
        [
            f"{show.rows(counts.rows)} calibrated by {method}{kind} ({stored.sha256[:12]}).",
            f"{changed:.2%} of the predicted classes have changed.",
        ]
    )
    show.print_path("table", out)
    if not replace:
        show.print_lines([f"The new columns are {_listed(columns)}."])


def _listed(columns: "Sequence[str]") -> str:
    return ", ".join(columns) if len(columns) <= 4 else f"{columns[0]}, {columns[1]}, ..., {columns[-1]}"


class _Counts:
    """Numbers of rows to report."""

    rows = changed = 0


def _calibrated(
    stored: "StoredCalibrator", values: Any, source: Source, counts: _Counts, progress: "Progress"
) -> "FloatArray":
    """Return calibrated numbers of the kind and shape of those in the file."""
    import numpy as np

    from calibrant._border.checks import as_log_probabilities, as_probabilities
    from calibrant.calibrators.raw_logits import as_raw_logits, uses_raw_logits
    from calibrant.cli.fit import fingerprint
    from calibrant.exceptions import DataWarning
    from calibrant.predictions import row_blocks

    if source.logits:
        before, scores, _ = as_log_probabilities(values)
    else:
        before, _ = as_probabilities(values, renormalise=source.renormalise)
        scores = before
    if stored.details.get("fingerprint") == fingerprint(before):
        message = "the calibrator was fitted on these rows, so its results on them look better than on new rows."
        warnings.warn(message, DataWarning, stacklevel=2)
    calibrator = stored.calibrator
    if uses_raw_logits(calibrator):
        scores = as_raw_logits(values)
    else:
        calibrator.set_params(scores="logits" if source.logits else "probs")
    counts.rows = len(before)
    for rows in row_blocks(before.shape):  # In place, to keep one matrix less in memory.
        after = calibrator.predict_proba(scores[rows])
        counts.changed += int(np.sum(after.argmax(axis=1) != before[rows].argmax(axis=1)))
        before[rows] = calibrator.transform_from(scores[rows]) if source.logits else after
        progress(rows.stop, counts.rows)
    if np.ndim(values) == 2 and np.shape(values)[1] > 1:
        return before
    one = before[:, 1] - before[:, 0] if source.logits else before[:, 1]
    return one.reshape(np.shape(values))
