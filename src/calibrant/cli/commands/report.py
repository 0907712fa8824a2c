"""`calibrant report`: the verdict, the diagram and the tables as one HTML page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant.cli.options.deciding import Deciding
from calibrant.cli.options.engines import Engine
from calibrant.cli.options.features import METHOD, Features
from calibrant.cli.options.judging import Judging
from calibrant.cli.options.reading import FIXING, FOLDS, PAGE, File, Out, check_folds, check_out, expanded, title
from calibrant.cli.printing import show
from calibrant.exceptions import InputError
from calibrant.io import printable, write_text

if TYPE_CHECKING:
    from calibrant.cli.work.report import Contents


def command(
    *files: File,
    options: Judging = Judging(),
    engine: Engine = Engine(),
    deciding: Deciding = Deciding(),
    calibrate: Annotated[str | None, Parameter(group=FIXING)] = None,
    folds: Annotated[int, Parameter(group=FIXING)] = FOLDS,
    features: Features = None,
    out: Out = Path("report.html"),
) -> None:
    """Write one self-contained HTML page about the predictions in FILES.

    For example:
      calibrant report predictions.parquet
      calibrant report predictions.csv --calibrate auto --by region --out page.html
      calibrant report predictions.csv --features 'x_*'
      calibrant report before.csv after.csv
      calibrant report predictions.csv --calibrate auto --cost-fp 1 --cost-fn 20 --max-risk 0.05
      calibrant report labelled.csv --base-rate new.csv
      calibrant report 'logs/*.parquet' --engine local
      calibrant report forecasts.csv --label y --mean mu --sd sigma

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with one column per class and a column of labels, or with forecasts.
        Several files, one per model, are shown side by side. Saved sketches are added up; a folder, or --engine, makes
        a sketch.
    calibrate
        Show the effect of a calibrator: "auto" for the recommended one, or a name such as ts or 'ts>irm'; for forecasts
        such as shift-scale; with --features also groups. Each row is calibrated by a fit to other rows. Conformal
        intervals are fitted to one half of the rows and tested on the other; with --by, per group.
    folds
        Number of folds of the cross-fit for --calibrate.
    features
        Search groups defined by these columns for predictions that are off: a pattern such as 'x_*', or a
        comma-separated list. With --calibrate auto, fixing these groups is considered too.
    out
        Where to write the page; it must end in .html or .htm.
    """
    from calibrant.report import render_html

    paths = expanded(files)
    check_out(out, paths, PAGE)
    options.check()
    engine.check(paths, options)
    of_rows = not options.are_forecasts and not engine.takes(paths)
    deciding.check(of_rows=of_rows, as_they_are=len(paths) == 1 and calibrate is None)
    _check_rows(paths, {"--calibrate": calibrate, "--features": features}, are_sketched=engine.takes(paths))
    _check_fix(calibrate, features, folds, of_forecasts=options.are_forecasts)
    contents = _contents(paths, options, engine, deciding, (calibrate, folds, features))
    shown, extras = contents.shown, contents.extras
    write_text(out, render_html(shown, title=f"Calibration of {title(paths)}", **extras))
    if options.json:
        show.print_json({"page": printable(out), "assessments": contents.without_draws(), **extras})
        return
    contents.print_rest()
    show.print_path("page", out)


def _check_rows(files: list[Path], options: dict[str, str | None], *, are_sketched: bool) -> None:
    """Refuse options that are for the rows of one file."""
    for option, value in options.items():
        if value is not None and len(files) > 1:
            raise InputError(f"{option} is for one file, but {len(files)} are named. Name one, or leave it out.")
        if value is not None and are_sketched:
            raise InputError(f"{option} needs rows of predictions, but they are read as a sketch. Leave one out.")


def _check_fix(method: str | None, features: str | None, folds: int, *, of_forecasts: bool) -> None:
    """Refuse a calibrator or a number of folds that cannot be used with these files, before long work."""
    if method is None:
        if folds != FOLDS:
            raise InputError("--folds is for --calibrate, which is not given. Add it, or leave --folds out.")
        return
    check_folds(folds)
    if method == METHOD and features is None and not of_forecasts:
        raise InputError("--calibrate groups needs the columns that define groups. Name them with --features.")
    from calibrant.advice.fixing import AUTO
    from calibrant.calibrators import parse
    from calibrant.calibrators.forecasts import forecast_calibrator_name
    from calibrant.cli.work.intervals import intervals_of

    if of_forecasts and method != AUTO:
        if intervals_of(forecast_calibrator_name(method)) is not None and folds != FOLDS:
            raise InputError(
                "--folds has no effect on conformal intervals, which are fitted to one half of the rows. Leave it out."
            )
    elif method not in (AUTO, METHOD):
        parse(method)


def _contents(
    paths: list[Path],
    options: Judging,
    engine: Engine,
    deciding: Deciding,
    fixing: tuple[str | None, int, str | None],
) -> "Contents":
    from calibrant.cli.work.report import Contents, Fixing

    contents = Contents(options, deciding, Fixing(*fixing))
    sketch = None if options.are_forecasts else engine.sketch(paths, options)
    if sketch is not None:
        contents.add_sketch(sketch, title(paths))
    elif len(paths) > 1:
        contents.add_files(paths)
    else:
        contents.add_file(paths[0])
    return contents
