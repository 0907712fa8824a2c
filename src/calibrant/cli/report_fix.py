"""Fixes whose effect the page of `calibrant report` shows, and its content about forecasts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli.options import FEWEST_FOLDS, FOLDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.judging import Judging
    from calibrant.cli.report import Extras
    from calibrant.predictions import Predictions
    from calibrant.results import Fix, ForecastAssessment


@dataclass(frozen=True)
class Fixing:
    """How to fix predictions, and the columns that define groups."""

    method: str | None
    folds: int
    features: "dict[str, NDArray[np.generic]] | None"


def fixed(predictions: "Predictions", fixing: Fixing, options: "Judging") -> "tuple[Predictions | None, Fix]":
    """Return the predictions after the fix, None if none is recommended, and how the fix was made."""
    from calibrant.advice import calibrate_held_out
    from calibrant.advice.fixing import AUTO
    from calibrant.cli import show

    with show.progress_bar("fitting calibrators", quiet=options.silent) as progress:
        after, how = calibrate_held_out(
            predictions,
            fixing.method or AUTO,
            features=fixing.features,
            n_folds=fixing.folds,
            progress=progress,
            rng=options.seed,
        )
    return (None if how.recommendation is not None and how.method == "identity" else after), how


def check_method(method: str, features: str | None, folds: int, *, of_forecasts: bool, of_rows: bool) -> None:
    """Refuse a calibrator or a number of folds that cannot be used with these files, before long work."""
    from calibrant.advice.fixing import AUTO
    from calibrant.calibrators import parse
    from calibrant.cli.group_fixing import METHOD
    from calibrant.exceptions import InputError

    if not of_rows and not of_forecasts:
        raise InputError("--calibrate needs rows of predictions, but they are read as a sketch. Leave one out.")
    if folds < FEWEST_FOLDS:
        raise InputError(f"--folds must be at least {FEWEST_FOLDS}, but is {folds}.")
    if of_forecasts and method != AUTO:
        from calibrant.calibrators.forecasts import forecast_calibrator_name
        from calibrant.cli.intervals import intervals_of

        named = forecast_calibrator_name(method)
        if folds != FOLDS and intervals_of(named) is not None:
            raise InputError(
                "--folds has no effect on conformal intervals, which are fitted to one half of the rows. Leave it out."
            )
    elif method == METHOD and features is None:
        raise InputError("--calibrate groups needs the columns that define groups. Name them with --features.")
    elif method not in (AUTO, METHOD):
        parse(method)


def forecast_sections(
    files: dict[str, Path], options: "Judging", calibrate: str | None, folds: int
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
