"""Forecasts read from files."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.text import printable
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts, Normal, Quantiles, Samples
from calibrant.forecasts.joined import join
from calibrant.io.forecast_columns import LEVELS
from calibrant.io.opening import Paths, as_paths
from calibrant.io.request import ForecastRequest
from calibrant.io.rows import Others, Part, read_parts, together


def read_forecasts(  # noqa: PLR0913 (each is one decision of the user)
    path: Paths,
    *,
    target: str | None = None,
    mean: str | None = None,
    sd: str | None = None,
    draws: str | Sequence[str] | None = None,
    quantiles: str | Sequence[str] | None = None,
    weight: str | None = None,
    drop_missing: bool = False,
) -> Forecasts:
    r"""Read predictive distributions and observed targets from a file.

    The formats are those of `read_predictions`, recognised by content: CSV, perhaps compressed, Parquet, Arrow IPC,
    NPZ and NPY. A mean and a standard deviation per row give a `Normal`, draws give `Samples`, columns of quantiles
    give `Quantiles`. If nothing is said, a column with a usual name of means decides for `Normal`, even beside draws,
    and draws before quantiles. Columns that are not needed are ignored.

    Parameters
    ----------
    path : str, path, or sequence of them
        Rows of several files, or of all that match a pattern such as ``part-*.csv``, are taken together; their laws
        must be of one kind.
    target : str, optional
        Column of the targets. By default the first found of target, targets, y, y_true, label, observed and value.
        For an NPY file without fields, whose array is read as draws: the path of an NPY file with the targets.
    mean : str, optional
        Column of the means. By default the first found of mean, mu, loc, prediction and y_pred.
    sd : str, optional
        Column of the standard deviations. By default the first found of sd, std, sigma, scale and stdev. Variances
        are never taken for them.
    draws : str or list of str, optional
        Columns of the draws: names, or patterns with ``*``, whose columns are sorted by name with 2 before 10. One
        column of lists or of fixed-size arrays also gives all draws of a row in each cell, and in an NPZ file one
        array of shape (n, m), or (n, m, d) for targets of shape (n, d). By default ``draw_*``, ``sample_*`` or
        ``member_*`` with a whole number for the star, whichever is found first, else draws or samples if that is such
        a column or array.
    quantiles : str or list of str, optional
        Columns of quantiles: names, or patterns with ``*``. What stands for the star, or ends the name, is the level,
        as a share or in percent: q0.05, q05, q5, quantile_0.05, q97.5. By default ``q*`` or ``quantile*``. Rows in
        which quantiles descend are sorted, with a warning that counts them. In an NPZ file also one array of shape (n,
        m), with the m levels in an array named levels.
    weight : str, optional
        Column of the weights.
    drop_missing : bool, default=False
        Leave out rows in which a value is missing, with a warning that counts them.

    Returns
    -------
    Forecasts

    Raises
    ------
    InputError
        If the content cannot be used; the message names the file, the line of a CSV file (the header is line 1) or
        the row of another file (from 0), the column, and a remedy. Also if `draws`, `quantiles` and `mean` or `sd` are
        given beside each other.
    OSError
        If the file cannot be opened or read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.csv")
    ...     _ = path.write_text("observed,mean,sd\n21.5,20.0,1.5\n18.0,19.0,2.0\n")
    ...     forecasts = read_forecasts(path)
    >>> forecasts
    Forecasts(Normal(n=2, dim=1))
    >>> forecasts.targets.tolist()
    [21.5, 18.0]
    """
    request = ForecastRequest(target, mean, sd, draws, quantiles, weight, drop_missing)
    return read_forecast_rows(path, request)[0]


def read_forecast_rows(path: Paths, request: ForecastRequest, others: Sequence[str] = ()) -> tuple[Forecasts, Others]:
    """Read forecasts, and other columns of the same rows, from one file or several."""
    paths = as_paths(path)
    found, further = [], []
    for part in read_parts(paths, request, others):
        with part.located():
            found.append(Forecasts(law_of(part), part.numbers["targets"], part.numbers.get("weights")))
        further.append(part.others)
    return _joined(paths, found), together(further)


def _joined(paths: Sequence[str], parts: Sequence[Forecasts]) -> Forecasts:
    """Return the rows of all files one after another; their laws must be of one kind."""
    if len(parts) == 1:
        return parts[0]
    law = parts[0].distribution
    for name, part in zip(paths, parts, strict=True):
        if _kind(part.distribution) != _kind(law):
            raise InputError(
                f"{printable(paths[0])} and {printable(name)} must have forecasts of one kind to be read as one, but "
                f"have {_kind(law)} and {_kind(part.distribution)}. Read them one by one."
            )
    ends = np.cumsum([0, *(part.n_samples for part in parts)])
    places = [np.arange(start, end) for start, end in pairwise(ends.tolist())]
    return Forecasts(
        join([part.distribution for part in parts], places),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def _kind(law: Distribution) -> str:
    """Describe what laws must share to be rows of one table."""
    if isinstance(law, Samples):
        return f"ensembles of {law.n_draws} members" + (f" in {law.dim} dimensions" if law.dim > 1 else "")
    if isinstance(law, Quantiles):
        return f"quantiles at {', '.join(as_given(level) for level in law.levels)}"
    return "means and standard deviations"


def law_of(part: Part) -> Distribution:
    """Return the predictive distributions that the columns hold."""
    numbers = part.numbers
    if "draws" in numbers:
        return Samples(numbers["draws"])
    if "values" in numbers:
        levels = part.columns.levels or part.source.column(LEVELS)  # If one array holds all quantiles.
        return Quantiles(levels, numbers["values"])
    return Normal(numbers["loc"], numbers["scale"])
