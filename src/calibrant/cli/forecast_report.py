"""Content of the report of forecasts: each file, or one file before and after a fix."""

from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli.judging import Judging

if TYPE_CHECKING:
    from calibrant.cli.report import Extras
    from calibrant.results import ForecastAssessment


def forecast_sections(
    files: dict[str, Path], options: Judging, calibrate: str | None, folds: int
) -> "tuple[dict[str, ForecastAssessment], Extras]":
    """Return the assessments of predictive distributions by name, and what else the page shows about them.

    Parameters
    ----------
    files : dict of str to Path
        By their names on the page; a single file if `calibrate` is given.
    options : Judging
    calibrate : str or None
        Name of the calibrator, "auto" for the recommended one, or None.
    folds : int
        Number of folds, each of which is calibrated by a fit to the others.
    """
    if calibrate is None:
        return {name: options.assess_forecasts([file]) for name, file in files.items()}, {}
    from calibrant.advice import calibrate_held_out
    from calibrant.advice.fixing import AUTO
    from calibrant.assessment.forecasts import compare_forecasts
    from calibrant.calibrators.forecasts import (
        WeightedConformalIntervals,
        check_intervals,
        parse_forecast,
    )
    from calibrant.calibrators.forecasts.conformal import Conformal
    from calibrant.cli import show

    (file,) = files.values()
    before, others = options.forecasts([file], options.by)
    groups = others.get(options.by or "")
    shown = {file.name: options.judge_forecasts(before, file.name, groups)}
    if calibrate != AUTO and isinstance(built := parse_forecast(calibrate), Conformal):
        weighted = isinstance(built, WeightedConformalIntervals)
        return shown, {"intervals": check_intervals(built, before, None if weighted else groups, rng=options.seed)}
    with show.progress_bar("fitting calibrators", quiet=options.silent) as progress:
        after, how = calibrate_held_out(before, calibrate, n_folds=folds, progress=progress, rng=options.seed)
    if how.recommendation is not None and how.method == "identity":
        return shown, {"fix": how}
    name = f"{file.name} > {how.method}"
    shown[name] = options.judge_forecasts(after, name, None)
    with show.progress_bar("comparing before and after", quiet=options.silent) as progress:
        models = {file.name: before, name: after}
        comparison = compare_forecasts(models, intervals=False, progress=progress, rng=options.seed)
    return shown, {"fix": how, "comparison": comparison}
