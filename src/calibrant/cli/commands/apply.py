"""`calibrant apply`: a file of predictions with calibrated probabilities."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from calibrant.cli.options.reading import FIXING, OUTPUT, EitherSource, File, Out, refuse_same
from calibrant.exceptions import InputError


def command(  # noqa: PLR0913 (each is one decision of the user)
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
    if not overwrite:
        refuse_same(file, out, "Name another file, or allow it with --overwrite.")
    _check_options(source, calibrator, base_rate, trained_rate)
    from calibrant.cli.work.apply import apply_to

    apply_to(file, calibrator, (base_rate, trained_rate), out, source, replace=replace)


def _check_options(
    source: EitherSource, calibrator: Path | None, base_rate: str | None, trained_rate: str | None
) -> None:
    """Refuse options that would have no effect, before anything is read."""
    source.check()
    source.refuse_for_forecasts({"--base-rate": base_rate})
    if trained_rate is not None and base_rate is None:
        raise InputError("--trained-rate needs --base-rate. Add that, or leave --trained-rate out.")
    if source.weight is not None:
        raise InputError("--weight has no effect here, because every row is calibrated by itself. Leave it out.")
    if calibrator is None and base_rate is None:
        raise InputError("--calibrator or --base-rate is required. Name the file that calibrant fit has written.")
