"""`calibrant groups`: groups of rows whose predictions are off, although all rows together may look fine."""

from typing import Annotated, Literal

from cyclopts import Parameter

from calibrant.cli.options.features import Features, read_features
from calibrant.cli.options.reading import JUDGING, Cluster, EitherSource, File, Seed, expanded, title
from calibrant.cli.printing import show
from calibrant.cli.printing.groups import print_findings


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
