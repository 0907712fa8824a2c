"""Files written again with calibrated predictive distributions beside the original ones, or in their place."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Normal, Quantiles, Samples
from calibrant.io.forecast_columns import as_forecast_request
from calibrant.io.forecasts import WORDS, law_of
from calibrant.io.missing import LeftOut, complete_rows, taken
from calibrant.io.read import open_source
from calibrant.io.rewrite import ADDED, by_column, check_formats, check_new, complete, warn_uncalibrated, write_copy
from calibrant.io.sources import located

SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that describe a law which is no longer normal."""


def rewrite_forecasts(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    transform: Callable[..., Distribution | Mapping[str, FloatArray]],
    *,
    other: str | None = None,
    replace: bool = False,
    drop_missing: bool = False,
    **options: Any,
) -> tuple[str, ...]:
    """Write a file again with columns of calibrated forecasts, completely or not at all.

    Parameters
    ----------
    path : str or path
        CSV, JSON Lines, Parquet, Arrow IPC or NPZ. Targets are not needed.
    out : str or path
        Its extension names the format; archives are written as archives.
    transform : callable
        From the laws in the file to calibrated ones, or to columns by name, such as the ends of intervals. If `other`
        is named, it is also given that column of the same rows.
    other : str, optional
        A column of any type that the new numbers depend on, such as groups.
    replace : bool, default=False
        Whether the new columns replace the old ones, which needs laws of the same kind. Else they are added, with
        "calibrated_" before their names; those of laws that are no longer normal are mean, sd and five quantiles.
    drop_missing : bool, default=False
        Whether rows in which a number is missing are left as they are, with nothing in the new columns.
    **options
        As for `read_forecasts`.

    Returns
    -------
    tuple of str
        The columns that were written.
    """
    request = dataclasses.replace(as_forecast_request(**options), needs_target=False)
    with open_source(path) as source:
        check_formats(source, out)
        columns = {key: names for key, names in source.choose_forecasts(request).items() if key != "weights"}
        numbers = source.read(columns)
        left_out = LeftOut() if drop_missing else None
        rows = complete_rows(source, numbers, columns, left_out=left_out)
        with located(source, columns, WORDS):
            law = law_of(source, {k: taken(v, rows) for k, v in numbers.items()}, columns, request)
        more = () if other is None else (taken(source.column(other), rows),)
        with located(source, columns, WORDS):
            new = _columns_of(transform(law, *more), law, columns, replace=replace)
        if left_out is not None:
            warn_uncalibrated(left_out, stacklevel=3)
        check_new(source, () if replace else tuple(new))
        old = tuple(name for names in columns.values() for name in names)
        write_copy(source, out, old, {name: complete(values, rows) for name, values in new.items()})
    return tuple(new)


def _columns_of(
    law: Distribution | Mapping[str, FloatArray],
    before: Distribution,
    columns: Mapping[str, tuple[str, ...]],
    *,
    replace: bool,
) -> dict[str, FloatArray]:
    """Return the columns that describe calibrated laws, by name."""
    if isinstance(law, Mapping):
        if replace:
            raise InputError("intervals cannot replace the distributions in the file: leave out replace=True.")
        return {f"{ADDED}{name}": values for name, values in law.items()}
    if same := _same_columns(law, before, columns):
        return {f"{'' if replace else ADDED}{name}": values for name, values in same.items()}
    if replace:
        raise InputError(
            "the calibrated distributions are of another kind than those in the file: leave out replace=True."
        )
    names = [columns[key][0] for key in ("loc", "scale")] if "loc" in columns else ["mean", "sd"]
    sd = law.sd()
    moments = {f"{ADDED}{names[0]}": law.mean(), f"{ADDED}{names[1]}": np.where(np.isfinite(sd), sd, np.nan)}
    quantiles = law.quantile(list(SHOWN)).T
    return moments | {f"{ADDED}q{level:g}": q for level, q in zip(SHOWN, quantiles, strict=True)}


def _same_columns(
    law: Distribution, before: Distribution, columns: Mapping[str, tuple[str, ...]]
) -> dict[str, FloatArray]:
    """Return the columns of laws of the same kind as before, by the old names; nothing if they are of another."""
    if isinstance(law, Samples) and isinstance(before, Samples) and law.draws.shape == before.draws.shape:
        return by_column(columns["draws"], law.draws)
    if isinstance(before, Quantiles):
        values = law.values if isinstance(law, Quantiles) else law.quantile(before.levels)
        return by_column(columns["values"], values)
    if isinstance(law, Normal) and isinstance(before, Normal):
        return {columns["loc"][0]: law.loc, columns["scale"][0]: law.scale}
    return {}
