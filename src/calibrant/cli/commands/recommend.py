"""`calibrant recommend`: which calibrator to use, and why."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from calibrant._border.numerals import count, few_percent, percent, significant, with_sign
from calibrant.cli.options.features import METHOD, Features, read_features
from calibrant.cli.options.reading import (
    FIXING,
    FOLDS,
    JUDGING,
    EitherSource,
    File,
    Seed,
    Source,
    check_folds,
    expanded,
)
from calibrant.cli.printing import show
from calibrant.exceptions import InputError
from calibrant.io import printable

if TYPE_CHECKING:
    from calibrant.results import ForecastRecommendation, Recommendation


def command(  # noqa: PLR0913 (each is one decision of the user)
    *files: File,
    source: EitherSource = EitherSource(),
    keep_argmax: Annotated[bool, Parameter(group=FIXING)] = False,
    candidates: Annotated[tuple[str, ...], Parameter(group=FIXING, consume_multiple=True)] = (),
    features: Features = None,
    folds: Annotated[int, Parameter(group=FIXING)] = FOLDS,
    score: Annotated[Literal["nll", "brier", "crps", "log"] | None, Parameter(group=JUDGING)] = None,
    resamples: Annotated[int, Parameter(group=JUDGING)] = 1000,
    seed: Seed = 0,
) -> None:
    """Recommend a calibrator for the predictions in FILES, if any would improve them.

    Candidates are compared by cross-validation. If the predictions are miscalibrated and a fix reduces the loss, a
    stack of several candidates is recommended, or a single one if that is as good, with two standard errors to spare.

    For example:
      calibrant recommend validation.csv
      calibrant recommend validation.csv --keep-argmax --candidates ts 'ts>irm'
      calibrant recommend validation.csv --features 'x_*'
      calibrant recommend forecasts.csv --label y --mean mu --sd sigma

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with one column per class and a column of labels. The rows of several
        files are taken together.
    keep_argmax
        Consider only calibrators that never change the predicted class.
    candidates
        Calibrators to choose from, simplest first, such as ts 'ts>irm'; by default a selection that depends on the
        numbers of rows and classes.
    features
        Columns of features: a pattern such as 'x_*', or a comma-separated list. Fixing groups defined by them becomes a
        candidate.
    score
        Score that decides: log loss (nll, the default) or Brier score (brier); for forecasts, CRPS (crps, the default)
        or log score (log).
    folds
        Number of folds of the cross-validation.
    resamples
        Number of redraws of the labels in the test, and of bootstrap samples if a score is infinite.
    seed
        Seed of folds, redraws and samples.
    """
    from calibrant._border.settings import check_count
    from calibrant.advice import recommend

    paths = expanded(files)
    source.check()
    _check_score(score, source)
    check_count(resamples, "n_resamples")
    check_folds(folds)
    _check_candidates(candidates, source, features, keep_argmax=keep_argmax)
    if features is None:
        data, table = source.either(paths)[0], None
    else:
        data, table, _ = read_features(paths, source, features)
    with show.progress_bar("fitting candidates", quiet=source.silent) as progress:
        advice = recommend(
            data,
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
    _print(advice)
    if advice.name != advice.candidates[0].name:
        show.print_lines(["", "To fit it to all of these rows:"])
        show.print_command(" ", printable(_command(paths, advice.name, source, features)))


def _check_score(score: str | None, source: EitherSource) -> None:
    """Refuse a score of classes for forecasts, and the other way round."""
    known = ("crps", "log") if source.are_forecasts else ("nll", "brier")
    if score is not None and score not in known:
        what = "forecasts" if source.are_forecasts else "classes"
        raise InputError(f"--score of {what} must be {' or '.join(known)}, but is {score}.")


def _check_candidates(
    candidates: tuple[str, ...], source: EitherSource, features: str | None, *, keep_argmax: bool
) -> None:
    """Refuse unknown candidates, and options that do not apply to forecasts."""
    from calibrant.advice.advise import named_candidates
    from calibrant.calibrators.forecasts import forecast_calibrator_name

    if not source.are_forecasts:
        named_candidates(candidates, keep_argmax)
        return
    for name in candidates:
        forecast_calibrator_name(name)
    if features is not None:
        raise InputError(
            "--features is for the fix of groups of classes, but the options are for forecasts. Remove it."
        )
    source.refuse_for_forecasts({"--keep-argmax": keep_argmax})


def _command(files: list[Path], method: str, source: Source, features: str | None) -> str:
    """Return the shell command that fits the method to the same columns."""
    more = ["--features", features] if method == METHOD and features else []
    places = [f"./{file}" if str(file).startswith("-") else str(file) for file in files]
    return " ".join(map(quote, ["calibrant", "fit", *places, "--method", method, *more, *source.as_arguments()]))


def _print(advice: "Recommendation | ForecastRecommendation") -> None:
    """Print the advice in words, then the candidates."""
    from calibrant.cli import with_options
    from calibrant.cli.printing.assessments import interval_text

    first = advice.candidates[0].name
    show.print_lines([advice.headline], "bold green" if advice.name == first else "bold yellow")
    show.print_lines(f"- {with_options(reason)}" for reason in advice.reasons)
    show.print_heading(f"On rows that they were not fitted to ({count(advice.n_samples)} in total)")
    headings, rows, note = _columns(advice)
    lines = [
        (
            f"{one.name} *" if one.name == advice.name else one.name,
            significant(one.loss, 4),
            interval_text(one.over_nothing, with_sign),
            *cells,
        )
        for one, cells in zip(advice.candidates, rows, strict=True)
    ]
    # Draws are scored by the fair CRPS.
    score = f"fair {advice.score}" if getattr(advice, "law", "") == "Samples" else advice.score
    show.print_table(("calibrator", score, f"change, {percent(advice.level)}", *headings), lines)
    show.print_lines([f"* recommended. change: limits of the difference from {first}. {note}"], "dim")


def _columns(
    advice: "Recommendation | ForecastRecommendation",
) -> tuple[tuple[str, ...], list[tuple[str, ...]], str]:
    """Return further columns: headings, the cells of every candidate, and a note."""
    from calibrant.results import Recommendation

    if isinstance(advice, Recommendation):
        rows: list[tuple[str, ...]] = [
            (few_percent(one.changed), significant(one.ece), significant(one.kde_ece)) for one in advice.candidates
        ]
        return ("changed", "ECE", "KDE-ECE"), rows, "changed: rows whose predicted class changes."
    shares = [(one.coverage, one.mace) for one in advice.candidates]
    cells = [tuple("" if value is None else significant(value) for value in pair) for pair in shares]
    return ("90% cover", "MACE"), cells, "90% cover: share of targets inside 90% intervals."
