"""The table of an experiment in Markdown."""

from collections.abc import Iterator, Sequence

from calibrant.report.experiment import metric_label, rule, stars
from calibrant.results import (
    Compared,
    Comparison,
    Difference,
    ExperimentResult,
    known_limits,
)
from calibrant.results.writing import four_decimals

ARROWS = {"lower": " ↓", "higher": " ↑", "none": ""}


def as_markdown(result: ExperimentResult) -> str:
    """Return all tables: over seeds if there are several, then for each seed values, intervals and differences."""
    lines = [f"# {_plain(result.title)}", "", *_about(result)]
    if len(result.seeds) > 1:
        lines += ["", f"## Mean over {len(result.seeds)} seeds, and the range", "", *_over_seeds(result)]
    for seed, comparison in zip(result.seeds, result.comparisons, strict=True):
        lines += ["", f"## Seed {seed}: values on {comparison.n_samples:,} test rows", "", *_values(comparison)]
        lines += ["", f"## Seed {seed}: differences from {_plain(comparison.baseline)}", "", *_differences(comparison)]
    return "\n".join(lines) + "\n"


def _about(result: ExperimentResult) -> list[str]:
    first = result.comparisons[0]
    share = f"{first.level:.0%}"
    words = (
        f"Data: {result.data}. Pipelines are compared with {_plain(first.baseline)} by {first.n_resamples:,} bootstrap "
        f"samples of the test rows. \\* the {share} limits of the difference exclude 0; \\*\\* also after Holm's "
        "adjustment for the number of pipelines. In brackets: limits, where a valid method is known. KDE bandwidths "
        "were chosen on the calibration rows."
    )
    return [f"{words} {_plain(rule(first))}".rstrip()]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(comparison: Comparison) -> Iterator[str]:
    better = {entry.metric: entry.better for entry in comparison.entries}
    yield _row(["pipeline", *(f"{metric_label(comparison, m)}{ARROWS[better[m]]}" for m in comparison.metrics)])
    yield _row(["---", *("---:" for _ in comparison.metrics)])


def _over_seeds(result: ExperimentResult) -> Iterator[str]:
    first = result.comparisons[0]
    yield from _head(first)
    found = {(s.pipeline, s.metric): s for s in result.summary}
    n = len(result.seeds)
    for model in first.models:
        cells = []
        for metric in first.metrics:
            s = found[model, metric]
            marks = [f"{k}/{n} {side}" for k, side in ((s.n_better, "better"), (s.n_worse, "worse")) if k]
            span = f"{four_decimals(s.mean)} ({four_decimals(s.least)} to {four_decimals(s.greatest)})"
            cells.append(", ".join([span, *marks]))
        yield _row([_plain(model), *cells])


def _values(comparison: Comparison) -> Iterator[str]:
    yield from _head(comparison)
    for model in comparison.models:
        cells = [_value(comparison.entry(model, metric), comparison.level) for metric in comparison.metrics]
        yield _row([_plain(model), *cells])


def _value(entry: Compared, level: float) -> str:
    """Return a value with its limits and the stars of its difference."""
    own = known_limits(entry.interval)
    limits = "" if own is None else f" [{four_decimals(own[0])}, {four_decimals(own[1])}]"
    return f"{four_decimals(entry.value)}{stars(entry.difference, level)}{limits}"


def _differences(comparison: Comparison) -> Iterator[str]:
    yield from _head(comparison)
    for model in comparison.models:
        if model != comparison.baseline:
            cells = [
                _difference(comparison.entry(model, metric).difference, comparison.level)
                for metric in comparison.metrics
            ]
            yield _row([_plain(model), *cells])


def _difference(difference: Difference | None, level: float) -> str:
    if difference is None:
        return ""
    limits = known_limits(difference)
    shown = "" if limits is None else f" [{limits[0]:+.3g}, {limits[1]:+.3g}]"
    return f"{difference.value:+.3g}{stars(difference, level)}{shown}"


def _plain(name: str) -> str:
    """Return a name that cannot end a cell or begin markup."""
    return "".join(f"\\{c}" if c in r"\`*_[]<>|#" else c for c in name.replace("\n", " "))
