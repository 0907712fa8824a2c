"""`calibrant evaluate`: a verdict in words, then a table of metrics."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant._border.numerals import counted, percent
from calibrant.cli.options.deciding import Deciding
from calibrant.cli.options.engines import Engine
from calibrant.cli.options.judging import Judging
from calibrant.cli.options.reading import ALL, JUDGING, OUTPUT, File, expanded, title
from calibrant.cli.printing import show
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from calibrant.metrics import Metric
    from calibrant.predictions import Predictions
    from calibrant.results import Assessment, DecisionReport, ForecastAssessment


def command(
    *files: File,
    options: Judging = Judging(),
    engine: Engine = Engine(),
    deciding: Deciding = Deciding(),
    metrics: Annotated[tuple[str, ...], Parameter(group=OUTPUT, consume_multiple=True)] = (),
    fail_if: Annotated[tuple[str, ...], Parameter(group=JUDGING, consume_multiple=True)] = (),
    fail_unless_within: Annotated[bool, Parameter(group=JUDGING, negative="")] = False,
) -> int:
    """Judge whether the predictions in FILES are calibrated, and how they err.

    The verdict says in which direction and by how much; a table of metrics follows. Forecasts (predictive
    distributions) are read with --mean and --sd, with --draws or with --quantiles.

    For example:
      calibrant evaluate predictions.csv --label y --probs 'proba_*'
      calibrant evaluate logits.npz --logits --by region --metrics all
      calibrant evaluate predictions.csv --fail-if 'ece>0.05' --json
      calibrant evaluate predictions.csv --tolerance 0.03 --fail-unless-within
      calibrant evaluate predictions.csv --cost-fp 1 --cost-fn 20
      calibrant evaluate answers.jsonl --max-risk 0.05 --confidence 0.95
      calibrant evaluate balanced.csv --base-rate 0.02
      calibrant evaluate labelled.csv --base-rate new.csv
      calibrant evaluate answers.jsonl --percent --drop-missing
      calibrant evaluate 'part-*.parquet' --probs score --positive yes
      calibrant evaluate 'logs/*.parquet' --engine local --by region
      calibrant evaluate monday.sketch tuesday.sketch
      calibrant evaluate forecasts.csv --label y --mean mu --sd sigma

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with one column per class and a column of labels. The rows of several
        files, or of all files that match a pattern, are judged together. Saved sketches are added up; a folder, or
        --engine, makes a sketch.
    metrics
        Metrics to compute and show: "all", or names such as ece nll; by default a selection.
    fail_if
        Exit with code 1 if a condition such as 'ece>0.05' holds for all rows together, regardless of --by. Repeatable.
    fail_unless_within
        Exit with code 1 unless the upper confidence limit of the calibration error of all rows is at most --tolerance.
        Too few rows cannot show that, so the command fails.
    """
    from calibrant import metrics as every
    from calibrant.cli import gates

    known = every.FORECAST_METRICS if options.are_forecasts else every.METRICS
    paths = expanded(files)
    gates.check_gates(fail_if, [*known])
    options.check()
    engine.check(paths, options)
    deciding.check(of_rows=not options.are_forecasts and not engine.takes(paths))
    names = chosen(metrics, known, [*known] if options.are_forecasts else [])
    if options.are_forecasts:
        assessment: Assessment | ForecastAssessment = _print_forecasts(paths, options, names)
    else:
        assessment = _print(paths, options, engine, deciding, (names, gates.metrics_of(fail_if)))
    values = {name: estimate.value for name, estimate in assessment.metrics.items()}
    failures = gates.failed(fail_if, values, title(paths))
    if fail_unless_within:
        failures += gates.not_within(assessment.verdict, title(paths))
    return show.report_failures(failures)


def chosen(names: "Sequence[str]", known: "Mapping[str, Metric]", default: "Sequence[str]") -> list[str]:
    """Return the names of the metrics to show, in the order of the table."""
    from calibrant._border.text import suggestion
    from calibrant.metrics.names import metric_name

    names = [metric_name(name, known) for name in names]
    unknown = [name for name in names if name not in known and name != ALL]
    if unknown:
        meant = suggestion(unknown[0].lower(), known) or f" They are: {', '.join(known)}."
        raise InputError(f'--metrics must be "{ALL}" or names of metrics, but {unknown[0]!r} is not.{meant}')
    asked = known if ALL in names else names or default
    return [name for name in known if name in asked]


def _print(
    files: "Sequence[Path]",
    options: Judging,
    engine: Engine,
    deciding: Deciding,
    metrics: "tuple[Sequence[str], Sequence[str]]",
) -> "Assessment":
    """Print the verdict as soon as it is known, then the shown metrics; those of gates are only computed."""
    from calibrant.cli.printing.assessments import print_metrics, print_verdict
    from calibrant.metrics import METRICS
    from calibrant.metrics.measuring import principal_metrics
    from calibrant.predictions import Predictions

    names, more = metrics
    sketch, name = engine.sketch(files, options), title(files)
    predictions, groups = options.grouped(files) if sketch is None else (sketch, None)
    report = None
    if deciding.is_used and isinstance(predictions, Predictions):
        predictions, report = _decide(predictions, name, options, deciding)
    if not options.json:
        print_verdict(options.assess(predictions, name, "testing", sections=()))
    names = names or principal_metrics(predictions.n_classes)
    wanted = [name for name in METRICS if name in {*names, *more}]
    found = options.assess(predictions, name, "measuring", sections=("metrics", "limits"), metrics=wanted)
    if not options.json:
        show.print_heading(f"{show.rows(found.n_samples)}, {found.n_classes} classes{_about_cells(found)}")
        print_metrics(found, names)
        show.print_lines(_about_answers(predictions, names))
    if groups is not None or isinstance(predictions, Mapping):  # A mapping is a sketch per group.
        parts = options.assess(predictions, name, "judging groups", sections=("groups",), by=groups)
        found = replace(found, groups=parts.groups, adjusted=parts.adjusted)
    _print_rest(found, report, options)
    return found


def _decide(
    predictions: "Predictions", name: str, options: Judging, deciding: Deciding
) -> "tuple[Predictions, DecisionReport]":
    """Return predictions moved to the base rate, and a report on decisions; print what the base rate changes."""
    from calibrant.cli.printing.decisions import print_base_rate

    deciding.check_rows({name: predictions})
    predictions, there = deciding.moved(predictions, options)
    report = deciding.examine(predictions, there, name, options)
    if not options.json:
        print_base_rate(report)
    return predictions, report


def _print_rest(found: "Assessment", report: "DecisionReport | None", options: Judging) -> None:
    """Print everything as JSON, or else what follows the metrics: groups and decisions."""
    from calibrant.cli.printing.assessments import print_groups, without_draws
    from calibrant.results import as_record

    if options.json:
        plain = without_draws(found)
        show.print_json(plain if report is None else {**as_record(plain), "decisions": report})
        return
    print_groups(found)
    if report is not None:
        from calibrant.cli.printing.decisions import print_decisions

        print_decisions(report)


def _about_cells(found: "Assessment") -> str:
    """Say what was computed from fine cells instead of rows."""
    if found.settings.get("cells"):
        return ", summarised in fine cells"
    return ", ranges by chance from fine cells" if found.settings.get("cells_of_confidence") else ""


def _about_answers(predictions: object, names: "Sequence[str]") -> "Iterator[str]":
    """Explain, where they differ, why the accuracy of confidences in answers is not the share of right answers."""
    from calibrant.metrics.selective import ANSWERS
    from calibrant.predictions import Predictions

    if not isinstance(predictions, Predictions) or predictions.classes != ANSWERS or "accuracy" not in names:
        return
    if (predictions.predicted == 0).any():
        right = float(predictions.weights @ (predictions.labels == 1) / predictions.weights.sum())
        yield (
            f"accuracy: of calling an answer right if its confidence is above one half; {percent(right, 1)} of the "
            "answers are right"
        )


def _print_forecasts(files: "Sequence[Path]", options: Judging, names: "Sequence[str]") -> "ForecastAssessment":
    from calibrant.cli.printing.assessments import print_groups, print_metrics, print_verdict, without_draws

    forecasts, groups = options.grouped_forecasts(files)
    assessment = options.assess_forecasts(forecasts, title(files), groups)
    if options.json:
        show.print_json(without_draws(assessment))
    else:
        print_verdict(assessment)
        show.print_heading(f"{counted(assessment.n_samples, 'forecast')} ({assessment.law})")
        print_metrics(assessment, names)
        print_groups(assessment)
    return assessment
