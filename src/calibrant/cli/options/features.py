"""Columns of features, which define groups of rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant.cli.options.reading import INPUT, EitherSource, names_in
from calibrant.exceptions import InputError
from calibrant.io import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from calibrant.cli.options.reading import Columns
    from calibrant.forecasts import Forecasts
    from calibrant.predictions import Predictions

METHOD = "groups"
"""The method that fixes groups; all other methods are calibrators."""

Features = Annotated[str | None, Parameter(group=INPUT)]


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
