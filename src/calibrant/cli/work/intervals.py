"""Conformal intervals: fitted, saved, and tested on new rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from calibrant._border.numerals import count, counted, percent, pvalue_cell, significant
from calibrant.calibrators.forecasts import ConformalIntervals, judge_intervals, parse_forecast
from calibrant.calibrators.forecasts.conformal import Conformal
from calibrant.calibrators.store import StoredCalibrator, load_with_details, save
from calibrant.cli.options.reading import EitherSource
from calibrant.cli.printing import show
from calibrant.cli.printing.fitted import are_rows_of_fit, forecast_details, law_fingerprint, learnt
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.io import printable
from calibrant.results import CoveredPart, IntervalCheck

COLUMN = "column"
"""Key in a saved calibrator for the column of groups, or of ratios, that new files need."""


def intervals_of(method: str) -> Conformal | None:
    """Return the conformal intervals of this name; None if it names another method."""
    found = parse_forecast(method)
    return found if isinstance(found, Conformal) else None


def fit_intervals(
    files: Sequence[Path], source: EitherSource, method: str, level: float | None, column: str | None, out: Path
) -> None:
    """Learn intervals, with a column of groups or of ratios, save them, and print what they promise."""
    forecasts, others = source.forecasts(files, column)
    calibrator = cast("Conformal", parse_forecast(method))
    if level is not None:
        calibrator.set_params(level=level)
    calibrator.fit(forecasts, others.get(column or ""))
    details = {**forecast_details(method, forecasts), COLUMN: column}
    checksum = save(calibrator, out, details=details)
    if source.json:
        show.print_json({**details, "level": calibrator.level, "learnt": learnt(calibrator), "sha256": checksum})
        return
    show.print_heading(f"{method}, fitted to {counted(forecasts.n_samples, 'forecast')} ({details['law']})")
    share = f"{percent(calibrator.level)} of new values"
    promised = f"The intervals promise to contain {share}, on average over sets of rows to fit to"
    if isinstance(calibrator, ConformalIntervals):
        show.print_lines([f"{promised}{', in each group' if column else ''}. For this fit:"])
        _print_promises(calibrator)
    else:
        show.print_lines([f"{promised}, if the ratios of densities are exact; estimated ratios guarantee nothing."])
    words = "To test the promise on new rows: calibrant test NEW_FILE --calibrator"
    show.print_command(words, f"{printable(out)}, with the columns named as here.")
    show.print_path("calibrator", out)


def _print_promises(calibrator: ConformalIntervals) -> None:
    """Print how many new values the intervals of this fit contain: 95% limits of their coverage."""
    from scipy.special import betaincinv

    lines = []
    for name, n, rank, scores in zip(
        calibrator.groups_, calibrator.n_fitted_, calibrator.ranks_, calibrator.thresholds_, strict=True
    ):
        held = "all: too few rows, infinite intervals" if rank > n else ""
        if 0 < rank <= n:
            low, high = betaincinv(rank, n + 1 - rank, [0.025, 0.975])
            held = f"{percent(low, 1)} to {percent(high, 1)}"
        written = ", ".join(significant(float(score), 4) for score in scores)
        lines.append((str(name) or "all", count(n), count(rank) if rank else "", written, held))
    show.print_table(("rows", "number", "rank", "threshold", "new values inside, 95%"), lines)


def read_with_column(
    files: Sequence[Path], source: EitherSource, stored: StoredCalibrator
) -> tuple[Forecasts, NDArray[np.generic] | None]:
    """Read forecasts, and the column that the intervals were fitted with."""
    column = stored.details.get(COLUMN)
    forecasts, others = source.forecasts(files, column)
    return forecasts, others.get(column or "")


def judge_fitted(files: Sequence[Path], calibrator: Path, source: EitherSource) -> IntervalCheck:
    """Test whether the saved intervals keep their promise on these rows."""
    stored = load_with_details(calibrator)
    if getattr(stored.calibrator, "gives", "law") != "intervals":
        raise InputError(
            "--calibrator must be a file of conformal intervals, whose promise can be tested. Apply other calibrators "
            "with calibrant apply, and test the new columns."
        )
    if not source.are_forecasts:
        raise InputError("the intervals are for forecasts: name their columns, for example with --mean and --sd.")
    forecasts, column = read_with_column(files, source, stored)
    if are_rows_of_fit(stored, law_fingerprint(forecasts.distribution)):
        raise InputError(
            "the intervals were fitted to these rows, so they contain the promised share by construction. Test them on "
            "other rows."
        )
    return judge_intervals(stored.calibrator, forecasts, column)


def print_check(check: IntervalCheck) -> None:
    """Print how many targets the intervals contain, for all rows and for each group."""
    show.print_lines([check.headline])
    lines = [
        (
            part.name or "all",
            count(part.n_samples),
            percent(part.before, 1),
            percent(part.covered, 1),
            *_by_chance(part),
            significant(part.width, 4),
        )
        for part in (check.total, *check.parts)
    ]
    show.print_table(("rows", "number", "own intervals", "inside", "95% if promised", "p", "width"), lines)
    if check.reason:
        show.print_lines([f"not tested: {check.reason}"])


def _by_chance(part: CoveredPart) -> tuple[str, str]:
    if part.low is None or part.high is None or part.pvalue is None:
        return "", ""
    return f"{percent(part.low, 1)} to {percent(part.high, 1)}", pvalue_cell(part.pvalue)
