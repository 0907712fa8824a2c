"""The rows of the table of metrics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calibrant._border.numerals import counted, number
from calibrant._border.text import capital
from calibrant.report.series import AnySeries
from calibrant.report.tables import ABSENT, limits_text, of_result
from calibrant.results import Assessment, Description, Estimate, ForecastAssessment, Interval, missing_limits
from calibrant.results.estimate import OF_CLASSES
from calibrant.results.words.metrics import (
    CALIBRATED,
    cautions,
    chance_in_words,
    fit_caveats,
    forecast_notes,
    infinity_caveats,
    why_without_value,
)


@dataclass(frozen=True)
class Cell:
    """A value of the table."""

    text: str
    best: bool = False
    interval: str = ""
    chance: str = ""

    @property
    def beneath(self) -> str:
        """What stands below the value if each assessment has a column: its limits, or the range by chance."""
        if self.interval:
            return self.interval
        return f"by chance {self.chance}" if self.chance else ""


@dataclass(frozen=True)
class MetricRow:
    """A metric with its value for every assessment, None where it was not measured."""

    key: str
    entry: Description
    settings: tuple[str, ...]
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Section:
    """Metrics that belong together."""

    label: str
    main: bool
    rows: tuple[MetricRow, ...]


def metric_sections(series: Sequence[AnySeries]) -> list[Section]:
    """Return the rows by group: the principal metrics first, then the rest, which is folded."""
    rows = metric_rows(series)
    first = _first_looked_for(series)
    sections = []
    for is_main in (True, False):
        some = [row for row in rows if (row.key in first) == is_main]
        for label in dict.fromkeys(row.entry.group or "Others" for row in some):
            members = tuple(row for row in some if (row.entry.group or "Others") == label)
            sections.append(Section(label, is_main, members))
    if not any(section.main for section in sections):
        return [replace(section, main=True) for section in sections]
    return sections


def _first_looked_for(series: Sequence[AnySeries]) -> set[str]:
    """Return the principal metrics, without averages over classes if there are two."""
    repeated = OF_CLASSES if all(map(_has_two_classes, series)) else ()
    found = {key: of_result(estimate, key) for s in series for key, estimate in s.assessment.metrics.items()}
    return {key for key, entry in found.items() if entry.principal and not key.endswith(repeated)}


def metric_rows(series: Sequence[AnySeries]) -> list[MetricRow]:
    """Return one row per metric, in the order in which they first occur."""
    keys = dict.fromkeys(key for s in series for key in s.assessment.metrics)
    return [_metric_row(key, series) for key in keys]


def _metric_row(key: str, series: Sequence[AnySeries]) -> MetricRow:
    estimates = [s.assessment.metrics.get(key) for s in series]
    entry = of_result(next((e for e in estimates if e is not None), None), key)
    best = _best_text([e.value for e in estimates if e is not None], entry.better)
    cells = tuple(
        None if e is None else _cell(e, s.limits.get(key), best) for e, s in zip(estimates, series, strict=True)
    )
    return MetricRow(key, entry, tuple(dict.fromkeys(e.name for e in estimates if e is not None)), cells)


def _cell(estimate: Estimate, interval: Interval | None, best: str | None) -> Cell:
    if why_without_value(estimate):
        return Cell(ABSENT)
    written = number(estimate.value)
    if interval is None:
        return Cell(written, written == best)
    return Cell(written, written == best, limits_text(interval), chance_in_words(interval, number))


def _best_text(values: Sequence[float], better: str) -> str | None:
    """Return the best value as shown, so that values that look equal are all marked; None if all look equal."""
    comparable = [v for v in values if not math.isnan(v)]
    if better == "none" or len({number(v) for v in comparable}) < 2:
        return None
    return number(min(comparable) if better == "lower" else max(comparable))


def chance_note(series: Sequence[AnySeries]) -> str:
    """Say what the ranges by chance are, if there are any."""
    ranges = any(interval.null is not None for s in series for interval in s.limits.values())
    return f"the range in {CALIBRATED}" if ranges else ""


def interval_level(series: Sequence[AnySeries]) -> float | None:
    """Return the level of the intervals, if there are any."""
    return next((interval.level for s in series for interval in s.limits.values()), None)


def _has_two_classes(series: AnySeries) -> bool:
    return isinstance(series.assessment, Assessment) and series.assessment.n_classes == 2


def metric_notes(series: Sequence[AnySeries]) -> list[str]:
    """Return cautions about values for two classes, why values are infinite, and why there are no limits."""
    first = _first_looked_for(series)
    of_two = (estimate for s in series if _has_two_classes(s) for estimate in s.assessment.metrics.values())
    said = cautions((estimate.about.label, estimate) for estimate in of_two if estimate.about)
    notes = [*dict.fromkeys(f"The {words}." for words in said)]
    for s in series:
        named = [(of_result(estimate, key).label, estimate) for key, estimate in s.assessment.metrics.items()]
        notes += [f"{s.label}: {note}." for note in (*infinity_caveats(named), *fit_caveats(named))]
    of_models: dict[str, list[str]] = {}
    for s in series:
        for note in (*_without_limits(s, first), *_of_forecasts(s)):
            of_models.setdefault(note, []).append(s.label)
    for note, models in of_models.items():  # What holds for some models names them.
        notes.append(capital(note) if len(models) == len(series) else f"{', '.join(models)}: {note}")
    return list(dict.fromkeys(notes))


def _without_limits(series: AnySeries, first: set[str]) -> list[str]:
    """Say which metrics have no limits, and why."""
    notes, metrics = [], series.assessment.metrics
    for reason, keys in missing_limits((key, series.limits.get(key)) for key in metrics).items():
        principal = [key for key in keys if key in first]
        shown = principal if principal and len(keys) > len(principal) + 1 else keys
        labels = "; ".join(of_result(metrics[key], key).label for key in shown)
        rest = len(keys) - len(shown)
        others = f" and {counted(rest, 'other')}" if rest else ""
        notes.append(f"no interval of known coverage for {labels}{others}: {reason}.")
    return notes


def _of_forecasts(series: AnySeries) -> list[str]:
    """Return the notes on limits and ranks of forecasts; none for classes."""
    found = series.assessment
    if not isinstance(found, ForecastAssessment):
        return []
    said = forecast_notes(found, found.metrics, lambda key: of_result(found.metrics[key], key).label)
    return [f"{words}." for words in said]
