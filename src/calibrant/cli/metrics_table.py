"""Metrics on a terminal: in groups, with their intervals."""

from collections.abc import Mapping, Sequence
from textwrap import fill

from rich.table import Table
from rich.text import Text

from calibrant import metrics
from calibrant._border.text import suggestion
from calibrant.cli.outputs import console
from calibrant.cli.show import NAME_ROOM, folded
from calibrant.exceptions import InputError
from calibrant.metrics import METRICS, Metric
from calibrant.metrics.names import metric_name
from calibrant.results import Assessment, ForecastAssessment, Interval, known_limits, missing_limits
from calibrant.results.comparison import CALIBRATED, chance_in_words
from calibrant.results.writing import significant

ALL = "all"

ROOM = 80
"""Width of a terminal in which headings need not be folded."""


def chosen(names: Sequence[str], known: Mapping[str, Metric], default: Sequence[str]) -> list[str]:
    """Return the names of the metrics to show, in the order of the table."""
    names = [metric_name(name, known) for name in names]
    unknown = [name for name in names if name not in known and name != ALL]
    if unknown:
        meant = suggestion(unknown[0].lower(), known) or f" {_listed(known)}"
        raise InputError(f'--metrics must be "{ALL}" or names of metrics, but {unknown[0]!r} is not.{meant}')
    asked = known if ALL in names else names or default
    return [name for name in known if name in asked]


def print_metrics(assessment: Assessment | ForecastAssessment, names: Sequence[str]) -> None:
    """Print a table with a row for each metric, in groups."""
    are_forecasts = isinstance(assessment, ForecastAssessment)
    known = metrics.FORECAST_METRICS if are_forecasts else METRICS
    limits = assessment.limits if isinstance(assessment, ForecastAssessment) else assessment.intervals
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    for heading in ("95% interval", "if calibrated"):  # They fold in a narrow terminal.
        table.add_column(heading, justify="right", overflow="fold")
    shown = [name for name in names if name in assessment.metrics]
    out, longest = console(), 2 + max((min(len(name), NAME_ROOM) for name in shown), default=0)
    groups = {name: known[name].about().group for name in shown}
    for group in dict.fromkeys(groups.values()):
        members = [name for name in shown if groups[name] == group]
        if members:
            table.add_row(Text(group if out.width >= ROOM else fill(group, longest), style="bold"))
        for name in members:
            own = limits.get(name)
            value = significant(assessment.metrics[name].value)
            table.add_row(folded(f"  {name}", out.width), value, interval_text(own), chance_in_words(own, _short))
    out.print(table)
    if any(known is not None and known.null is not None for known in map(limits.get, shown)):
        out.print(Text(f"if calibrated: {CALIBRATED} of this size", style="dim"))
    for reason, without in missing_limits((name, limits.get(name)) for name in shown).items():
        out.print(Text(f"no interval for {', '.join(without)}, as none has known coverage: {reason}", style="dim"))
    if len(shown) < len(known) and not are_forecasts:
        text = f"{len(shown)} of {len(known)} metrics are shown; --metrics {ALL} shows the others"
        out.print(Text(text, style="dim"))


def interval_text(interval: Interval | None) -> str:
    """Format limits, if any."""
    return " to ".join(map(_short, known_limits(interval) or ()))


def _short(value: float) -> str:
    return f"{value:.3g}"


def _listed(known: Mapping[str, Metric]) -> str:
    return f"They are: {', '.join(known)}."
