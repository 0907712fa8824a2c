"""`calibrant evaluate`: a verdict in words, then a table."""

from pathlib import Path

from calibrant.cli.options import Options


def evaluate(file: Path, /, *, options: Options = Options(), json: bool = False) -> None:
    """Say whether the predictions in FILE are calibrated, in which direction they err, and by how much.

    Example: calibrant evaluate predictions.csv --label y --probs 'proba_*'

    Parameters
    ----------
    file
        CSV, Parquet, Arrow IPC or NPZ with a column a class and a column of labels.
    json
        Print JSON instead of text.
    """
    from calibrant.cli import show

    assessment = options.assess(file)
    if json:
        show.print_json(show.without_draws(assessment))
        return
    show.print_verdict(assessment)
    show.print_heading(f"{assessment.n_samples:,} rows, {assessment.n_classes} classes")
    show.print_metrics({file.name: assessment})
    show.print_groups(assessment)
