"""`calibrant recommend`: which calibrator to use, and why."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from calibrant.cli.options import Source

if TYPE_CHECKING:
    from calibrant.results import Candidate, Recommendation


def recommend_for(  # noqa: PLR0913 (each is one option)
    file: Path,
    /,
    *,
    source: Source = Source(),
    keep_argmax: bool = False,
    candidates: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    score: Literal["nll", "brier"] = "nll",
    folds: int = 5,
    resamples: int = 1000,
    seed: int = 0,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Say which calibrator would improve the predictions in FILE, if any, and why.

    Every candidate is fitted to all folds but one and judged by that one, in turn. The simplest that is not
    significantly worse than the best is recommended.

    Example: calibrant recommend validation.csv --keep-argmax

    Parameters
    ----------
    file
        CSV, Parquet, Arrow IPC or NPZ with a column a class and a column of labels.
    keep_argmax
        Consider only calibrators that never change the predicted class.
    candidates
        Names of calibrators to choose from, the simplest first, such as ts 'ts>irm'; by default a rule chooses by the
        numbers of rows and classes.
    score
        What decides: the log loss or the Brier score.
    folds
        Number of parts that the rows are divided into.
    resamples
        Bootstrap samples of the rows behind the intervals.
    seed
        Seed of the folds and of the samples.
    quiet
        Show no progress.
    json
        Print JSON instead of text.
    """
    from calibrant.cli import show
    from calibrant.recommend import recommend

    predictions = source.predictions(file)
    with show.progress_bar("fitting candidates", quiet=quiet or json) as progress:
        advice = recommend(
            predictions,
            keep_argmax,
            candidates or None,
            score=score,
            n_folds=folds,
            n_resamples=resamples,
            progress=progress,
            rng=seed,
        )
    if json:
        show.print_json(advice)
        return
    _print(advice)
    if advice.name != advice.candidates[0].name:
        command = f"calibrant fit {quote(str(file))} --method {quote(advice.name)}"
        show.print_lines(["", f"To fit it to all of these rows, with the same options for columns: {command}"])


def _print(advice: "Recommendation") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from calibrant.cli.show import print_heading
    from calibrant.io import printable

    console = Console()
    style = "bold green" if advice.name == advice.candidates[0].name else "bold yellow"
    console.print(Text(printable(advice.headline), style=style))
    for reason in advice.reasons:
        console.print(Text(f"- {printable(reason)}"))
    print_heading(f"On rows that they were not fitted to, {advice.n_samples:,} in all")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("calibrator", no_wrap=True)
    for heading in (advice.score, f"change, {advice.level:.0%}", "changed", "ECE", "KDE-ECE"):
        table.add_column(heading, justify="right", no_wrap=True)
    for candidate in advice.candidates:
        mark = " *" if candidate.name == advice.name else ""
        table.add_row(Text(printable(f"{candidate.name}{mark}")), *_cells(candidate))
    console.print(table)
    notes = (
        f"* recommended. change: limits of the difference to {advice.candidates[0].name}. changed: rows with another"
    )
    console.print(Text(f"{notes} predicted class.", style="dim"))


def _cells(candidate: "Candidate") -> tuple[str, ...]:
    difference = candidate.over_nothing
    limits = "" if difference is None else f"{difference.low:+.3g} to {difference.high:+.3g}"
    return (
        f"{candidate.loss:.4g}",
        limits,
        f"{candidate.changed:.2%}",
        f"{candidate.ece:.3g}",
        f"{candidate.kde_ece:.3g}",
    )
