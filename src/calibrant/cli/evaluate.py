"""`calibrant evaluate`: a verdict in words, then a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant.cli.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calibrant.results import Estimate


def evaluate(
    file: Path,
    /,
    *,
    options: Options = Options(),
    fail_if: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    json: bool = False,
) -> int:
    """Say whether the predictions in FILE are calibrated, in which direction they err, and by how much.

    Predictive distributions are read with --mean and --sd, or with --draws.

    Example: calibrant evaluate predictions.csv --label y --probs 'proba_*'

    Parameters
    ----------
    file
        CSV, Parquet, Arrow IPC or NPZ with a column a class and a column of labels.
    fail_if
        Exit with code 1 if a condition like 'ece>0.05' is met; several may be given.
    json
        Print JSON instead of text.
    """
    from calibrant.cli import gates, show
    from calibrant.metrics import FORECAST_METRICS, METRICS

    gates.check_gates(fail_if, [*(FORECAST_METRICS if options.are_forecasts else METRICS)])
    estimates = (
        _print_forecasts(file, options, json=json) if options.are_forecasts else _print(file, options, json=json)
    )
    values = {name: estimate.value for name, estimate in estimates.items()}
    return show.report_failures(gates.failed(fail_if, values, file.name))


def _print(file: Path, options: Options, *, json: bool) -> "Mapping[str, Estimate]":
    from calibrant.cli import show

    assessment = options.assess(file)
    if json:
        show.print_json(show.without_draws(assessment))
    else:
        show.print_verdict(assessment)
        show.print_heading(f"{assessment.n_samples:,} rows, {assessment.n_classes} classes")
        show.print_estimates({file.name: assessment.metrics})
        show.print_groups(assessment)
    return assessment.metrics


def _print_forecasts(file: Path, options: Options, *, json: bool) -> "Mapping[str, Estimate]":
    from calibrant.cli import show
    from calibrant.metrics import FORECAST_METRICS

    forecasts = options.forecasts(file)
    suited = {name: metric for name, metric in FORECAST_METRICS.items() if metric.suits(forecasts)}
    estimates = {name: metric.estimate(forecasts) for name, metric in suited.items()}
    if json:
        show.print_json({"n_samples": forecasts.n_samples, "metrics": estimates})
    else:
        show.print_heading(f"{forecasts.n_samples:,} rows, {type(forecasts.distribution).__name__} forecasts")
        show.print_estimates({file.name: estimates})
    return estimates
