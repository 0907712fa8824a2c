"""Names of metrics as people write them.

The tables are imported on first use, so that commands can check their options before any metric is loaded.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from calibrant._border.spellings import Spellings, meant
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.metrics.base.metric import Metric

SPELLINGS = Spellings(
    aliases={
        "ece-classwise": "ece-one-vs-rest",
        "kde-ece-multiclass": "kde-ece-one-vs-rest",
        "log-loss": "nll",
        "logloss": "nll",
        "cross-entropy": "nll",
        "brier-score": "brier",
        "mce": "ece-max",
    },
    ambiguous={
        "kde-ece-classwise": "every class against the rest, averaged, is 'kde-ece-one-vs-rest'; the rows predicted as "
        "each class are 'kde-ece-per-predicted-class'. Write one of these."
    },
)
"""Names accepted in addition to those in METRICS and FORECAST_METRICS."""

Given = TypeVar("Given")


def metric_name(given: Given, known: Collection[str] | None = None) -> Given | str:
    """Return the name of a metric in its table, by default METRICS and FORECAST_METRICS.

    Unknown names are returned unchanged, for the caller to refuse.

    Raises
    ------
    InputError
        If the name may mean two metrics.

    Examples
    --------
    >>> metric_name("ECE"), metric_name("ece-classwise"), metric_name("kde-ece-multiclass"), metric_name("eec")
    ('ece', 'ece-one-vs-rest', 'kde-ece-one-vs-rest', 'eec')
    """
    from calibrant import metrics

    if not isinstance(given, str):
        return given
    return SPELLINGS.find(given, known or {**metrics.METRICS, **metrics.FORECAST_METRICS})


def chosen_metric(metric: "Metric | str") -> "Metric":
    """Return a metric, given as itself or by its name in METRICS."""
    from calibrant.metrics.base.metric import check_metric

    if isinstance(metric, str):
        [metric] = chosen_metrics(metric).values()
    check_metric(metric)
    return metric


def chosen_metrics(
    metrics: str | Mapping[str, "Metric"] | Sequence[str], table: "Mapping[str, Metric] | None" = None
) -> Mapping[str, "Metric"]:
    """Return metrics by name, given as a mapping or as names in a table, by default METRICS."""
    from calibrant.metrics.base.metric import Metric, check_metric
    from calibrant.metrics.table import METRICS

    if isinstance(metrics, Mapping):
        for name, metric in metrics.items():
            check_metric(metric, f"metric {name!r}")
        return metrics
    if isinstance(metrics, Metric) or any(isinstance(metric, Metric) for metric in metrics):
        raise InputError('metrics must be names, but hold a metric itself. Name it: {"mine": ECE(bins=10)}.')
    known = METRICS if table is None else table
    names = [metric_name(name, known) for name in ([metrics] if isinstance(metrics, str) else metrics)]
    unknown = [name for name in names if name not in known]
    if unknown:
        where = "METRICS" if known is METRICS else "FORECAST_METRICS"
        raise InputError(
            f"metrics must be names in {where}, but {unknown[0]!r} is not. {meant(str(unknown[0]), known)}"
        )
    return {name: known[name] for name in names}
