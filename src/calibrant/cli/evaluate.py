"""`calibrant evaluate`: a verdict in words, then a table."""

from pathlib import Path

from calibrant.cli.options import Options


def evaluate(file: Path, /, *, options: Options = Options(), json: bool = False) -> None:
    """Say whether the predictions in FILE are calibrated, in which direction they err, and by how much.

    Predictive distributions are read with --mean and --sd, or with --draws.

    Example: calibrant evaluate predictions.csv --label y --probs 'proba_*'

    Parameters
    ----------
    file
        CSV, Parquet, Arrow IPC or NPZ with a column a class and a column of labels.
    json
        Print JSON instead of text.
    """
    from calibrant.cli import show

    if options.are_forecasts:
        from calibrant.metrics import METRICS

        forecasts = options.forecasts(file)
        estimates = {name: metric.estimate(forecasts) for name, metric in METRICS.items() if metric.forecasts}
        if json:
            show.print_json({"n_samples": forecasts.n_samples, "metrics": estimates})
        else:
            show.print_heading(f"{forecasts.n_samples:,} rows, {type(forecasts.distribution).__name__} forecasts")
            show.print_estimates({file.name: estimates})
        return
    assessment = options.assess(file)
    if json:
        show.print_json(show.without_draws(assessment))
        return
    show.print_verdict(assessment)
    show.print_heading(f"{assessment.n_samples:,} rows, {assessment.n_classes} classes")
    show.print_estimates({file.name: assessment.metrics})
    show.print_groups(assessment)
