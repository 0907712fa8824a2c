"""The page of an experiment: its tables and figures as one HTML file, from results only."""

from dataclasses import dataclass

from calibrant._border.numerals import between, count, number, percent, signed
from calibrant._border.text import name
from calibrant.report import experiment_figures as drawings
from calibrant.report.page import rendered
from calibrant.report.tables import side
from calibrant.results import (
    Compared,
    Comparison,
    ExperimentResult,
    Pipeline,
    SeedSummary,
    known_limits,
)
from calibrant.results.words.comparisons import judged_in_words, metric_label, of_metric, stars


@dataclass(frozen=True)
class PageCell:
    """A value as shown, its limits, its stars, and "better", "worse" or an empty text."""

    text: str
    limits: str
    stars: str
    side: str


@dataclass(frozen=True)
class PageRow:
    """A pipeline with its cells."""

    pipeline: Pipeline
    is_baseline: bool
    cells: tuple[PageCell, ...]


def value_rows(result: ExperimentResult, comparison: Comparison) -> list[PageRow]:
    """Return one row per pipeline with its values."""
    return [
        PageRow(
            pipeline,
            pipeline.name == comparison.baseline,
            tuple(_cell(comparison.entry(pipeline.name, metric), comparison.level) for metric in comparison.metrics),
        )
        for pipeline in result.pipelines
    ]


def _cell(entry: Compared, level: float) -> PageCell:
    own = known_limits(entry.interval)
    limits = "" if own is None else f"{number(own[0])} to {number(own[1])}"
    return PageCell(number(entry.value), limits, stars(entry.difference, level), side(entry))


def seed_rows(result: ExperimentResult) -> list[PageRow]:
    """Return one row per pipeline with means and ranges over seeds."""
    first = result.comparisons[0]
    found = {(s.pipeline, s.metric): s for s in result.summary}
    return [
        PageRow(
            pipeline,
            pipeline.name == first.baseline,
            tuple(_over_seeds(found[pipeline.name, metric], len(result.seeds)) for metric in first.metrics),
        )
        for pipeline in result.pipelines
    ]


def _over_seeds(summary: SeedSummary, n_seeds: int) -> PageCell:
    votes = {"better": summary.n_better, "worse": summary.n_worse}
    side = next((key for key, votes_for in votes.items() if votes_for == n_seeds), "")
    words = ", ".join(f"{votes_for} of {n_seeds} {key}" for key, votes_for in votes.items() if votes_for)
    return PageCell(number(summary.mean), f"{number(summary.least)} to {number(summary.greatest)}", words, side)


def difference_words(entry: Compared, level: float) -> str:
    """Return a difference with its limits, if it has some."""
    difference = entry.difference
    if difference is None:
        return ""
    limits = known_limits(difference)
    shown = "" if limits is None else f", {between(limits, signed)}"
    return f"{signed(difference.value)}{stars(difference, level)}{shown}"


def findings(comparison: Comparison) -> list[tuple[str, list[str], list[str]]]:
    """Return, for every other pipeline, the metrics in which it is better and worse than the baseline.

    Two stars follow a metric whose difference stays significant after Holm's adjustment.
    """
    found = []
    for model in comparison.models:
        sides: dict[str, list[str]] = {"better": [], "worse": []}
        for metric in comparison.metrics:
            entry = comparison.entry(model, metric)
            if side(entry):
                sign = stars(entry.difference, comparison.level).removeprefix("*").replace("*", "**")
                sides[side(entry)].append(f"{metric_label(comparison, metric)}{sign}")
        if model != comparison.baseline:
            found.append((name(model), sides["better"], sides["worse"]))
    return found


def setting_rows(result: ExperimentResult) -> list[tuple[str, str]]:
    """Return what was done, for the end of the page."""
    first = result.comparisons[0]
    rows = [
        ("Data", result.data),
        ("Test rows", count(first.n_samples)),
        ("Seeds", ", ".join(map(str, result.seeds))),
        ("Baseline", name(first.baseline)),
        ("Bootstrap samples", count(first.n_resamples)),
    ]
    return rows + [(name(key), name(value, limit=200)) for key, value in result.settings.items()]


SOURCES = {"bundled": "the logits that come with calibrant", "logits": "the logits of the experiment"}
"""What a source of data is in a sentence; others are names of data sets."""


def source(result: ExperimentResult) -> str:
    """Return where the rows come from, for a sentence."""
    return SOURCES.get(result.data, name(result.data))


def limits_read(comparison: Comparison) -> str:
    """Say what a line in the figures of differences is."""
    if comparison.rule == "percentile":
        return (
            "For calibration errors, a line is the range over the bootstrap samples, which chance shifts; its colour "
            "is decided by the debiased errors."
        )
    return (
        f"A line spans the {percent(comparison.level)} limits of a difference, and has a colour where these exclude 0."
    )


PAGE = {
    "value_rows": value_rows,
    "seed_rows": seed_rows,
    "difference_words": difference_words,
    "rule": judged_in_words,
    "findings": findings,
    "setting_rows": setting_rows,
    "source": source,
    "of_metric": of_metric,
    "limits_read": limits_read,
    "metric_label": metric_label,
}
"""The functions that the template calls."""


def render_experiment(result: ExperimentResult) -> str:
    """Render an experiment as one HTML page that needs only a browser.

    The page makes no network request, has no script, and the same result always gives the same page.

    Parameters
    ----------
    result : ExperimentResult

    Returns
    -------
    str
        Write it to a file in UTF-8.
    """
    return rendered(
        "experiment.html",
        result.title,
        sheet="experiment.css",
        result=result,
        metrics=[of_metric(result.comparisons[0], metric) for metric in result.comparisons[0].metrics],
        version=result.settings.get("version", ""),
        page=PAGE,
        drawings=drawings,
    )
