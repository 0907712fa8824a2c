"""Files written again with calibrated predictive distributions beside the original ones, or in their place."""

import os
from collections.abc import Callable, Mapping
from typing import Unpack

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Normal, Quantiles, Samples
from calibrant.io.forecast_columns import Arguments, ForecastOptions, as_forecast_request
from calibrant.io.forecasts import law_of
from calibrant.io.rewrite import ADDED, by_column, rewrite
from calibrant.io.sources import Numbers, Source

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
    **options: Unpack[ForecastOptions],
) -> tuple[str, ...]:
    """Write a table or an archive again with columns of calibrated forecasts, and return their names.

    Parameters
    ----------
    path, out, drop_missing
        As for `rewrite_probabilities`.
    transform : callable
        From the laws in the file to calibrated ones, or to columns by name, such as the ends of intervals. If `other`
        is named, it is also given that column of the same rows.
    other : str, optional
        A column of any type that the new numbers depend on, such as groups.
    replace : bool, default=False
        Whether the new columns replace the old ones, which needs laws of the same kind. Else they are added, with
        "calibrated_" before their names; those of laws that are no longer normal are mean, sd and five quantiles.
    **options
        As for `read_forecasts`.
    """
    request = as_forecast_request(needs_target=False, **options)

    def choose(source: Source) -> Arguments:
        return {key: names for key, names in source.choose_forecasts(request).items() if key != "weights"}

    def calibrated(
        source: Source, columns: Arguments, numbers: Numbers, *more: dict[str, object]
    ) -> dict[str, FloatArray]:
        law = law_of(source, numbers, columns, request)
        given = [column for named in more for column in named.values()]
        return _columns_of(transform(law, *given), law, columns, replace=replace)

    others = () if other is None else (other,)
    return rewrite(path, out, choose, calibrated, others=others, replace=replace, drop_missing=drop_missing)


def _columns_of(
    law: Distribution | Mapping[str, FloatArray],
    before: Distribution,
    columns: Arguments,
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
            "the calibrated distributions are of a different kind from those in the file: leave out replace=True."
        )
    names = [columns[key][0] for key in ("loc", "scale")] if "loc" in columns else ["mean", "sd"]
    sd = law.sd()
    moments = {f"{ADDED}{names[0]}": law.mean(), f"{ADDED}{names[1]}": np.where(np.isfinite(sd), sd, np.nan)}
    quantiles = law.quantile(list(SHOWN)).T
    return moments | {f"{ADDED}q{level:g}": q for level, q in zip(SHOWN, quantiles, strict=True)}


def _same_columns(law: Distribution, before: Distribution, columns: Arguments) -> dict[str, FloatArray]:
    """Return the columns of laws of the same kind as before, by the old names; nothing if they are of another."""
    if isinstance(law, Samples) and isinstance(before, Samples) and law.draws.shape == before.draws.shape:
        return by_column(columns["draws"], law.draws)
    if isinstance(before, Quantiles):
        values = law.values if isinstance(law, Quantiles) else law.quantile(before.levels)
        return by_column(columns["values"], values)
    if isinstance(law, Normal) and isinstance(before, Normal):
        return {columns["loc"][0]: law.loc, columns["scale"][0]: law.scale}
    return {}
