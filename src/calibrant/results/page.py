"""The page about calibration, with what it shows."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.results.reading import Readable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calibrant.results.core import Assessment
    from calibrant.results.forecasts import ForecastAssessment


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Page(Readable):
    """One self-contained page; a notebook shows it.

    Attributes
    ----------
    title : str
    assessments : mapping of str to Assessment or ForecastAssessment
        What the page shows, by the names of the models.
    path : Path or None
        Where it was written.
    html : str
        The page itself.
    """

    title: str
    assessments: "Mapping[str, Assessment | ForecastAssessment]"
    path: Path | None = None
    html: str
