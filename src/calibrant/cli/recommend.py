"""`calibrant recommend`: which calibrator to use, and why."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from calibrant.cli.group_fixing import METHOD
from calibrant.cli.groups import Features, read_features
from calibrant.cli.options import FIXING, JUDGING, EitherSource, File, Seed, Source, expanded

if TYPE_CHECKING:
    from calibrant.results import Candidate, Recommendation


def recommend_for(  # noqa: PLR0913 (each is one decision of the user)
    *files: File,
    source: EitherSource = EitherSource(),
    keep_argmax: Annotated[bool, Parameter(group=FIXING)] = False,
    candidates: Annotated[tuple[str, ...], Parameter(group=FIXING, consume_multiple=True)] = (),
    features: Features = None,
    folds: Annotated[int, Parameter(group=FIXING)] = 5,
    score: Annotated[Literal["nll", "brier", "crps", "log"] | None, Parameter(group=JUDGING)] = None,
    resamples: Annotated[int, Parameter(group=JUDGING)] = 1000,
    seed: Seed = 0,
) -> None:
    """Say which calibrator would improve the predictions in FILES, if any, and why.

    Candidates are compared by cross-validation. If the predictions are miscalibrated, a stack of several is
    recommended if its loss is smaller, or a simpler candidate if that is as good beyond doubt.

    For example:
      calibrant recommend validation.csv
      calibrant recommend validation.csv --keep-argmax --candidates ts 'ts>irm'
      calibrant recommend validation.csv --features 'x_*'
      calibrant recommend forecasts.csv --label y --mean mu --sd sigma

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with a column per class and a column of labels. The rows of several
        files are taken together.
    keep_argmax
        Consider only calibrators that never change the predicted class.
    candidates
        Names of calibrators to choose from, the simplest first, such as ts 'ts>irm'; by default a rule chooses by the
        numbers of rows and classes.
    features
        Columns of features, a pattern like 'x_*' or a list with commas: the fix of groups made of them is a candidate.
    score
        What decides: the log loss (nll, the default) or the Brier score; of forecasts, the CRPS (the default) or the
        log score (log).
    folds
        Number of folds.
    resamples
        Number of bootstrap samples of the rows for the intervals.
    seed
        Seed of the folds and of the samples.
    """
    from calibrant.advice import recommend
    from calibrant.cli import show
    from calibrant.cli.forecasting import print_advice
    from calibrant.io import printable

    paths = expanded(files)
    _check_score(score, source)
    predictions, table = _read(paths, source, features)
    with show.progress_bar("fitting candidates", quiet=source.silent) as progress:
        advice = recommend(
            predictions,
            keep_argmax,
            candidates or None,
            features=table,
            score=score,
            n_folds=folds,
            n_resamples=resamples,
            progress=progress,
            rng=seed,
        )
    if source.json:
        show.print_json(advice)
        return
    (print_advice if source.are_forecasts else _print)(advice)
    if advice.name != advice.candidates[0].name:
        show.print_lines(["", "To fit it to all of these rows:"])
        show.print_command(" ", printable(_command(paths, advice.name, source, features)))


def _read(files: list[Path], source: EitherSource, features: str | None) -> tuple[Any, dict[str, Any] | None]:
    """Read predictions or forecasts, and the columns of features if they are named."""
    from calibrant.exceptions import InputError

    if features is None:
        return source.forecasts(files)[0] if source.are_forecasts else source.predictions(files), None
    if source.are_forecasts:
        raise InputError(
            "--features is for the fix of groups of classes, but the options are for forecasts. Remove it."
        )
    predictions, table, _ = read_features(files, source, features)
    return predictions, table


def _check_score(score: str | None, source: EitherSource) -> None:
    """Refuse a score of classes for forecasts, and the other way round."""
    from calibrant.exceptions import InputError

    known = ("crps", "log") if source.are_forecasts else ("nll", "brier")
    if score is not None and score not in known:
        what = "forecasts" if source.are_forecasts else "classes"
        raise InputError(f"--score of {what} must be {' or '.join(known)}, but is {score}.")


def _command(files: list[Path], method: str, source: Source, features: str | None) -> str:
    """Return the shell command that fits the method to the same columns."""
    more = ["--features", features] if method == METHOD and features else []
    places = [f"./{file}" if str(file).startswith("-") else str(file) for file in files]
    return " ".join(map(quote, ["calibrant", "fit", *places, "--method", method, *more, *source.as_arguments()]))


def _print(advice: "Recommendation") -> None:
    from rich.table import Table
    from rich.text import Text

    from calibrant.cli.outputs import console
    from calibrant.cli.show import print_heading
    from calibrant.io import printable

    out = console()
    style = "bold green" if advice.name == advice.candidates[0].name else "bold yellow"
    out.print(Text(printable(advice.headline), style=style))
    for reason in advice.reasons:
        out.print(Text(f"- {printable(reason)}"))
    print_heading(f"On rows held out of their fit, {advice.n_samples:,} in all")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("calibrator", overflow="fold")
    change = f"change, {advice.level:.0%}"
    for heading in (advice.score, change, "changed", "ECE", "KDE-ECE"):
        # In a narrow terminal, limits fold: a number must never be cut.
        table.add_column(heading, justify="right", no_wrap=heading != change)
    for candidate in advice.candidates:
        mark = " *" if candidate.name == advice.name else ""
        table.add_row(Text(printable(f"{candidate.name}{mark}")), *_cells(candidate))
    out.print(table)
    notes = (
        f"* recommended. change: limits of the difference from {advice.candidates[0].name}. changed: rows with another"
    )
    out.print(Text(f"{notes} predicted class.", style="dim"))


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
