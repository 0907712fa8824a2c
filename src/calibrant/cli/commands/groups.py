"""`calibrant groups`: groups of rows whose predictions are off, although all rows together may look fine."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from calibrant._border.numerals import between, count, decimals, percent, pvalue_cell
from calibrant.cli.options.reading import INPUT, JUDGING, Cluster, EitherSource, File, Seed, expanded, names_in, title
from calibrant.cli.printing import show
from calibrant.exceptions import InputError
from calibrant.io import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.options.reading import Columns
    from calibrant.forecasts import Forecasts
    from calibrant.predictions import Predictions
    from calibrant.results import FoundGroup, GroupFindings

METHOD = "groups"
"""The method that fixes groups; all other methods are calibrators."""

Features = Annotated[str | None, Parameter(group=INPUT)]

MOST_SHOWN = 10
"""Number of groups, and of omitted columns, that are printed."""

NOTES = (
    "off by: observed minus predicted, with limits. p: adjusted for all groups examined. worth: how much the log loss "
    "of all rows falls if the log-odds of this group are shifted; the shift is learnt and measured on different rows."
)

FORECAST_NOTES = (
    "mean place: mean of u, the place of a target in its forecast; 50% if calibrated. off by, with limits: that minus "
    "50%; for forecasts that are too narrow or too wide, the mean of (2 u - 1)^2 minus 1/3. p: adjusted for all groups "
    "examined. worth: how much the CRPS of all rows falls if this group is shifted and scaled; both are learnt and "
    "measured on different rows."
)


def command(  # noqa: PLR0913 (each is one decision of the user)
    *files: File,
    features: Features = None,
    cluster: Cluster = None,
    source: EitherSource = EitherSource(),
    depth: Annotated[int, Parameter(group=JUDGING)] = 3,
    alpha: Annotated[float, Parameter(group=JUDGING)] = 0.05,
    least_rows: Annotated[int, Parameter(group=JUDGING)] = 50,
    every_class: Annotated[bool, Parameter(group=JUDGING)] = False,
    fail_if_found: Annotated[bool, Parameter(group=JUDGING)] = False,
    seed: Seed = 0,
) -> int:
    """Find the groups of rows in FILES whose predictions are off beyond chance.

    Groups are defined by the values of up to three columns, or are the leaves of a small tree. Their number is taken
    into account: if no prediction is off, the probability of finding any group is at most 5%. To judge groups that
    you already know, use evaluate --by. Forecasts are read with --mean and --sd, with --draws or with --quantiles.

    For example:
      calibrant groups predictions.csv
      calibrant groups predictions.csv --label y --probs score --features 'x_*'
      calibrant groups predictions.parquet --features region,age,device --cluster patient --fail-if-found
      calibrant groups forecasts.csv --label y --mean mu --sd sigma --features station,hour

    Parameters
    ----------
    files
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ with predictions, labels and columns of features. The rows of several
        files are taken together.
    features
        Columns of features: a pattern such as 'x_*', or a comma-separated list; by default all other columns. Numbers
        are cut into thirds; columns that identify rows, or have a single value, are left out.
    depth
        Largest number of columns that define a group.
    alpha
        Largest probability of finding any group if no prediction is off.
    least_rows
        Smallest number of rows in a group.
    every_class
        With more than two classes, examine every class against the rest instead of the predicted class.
    fail_if_found
        Exit with code 1 if any group is found.
    seed
        Seed of the split into halves: one grows the tree, the other tests it.
    """
    from calibrant.groups import GroupSearch

    source.check()
    source.refuse_for_forecasts({"--every-class": every_class})
    classes: Literal["each", "top"] = "each" if every_class else "top"
    search = GroupSearch(depth=depth, alpha=alpha, least_rows=least_rows, classes=classes)
    paths = expanded(files)
    data, table, clusters = read_features(paths, source, features, cluster)
    with show.listening_bar("searching groups", quiet=source.silent):
        found = search(data, features=table, clusters=clusters, rng=seed)
    if source.json:
        show.print_json(found)
    else:
        print_findings(found)
    words = f"{found.n_found} group{'s' if found.n_found > 1 else ''} found"
    failures = [f"{title(paths)}: {words}"] if fail_if_found and found.n_found else []
    return show.report_failures(failures)


def read_features(
    files: Sequence[Path], source: EitherSource, features: str | None, cluster: str | None = None
) -> "tuple[Predictions | Forecasts, Columns, NDArray[np.generic] | None]":
    """Read predictions or forecasts, the columns of features, and the clusters if they are named."""
    names = feature_columns(files, source, features, cluster)
    data, others = source.either(files, *names, cluster)
    return data, {name: others[name] for name in names}, others.get(cluster or "")


def feature_columns(
    files: Sequence[Path], source: EitherSource, features: str | None, cluster: str | None = None
) -> list[str]:
    """Return the columns of features; refuse one that follows a space, where a file is expected."""
    from calibrant.io.opening import column_names, feature_names

    for path in files[1:]:
        if not path.exists() and str(path) in column_names(files[0]):
            raise InputError(
                f"{printable(path)} is not a file but a column of {printable(files[0].name)}. "
                f"Separate columns by commas: --features one,{printable(path)}."
            )
    request = source.forecast_request() if source.are_forecasts else source.request()
    return [name for name in feature_names(files[0], request, names_in(features)) if name != cluster]


def print_findings(found: "GroupFindings") -> None:
    """Print the findings in words, then the groups that stand alone, and the columns that were left out."""
    show.print_lines([found.headline], "bold yellow" if found.found else "bold green")
    show.print_lines([found.explanation])
    if found.found:
        _print_table([group for group in found.found if group.stands_alone], of_forecasts=found.of_forecasts)
    show.print_lines(left_out_lines(found.left_out))


def left_out_lines(columns: Mapping[str, str]) -> list[str]:
    """Return lines about columns from which no groups are made, and why."""
    if not columns:
        return []
    named = [f"  {name}: {reason}" for name, reason in list(columns.items())[:MOST_SHOWN]]
    more = len(columns) - len(named)
    return ["", "Columns left out:", *named, *([f"  and {more} more"] if more else [])]


def _print_table(groups: "Sequence[FoundGroup]", *, of_forecasts: bool) -> None:
    means = ("mean place", "90% cover") if of_forecasts else ("predicted", "observed")
    lines = [(_label(group), count(group.n_rows), *_means(group), *_numbers(group)) for group in groups[:MOST_SHOWN]]
    show.print_lines([""])
    show.print_table(("group", "rows", *means, "off by", "p"), lines)
    show.print_lines([FORECAST_NOTES if of_forecasts else NOTES], "dim")


def _label(group: "FoundGroup") -> Text:
    event = f" ({group.event})" if group.event else ""
    half = "\n  leaf, on half the rows" if group.is_on_half else ""
    return Text(f"{printable(group.label + event)}\n  {group.direction}, worth {decimals(group.worth, 4)}{half}")


def _means(group: "FoundGroup") -> tuple[str, str]:
    if group.coverage is None:
        return percent(group.predicted, 1), percent(group.observed, 1)
    return percent(group.observed, 1) if group.what == "bias" else "", percent(group.coverage, 1)


def _numbers(group: "FoundGroup") -> tuple[str, str]:
    limits = between((group.low, group.high), partial(decimals, sign=True))
    return f"{decimals(group.size, sign=True)}\n{limits}".rstrip(), pvalue_cell(group.adjusted)
