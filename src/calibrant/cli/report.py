"""`calibrant report`: the verdict, the diagram and the tables as one HTML page."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from cyclopts import Parameter

from calibrant.cli.deciding import Deciding
from calibrant.cli.engines import Engine
from calibrant.cli.groups import Features, read_features, read_forecast_features
from calibrant.cli.judging import Judging
from calibrant.cli.options import FIXING, FOLDS, File, Out, expanded, title
from calibrant.cli.report_fix import Fixing, check_method, fixed, forecast_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from calibrant.predictions import Predictions
    from calibrant.results import (
        Assessment,
        Comparison,
        DecisionReport,
        Fix,
        ForecastAssessment,
        GroupFindings,
        IntervalCheck,
    )

COMPARED = ("nll", "brier", "accuracy", "rms-debiased", "kde-ece", "ece")
"""Metrics that are compared before and after a fix."""


class Extras(TypedDict, total=False):
    """What a page shows besides assessments: arguments of `render_html`."""

    comparison: "Comparison"
    fix: "Fix"
    findings: "GroupFindings"
    decisions: "DecisionReport"
    intervals: "IntervalCheck"


def report(
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
    from calibrant.cli import outputs, show
    from calibrant.exceptions import InputError
    from calibrant.io import printable, write_text
    from calibrant.report import render_html

    paths = expanded(files)
    outputs.check_out(out, paths, outputs.PAGE)
    options.check()
    engine.check(paths, options)
    of_rows = not options.are_forecasts and not engine.takes(paths)
    deciding.check(of_rows=of_rows, as_they_are=len(paths) == 1 and calibrate is None)
    if calibrate is not None:
        _check_one(paths, "--calibrate", calibrate)
        check_method(calibrate, features, folds, of_forecasts=options.are_forecasts, of_rows=of_rows)
    elif folds != FOLDS:
        raise InputError("--folds is for --calibrate, which is not given. Add it, or leave --folds out.")
    if features is not None and engine.takes(paths):
        raise InputError("--features needs rows of predictions, but they are read as a sketch. Leave one out.")
    table, search = _search(paths, options, features)
    shown, extras = _content(paths, options, engine, deciding, Fixing(calibrate, folds, table))
    extras |= search()
    write_text(out, render_html(shown, title=f"Calibration of {title(paths)}", **extras))
    if options.json:
        found = {name: show.without_draws(assessment) for name, assessment in shown.items()}
        show.print_json({"page": printable(out), "assessments": found, **extras})
        return
    _print_extras(shown if options.are_forecasts else {}, extras)
    show.print_path("page", out)


def _content(
    paths: list[Path], options: Judging, engine: Engine, deciding: Deciding, fixing: Fixing
) -> "tuple[Mapping[str, Any], Extras]":
    """Return the assessments by their names on the page, and its further content."""
    if options.are_forecasts:
        return forecast_sections(_named(paths), options, fixing.method, fixing.folds)
    sketch = engine.sketch(paths, options)
    if sketch is not None:
        found = options.assess(sketch, title(paths), "assessing")
        if not options.json:
            _print_verdict(found, "")
        return {title(paths): found}, {}
    if len(paths) > 1:
        return _several(_named(paths), options, deciding)
    return _predictions(paths[0], options, deciding, fixing)


def _print_extras(verdicts: "Mapping[str, Assessment | ForecastAssessment]", extras: Extras) -> None:
    """Print the verdicts, then how the fix was judged and what it gives."""
    from calibrant.cli import show
    from calibrant.report.fix import honest

    for name, assessment in verdicts.items():
        _print_verdict(assessment, name if len(verdicts) > 1 else "")
    if "comparison" in extras:
        show.print_lines(["", honest(extras["fix"])])
    if "intervals" in extras:
        show.print_lines(["", extras["intervals"].headline])
    if "fix" in extras and extras["fix"].recommendation is not None and extras["fix"].recommendation.disagreement:
        show.print_lines(["", extras["fix"].recommendation.disagreement])


def _several(files: dict[str, Path], options: Judging, deciding: Deciding) -> "tuple[dict[str, Assessment], Extras]":
    """Return the content of the page about several files, side by side."""
    from calibrant.results import DecisionReport

    read = {name: options.grouped([path]) for name, path in files.items()}
    deciding.check_rows({name: predictions for name, (predictions, _) in read.items()})
    shown, models = dict[str, "Assessment"](), dict[str, "Predictions"]()
    there = DecisionReport()
    for name, (predictions, groups) in read.items():
        models[name], there = deciding.moved(predictions, options)
        _say_base_rate(there, options)
        shown[name] = _assessed(models[name], groups, name, options)
    return shown, {"decisions": deciding.decide(models, there, options)} if deciding.is_used else {}


def _predictions(
    file: Path, options: Judging, deciding: Deciding, fixing: Fixing
) -> "tuple[dict[str, Assessment], Extras]":
    """Return the content of the page about one file of class predictions."""
    from calibrant.advice.cross_fit import check_folds

    read, groups = options.grouped([file])
    deciding.check_rows({file.name: read})
    before, there = deciding.moved(read, options)
    _say_base_rate(there, options)
    if fixing.method is not None:
        check_folds(fixing.folds, before)
    heading = file.name if fixing.method is not None else ""
    shown, extras = {file.name: _assessed(before, groups, file.name, options, heading)}, Extras()
    models, change = {file.name: before}, ""
    if fixing.method is not None:
        after, how = fixed(before, fixing, options)
        extras["fix"] = how
        if after is not None:
            models[f"{file.name} > {how.method}"], change = after, how.method
            shown, extras["comparison"] = _compared(models, shown, options)
    if deciding.is_used and fixing.method is None:
        found = deciding.examine(before, there, file.name, options)
        # The fix has a row in the table of costs, as in `evaluate`, but no curve on the page.
        extras["decisions"] = replace(found, models={name: found.models[name] for name in models if found.models})
    elif deciding.is_used:
        extras["decisions"] = deciding.decide(models, there, options, change)
    return shown, extras


def _say_base_rate(there: "DecisionReport", options: Judging) -> None:
    """Print what the base rate has changed, before the verdict, unless the output is JSON."""
    from calibrant.cli.decision_tables import print_base_rate

    if not options.json:
        print_base_rate(there)


def _check_one(files: list[Path], option: str, value: str | None) -> None:
    """Refuse an option that is for one file if there are several."""
    from calibrant.exceptions import InputError

    if value is not None and len(files) > 1:
        raise InputError(f"{option} is for one file, but {len(files)} are named. Name one, or leave it out.")


def _search(
    files: list[Path], options: Judging, features: str | None
) -> "tuple[dict[str, NDArray[np.generic]] | None, Callable[[], Extras]]":
    """Return the columns of features, read before long work so that a wrong name fails early, and the search."""
    if features is None:
        return None, Extras
    from calibrant.cli import show
    from calibrant.groups import GroupSearch

    _check_one(files, "--features", features)
    read = read_forecast_features if options.are_forecasts else read_features
    data, table, _ = read(files, options, features)

    def search() -> Extras:
        with show.listening_bar("searching groups", quiet=options.silent):
            found = GroupSearch()(data, features=table, rng=options.seed)
        if not options.json:
            show.print_lines(["", found.headline])
        return {"findings": found}

    return table, search


def _named(files: list[Path]) -> dict[str, Path]:
    """Return the files by name, or by path if names repeat."""
    names = [file.name for file in files]
    return dict(zip(names if len(set(names)) == len(names) else map(str, files), files, strict=True))


def _assessed(
    predictions: "Predictions", groups: object, name: str, options: Judging, heading: str | None = None
) -> "Assessment":
    """Print the verdict under a heading as soon as it is known, then assess everything that the page shows."""
    if not options.json:
        verdict = options.assess(predictions, name, f"testing {name}", sections=())
        _print_verdict(verdict, name if heading is None else heading)
    return options.assess(predictions, name, f"assessing {name}", by=groups)


def _print_verdict(assessment: "Assessment | ForecastAssessment", heading: str) -> None:
    from calibrant.cli import show

    if heading:
        show.print_heading(heading)
    show.print_verdict(assessment)


def _compared(
    models: "dict[str, Predictions]", shown: "dict[str, Assessment]", options: Judging
) -> "tuple[dict[str, Assessment], Comparison]":
    """Assess the predictions after the fix, and compare them with those before."""
    from calibrant.assessment.comparison import compare
    from calibrant.cli import show

    name, after = list(models.items())[-1]
    judged = _assessed(after, None, name, options)
    with show.progress_bar("comparing before and after", quiet=options.silent) as progress:
        comparison = compare(models, COMPARED, intervals=False, progress=progress, rng=options.seed)
    return {**shown, name: judged}, comparison
