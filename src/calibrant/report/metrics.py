"""The rows of the table of metrics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.report.glossary import Entry, describe
from calibrant.report.series import AnySeries
from calibrant.report.text import number
from calibrant.results import Estimate, Interval, known_limits, missing_limits

MAIN = {
    "Proper scores": ("nll", "brier"),
    "Decisions": ("accuracy",),
    "Calibration error": ("rms-debiased", "kde-ece", "ece", "smooth-ece", "ece-classwise"),
    "Scores": ("crps", "log-score"),
    "Calibration of quantiles and intervals": ("mace", "rmsce", "interval-coverage", "ence"),
    "Sharpness": ("sharpness", "interval-width"),
}
"""What a reader looks for first; proper scores come before errors, which a useless model can make small."""

FOLDED = {
    "Other calibration errors": ("rms-", "ece-", "kde-", "ecce", "dirichlet"),
    "Parts of a score": ("squared-error", "miscal", "discr", "refine", "reliability", "resolution"),
    "Kernel calibration errors": ("skce", "kce", "mmce", "ucme"),
    "Clinical measures": ("ici", "e50", "e90", "emax", "cox", "in-the-large", "oe-"),
}
"""How the names of the other metrics begin; those that fit nowhere come last."""


@dataclass(frozen=True)
class Cell:
    """A value of the table."""

    text: str
    best: bool = False
    interval: str = ""
    expected: str = ""

    @property
    def beneath(self) -> str:
        """What stands below the value where columns are for other assessments: limits, or what chance gives."""
        if self.interval:
            return self.interval
        return f"by chance {self.expected}" if self.expected else ""


@dataclass(frozen=True)
class MetricRow:
    """A metric with its value for every assessment, None where it was not measured."""

    key: str
    entry: Entry
    settings: tuple[str, ...]
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Section:
    """Metrics that belong together."""

    label: str
    main: bool
    rows: tuple[MetricRow, ...]


def metric_sections(series: Sequence[AnySeries]) -> list[Section]:
    """Return the rows in sections: what is looked for first, then the rest."""
    rows = {row.key: row for row in metric_rows(series)}
    first = [Section(label, True, tuple(rows.pop(k) for k in keys if k in rows)) for label, keys in MAIN.items()]
    folded = [
        Section(label, False, tuple(rows.pop(k) for k in [*rows] if k.startswith(starts)))
        for label, starts in FOLDED.items()
    ]
    main = any(section.rows for section in first)
    last = Section("Others", not main, tuple(rows.values()))
    return [section for section in (*first, *folded, last) if section.rows]


def metric_rows(series: Sequence[AnySeries]) -> list[MetricRow]:
    """Return one row a metric, in the order in which they first occur."""
    keys = dict.fromkeys(key for s in series for key in s.assessment.metrics)
    return [_metric_row(key, series) for key in keys]


def _metric_row(key: str, series: Sequence[AnySeries]) -> MetricRow:
    entry = describe(key)
    estimates = [s.assessment.metrics.get(key) for s in series]
    best = _best_text([e.value for e in estimates if e is not None], entry.better)
    cells = tuple(
        None if e is None else _cell(e, s.limits.get(key), best) for e, s in zip(estimates, series, strict=True)
    )
    return MetricRow(key, entry, tuple(dict.fromkeys(e.name for e in estimates if e is not None)), cells)


def _cell(estimate: Estimate, interval: Interval | None, best: str | None) -> Cell:
    written = number(estimate.value)
    if interval is None:
        return Cell(written, written == best)
    expected = "" if interval.expected is None else number(interval.expected)
    return Cell(written, written == best, _limits(interval), expected)


def _limits(interval: Interval) -> str:
    """Return limits in words, nothing if there are none."""
    return " to ".join(map(number, known_limits(interval) or ()))


def _best_text(values: Sequence[float], better: str) -> str | None:
    """Return the best value as it is shown: values that look equal are marked alike, and not at all if all do."""
    comparable = [v for v in values if not math.isnan(v)]
    if better == "none" or len({number(v) for v in comparable}) < 2:
        return None
    return number(min(comparable) if better == "lower" else max(comparable))


def interval_level(series: Sequence[AnySeries]) -> float | None:
    """Return the level of the intervals, if there are any."""
    return next((interval.level for s in series for interval in s.limits.values()), None)


def metric_notes(series: Sequence[AnySeries]) -> list[str]:
    """Say why a value is not finite, where its metric knows, and why there are no limits."""
    notes = []
    for s in series:
        for key, estimate in s.assessment.metrics.items():
            rows = estimate.details.get("infinite_rows")
            if not math.isfinite(estimate.value) and rows:
                times = "one row" if rows == 1 else f"{rows:,} rows"
                notes.append(
                    f"{describe(key).label} of {s.label} is infinite because the observed class of {times} "
                    "was given probability 0."
                )
    for s in series:
        for reason, keys in missing_limits((key, s.limits.get(key)) for key in s.assessment.metrics).items():
            labels = ", ".join(describe(key).label for key in keys)
            notes.append(f"No interval of {labels}, as none is known to cover: {reason}.")
    return list(dict.fromkeys(notes))
