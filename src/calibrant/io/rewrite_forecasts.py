"""Files written again with calibrated predictive distributions beside the original ones, or in their place."""

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Normal, Quantiles, Samples
from calibrant.io.columns import CALIBRATED, Chosen, Columns
from calibrant.io.forecasts import law_of
from calibrant.io.request import ForecastRequest
from calibrant.io.rewrite import by_column, rewrite
from calibrant.io.sources import Numbers, Source

SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles that describe a law which is no longer normal."""


def rewrite_forecasts(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    transform: Callable[..., Distribution | Mapping[str, FloatArray]],
    request: ForecastRequest,
    *,
    others: Sequence[str] = (),
    replace: bool = False,
) -> tuple[str, ...]:
    """Write a table or an archive again with columns of calibrated forecasts, and return their names.

    Parameters
    ----------
    path, out, others
        As for `rewrite_probabilities`.
    transform : callable
        Maps the laws in the file to calibrated ones, or to columns by name, such as the ends of intervals. If `others`
        are named, its second argument is a dict of these columns of the same rows.
    request : ForecastRequest
    replace : bool, default=False
        Replace the old columns, which needs laws of the same kind. By default the new columns are added, with
        "calibrated_" before their names; laws that are no longer normal get a mean, an sd and five quantiles.
    """

    def calibrated(source: Source, columns: Columns, numbers: Numbers, *more: object) -> dict[str, FloatArray]:
        law = law_of(source, numbers, columns, request)
        return _columns_of(transform(law, *more), law, columns.numbers, replace=replace)

    return rewrite(path, out, request, calibrated, others=others, replace=replace)


def _columns_of(
    law: Distribution | Mapping[str, FloatArray],
    before: Distribution,
    columns: Chosen,
    *,
    replace: bool,
) -> dict[str, FloatArray]:
    """Return the columns that describe calibrated laws, by name."""
    if isinstance(law, Mapping):
        if replace:
            raise InputError("intervals cannot replace the distributions in the file: leave out replace=True.")
        return {f"{CALIBRATED}{name}": values for name, values in law.items()}
    if same := _same_columns(law, before, columns):
        return {f"{'' if replace else CALIBRATED}{name}": values for name, values in same.items()}
    if replace:
        raise InputError(
            "the calibrated distributions are of a different kind from those in the file: leave out replace=True."
        )
    names = [columns[key][0] for key in ("loc", "scale")] if "loc" in columns else ["mean", "sd"]
    sd = law.sd()
    moments = {f"{CALIBRATED}{names[0]}": law.mean(), f"{CALIBRATED}{names[1]}": np.where(np.isfinite(sd), sd, np.nan)}
    quantiles = law.quantile(list(SHOWN)).T
    return moments | {f"{CALIBRATED}q{level:g}": q for level, q in zip(SHOWN, quantiles, strict=True)}


def _same_columns(law: Distribution, before: Distribution, columns: Chosen) -> dict[str, FloatArray]:
    """Return the columns of laws of the same kind as before, by the old names; nothing if the kind has changed."""
    if isinstance(law, Samples) and isinstance(before, Samples) and law.draws.shape == before.draws.shape:
        return by_column(columns["draws"], law.draws)
    if isinstance(before, Quantiles):
        values = law.values if isinstance(law, Quantiles) else law.quantile(before.levels)
        return by_column(columns["values"], values)
    if isinstance(law, Normal) and isinstance(before, Normal):
        return {columns["loc"][0]: law.loc, columns["scale"][0]: law.scale}
    return {}
