"""The fix whose effect the page of `calibrant report` shows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibrant.cli.options import FEWEST_FOLDS, FOLDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.judging import Judging
    from calibrant.predictions import Predictions
    from calibrant.results import Fix


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
