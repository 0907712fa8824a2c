"""`calibrant evaluate`: a verdict in words, then a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant.cli.options import JUDGING, OUTPUT, File, Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calibrant.results import Estimate


def evaluate(
    file: File,
    /,
    *,
    options: Options = Options(),
    metrics: Annotated[tuple[str, ...], Parameter(group=OUTPUT, consume_multiple=True)] = (),
    fail_if: Annotated[tuple[str, ...], Parameter(group=JUDGING, consume_multiple=True)] = (),
) -> int:
    """Say whether the predictions in FILE are calibrated, in which direction they err, and by how much.

    Predictive distributions are read with --mean and --sd, or with --draws.

    For example:
      calibrant evaluate predictions.csv --label y --probs 'proba_*'
      calibrant evaluate logits.npz --logits --by region --metrics all
      calibrant evaluate predictions.csv --fail-if 'ece>0.05' --json
      calibrant evaluate forecasts.csv --label y --mean mu --sd sigma

    Parameters
    ----------
    file
        CSV, Parquet, Arrow IPC or NPZ with a column a class and a column of labels.
    metrics
        What to show: "all", or names such as ece nll; a selection unless given. JSON holds all.
    fail_if
        Exit with code 1 if all rows, whatever --by says, meet a condition like 'ece>0.05'; several may be given.
    """
    from calibrant.cli import gates, metrics_table, show
    from calibrant.metrics import FORECAST_METRICS, METRICS

    known = FORECAST_METRICS if options.are_forecasts else METRICS
    gates.check_gates(fail_if, [*known])
    names = metrics_table.chosen(metrics, known, [*known] if options.are_forecasts else metrics_table.SELECTION)
    run = _print_forecasts if options.are_forecasts else _print
    estimates = run(file, options, names)
    values = {name: estimate.value for name, estimate in estimates.items()}
    return show.report_failures(gates.failed(fail_if, values, file.name))


def _print(file: Path, options: Options, names: "Sequence[str]") -> "Mapping[str, Estimate]":
    from calibrant.cli import metrics_table, show

    assessment = options.assess(file)
    if options.json:
        show.print_json(show.without_draws(assessment))
    else:
        show.print_verdict(assessment)
        show.print_heading(f"{show.rows(assessment.n_samples)}, {assessment.n_classes} classes")
        metrics_table.print_metrics(assessment, names)
        show.print_groups(assessment)
    return assessment.metrics


def _print_forecasts(file: Path, options: Options, names: "Sequence[str]") -> "Mapping[str, Estimate]":
    from calibrant.cli import show

    assessment = options.assess_forecasts(file)
    if options.json:
        show.print_json(show.without_draws(assessment))
    else:
        show.print_verdict(assessment)
        show.print_heading(f"{show.rows(assessment.n_samples)}, {assessment.law} forecasts")
        show.print_estimates(
            {file.name: {name: assessment.metrics[name] for name in names if name in assessment.metrics}}
        )
    return assessment.metrics
