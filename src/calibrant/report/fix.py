"""Before and after a fix, or one model and others: what changed on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite

from calibrant._border.numerals import number, percent, pvalue, signed
from calibrant._border.text import capital
from calibrant.report.diagram import reliability_diagram
from calibrant.report.series import AnySeries, Series
from calibrant.report.tables import side, signed_limits
from calibrant.report.views import named_curves
from calibrant.results import (
    Candidate,
    Compared,
    Comparison,
    Description,
    Fix,
    ForecastCandidate,
    ForecastRecommendation,
    Recommendation,
    bandwidth_in_words,
    known_limits,
    limits_in_words,
    missing_differences,
    rule_in_words,
)
from calibrant.results.drawing import svg
from calibrant.results.drawing.svg import Element, Scale
from calibrant.results.words.comparisons import metric_label, of_metric

TILES = ("accuracy", "nll", "rms-debiased", "crps-fair", "crps", "interval-coverage", "mace")
"""Metrics that are shown large."""


@dataclass(frozen=True)
class Change:
    """One metric of one model against the baseline."""

    entry: Description
    before: str
    after: str
    difference: str
    limits: str
    pvalue: str
    verdict: str
    figure: Element | None


def changes(comparison: Comparison, model: str) -> list[Change]:
    """Return how every metric of a model differs from that of the baseline."""
    return [_change(comparison, model, metric) for metric in comparison.metrics]


def others(comparison: Comparison) -> list[str]:
    """Return the models that are compared with the baseline."""
    return [model for model in comparison.models if model != comparison.baseline]


def _change(comparison: Comparison, model: str, metric: str) -> Change:
    entry, base = comparison.entry(model, metric), comparison.entry(comparison.baseline, metric)
    difference, known, verdict = entry.difference, known_limits(entry.difference), judged(entry, comparison.level)
    return Change(
        entry=of_metric(comparison, metric),
        before=number(base.value),
        after=number(entry.value),
        difference="" if difference is None else signed(difference.value),
        limits=signed_limits(difference),
        pvalue="" if difference is None or known is None else pvalue(difference.adjusted),
        verdict=verdict,
        figure=None if difference is None or known is None else _interval(difference.value, *known, verdict),
    )


def judged(entry: Compared, level: float) -> str:
    """Say whether the change is an improvement beyond chance, by its interval and the adjusted p-value beside it."""
    if known_limits(entry.difference) is None or entry.better == "none":
        return ""
    return "could be chance" if _is_alone(entry, level) else side(entry) or "could be chance"


def _is_alone(entry: Compared, level: float) -> bool:
    """Return whether the interval excludes 0 although the p-value adjusted for several differences is not small."""
    return bool(side(entry)) and entry.difference is not None and entry.difference.adjusted > 1 - level


def alone(comparison: Comparison) -> str:
    """Say which differences have an interval that excludes 0, while the adjusted p-value does not confirm it."""
    entries = [comparison.entry(model, metric) for metric in comparison.metrics for model in others(comparison)]
    found = [entry for entry in entries if _is_alone(entry, comparison.level)]
    labels = dict.fromkeys(metric_label(comparison, entry.metric) for entry in found)
    if not labels:
        return ""
    return f" {'; '.join(labels)}: the interval excludes 0, but among several differences this one could be chance."


def _interval(value: float, low: float, high: float, verdict: str) -> Element | None:
    """Draw a difference with its limits, and where 0 is."""
    if not all(map(isfinite, (value, low, high))):
        return None
    ends = min(0.0, value, low), max(0.0, value, high)
    span = (ends[1] - ends[0]) or 1.0
    x = Scale(ends[0] - 0.08 * span, ends[1] + 0.08 * span, 0, svg.ROW_WIDTH)
    class_ = f"interval {verdict.replace(' ', '-')}".strip()
    return svg.row_figure(x(0), (x(low), x(high)), svg.row_mark(x(value)), class_=class_)


def headline(how: Fix) -> str:
    """Name the method: in the words of the recommendation, or the method that the caller chose."""
    if how.recommendation is None:
        return f"The fix: {how.method}."
    return how.recommendation.headline


def honest(how: Fix) -> str:
    """Say why the numbers after the fix can be believed."""
    doubt = "" if how.converged else " Its optimiser did not converge in every fold: do not rely on it."
    return (
        f"Every row was calibrated by a fit to the other {how.n_folds - 1} of {how.n_folds} folds, so no row was "
        f"judged by a map that had seen its {'value' if how.changed is None else 'label'}.{doubt}"
    )


def tiles(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the values of a few metrics before and after, for a fix."""
    before, after = (comparison.of(model) for model in (comparison.baseline, others(comparison)[0]))
    return [(metric_label(comparison, m), number(before[m]), number(after[m])) for m in TILES if m in before]


def overlay(series: Sequence[AnySeries]) -> Element | None:
    """Draw the isotonic curves of all series, without bands, on the same axes; forecasts share axes elsewhere."""
    classes = [s for s in series if isinstance(s, Series)]
    curves = {index: replace(curve, low=None, high=None) for index, curve in named_curves(classes, "isotonic").items()}
    return reliability_diagram(classes, curves, "fix-overlay") if len(curves) > 1 else None


def unknown(comparison: Comparison) -> list[str]:
    """Say which differences have no limits with known coverage, and why."""
    missing = missing_differences(comparison, partial(metric_label, comparison))
    return [f"{'; '.join(what)}: {reason}" for reason, what in missing.items()]


def origin(comparison: Comparison) -> str:
    """Say how the limits were computed, as the beginning of a sentence."""
    return capital(limits_in_words(comparison, named=partial(metric_label, comparison)))


def rule(comparison: Comparison) -> str:
    """Say how far the rule of significance can be trusted, if it is not the valid one."""
    words = rule_in_words(comparison)
    return f" {capital(words)}." if words else ""


def bandwidth(comparison: Comparison) -> str:
    """Say which metrics share a bandwidth here, so that their values differ from those in the table of metrics."""
    words = bandwidth_in_words(comparison, partial(metric_label, comparison))
    return f" {words}; in the table of metrics each model has its own." if words else ""


def headings(advice: Recommendation | ForecastRecommendation) -> tuple[str, ...]:
    """Return what the table of candidates shows for information."""
    if isinstance(advice, ForecastRecommendation):
        return ("90% coverage", "MACE")
    return ("Accuracy", "KDE-ECE", "Classes changed")


def cells(candidate: Candidate | ForecastCandidate) -> tuple[str, ...]:
    """Return what these columns hold for one candidate."""
    if isinstance(candidate, ForecastCandidate):
        return tuple("" if value is None else number(value) for value in (candidate.coverage, candidate.mace))
    return (number(candidate.accuracy), number(candidate.kde_ece), percent(candidate.changed))
