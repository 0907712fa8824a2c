"""Names of metrics as people write them."""

from collections.abc import Collection
from typing import Any

from calibrant._names import Spellings

SPELLINGS = Spellings(
    aliases={"ece-classwise": "ece-one-vs-rest", "kde-ece-multiclass": "kde-ece-one-vs-rest"},
    ambiguous={
        "kde-ece-classwise": "every class against the rest, averaged, is 'kde-ece-one-vs-rest'; the rows predicted as "
        "each class are 'kde-ece-per-predicted-class'. Write one of these."
    },
)
"""What is accepted beside the names in METRICS and FORECAST_METRICS."""


def metric_name(given: Any, known: Collection[str] | None = None) -> Any:
    """Return the name of a metric in its table, METRICS and FORECAST_METRICS unless told otherwise.

    What is not known comes back as it is, for the caller to refuse.

    Raises
    ------
    InputError
        If the name may mean two metrics.

    Examples
    --------
    >>> metric_name("ECE"), metric_name("ece-classwise"), metric_name("kde-ece-multiclass"), metric_name("eec")
    ('ece', 'ece-one-vs-rest', 'kde-ece-one-vs-rest', 'eec')
    """
    from calibrant.metrics import FORECAST_METRICS, METRICS

    return SPELLINGS.find(given, known or {**METRICS, **FORECAST_METRICS}) if isinstance(given, str) else given
