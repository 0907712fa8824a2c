"""The rule: which calibrators of predictive distributions are worth trying, by the laws and the number of rows."""

from dataclasses import dataclass
from typing import Literal

from calibrant.forecasts import Distribution, Quantiles, Samples

Kind = Literal["density", "columns", "ensemble", "few members", "vector"]
"""Laws on the line with a density; columns of quantiles and other laws without; ensembles; vectors with a density."""

MEMBERS = 50
"""Ensembles of fewer members are inflated by moments: the fair CRPS would make them too wide (docs)."""


@dataclass(frozen=True)
class ForecastRow:
    """One line of the rule: when a calibrator is a candidate.

    Attributes
    ----------
    name : str
        Of a calibrator in `FORECAST_CALIBRATORS`, or of a composition.
    kinds : tuple of {"density", "columns", "ensemble", "few members", "vector"}
        Which laws it is tried for.
    least_rows : int
    """

    name: str
    kinds: tuple[Kind, ...]
    least_rows: int


FORECAST_RULE = (
    ForecastRow("scale", ("density", "vector"), 20),
    ForecastRow("inflate-moments", ("few members",), 20),
    ForecastRow("inflate", ("ensemble",), 20),
    ForecastRow("scale-crps", ("columns",), 20),
    ForecastRow("offset-scale", ("density",), 50),
    ForecastRow("shift-scale", ("density",), 50),
    ForecastRow("shift-scale-crps", ("columns",), 50),
    ForecastRow("spread-by-level", ("density",), 200),
    ForecastRow("student", ("density",), 200),
    ForecastRow("quantile-shift", ("columns",), 200),
    ForecastRow("shift-scale>pit", ("density",), 200),
)
"""Every candidate, from the simplest to the most flexible."""


def kind_of(law: Distribution) -> Kind | None:
    """Return which kind of laws these are for the rule; None if there is no candidate for them."""
    if isinstance(law, Samples):
        return "ensemble" if law.n_draws >= MEMBERS else "few members"
    if law.event_shape:
        return "vector" if law.has_density else None
    return "density" if law.has_density else "columns"


def forecast_shortlist(law: Distribution, n_rows: int) -> tuple[str, ...]:
    """Return the calibrators that are worth trying for these laws, from the simplest to the most flexible.

    Parameters
    ----------
    law : Distribution
    n_rows : int
        Rows that they are fitted to.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> forecast_shortlist(Normal([0.0], 1.0), 100)
    ('scale', 'offset-scale', 'shift-scale')
    >>> forecast_shortlist(Samples([[0.0, 1.0]]), 1000)
    ('inflate-moments',)
    """
    kind = kind_of(law)
    names = (row.name for row in FORECAST_RULE if kind in row.kinds and n_rows >= row.least_rows)
    return tuple(name for name in names if name != "quantile-shift" or isinstance(law, Quantiles))
