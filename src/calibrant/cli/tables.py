"""Tables on a terminal: metrics in groups, comparisons, decisions; all with their intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from textwrap import fill

from rich.table import Table
from rich.text import Text

from calibrant import metrics
from calibrant._border.text import suggestion
from calibrant.cli.outputs import console
from calibrant.cli.show import NAME_ROOM, folded, print_heading, print_lines
from calibrant.exceptions import InputError
from calibrant.io import printable
from calibrant.metrics import METRICS, Metric
from calibrant.metrics.names import metric_name
from calibrant.results import (
    Assessment,
    Compared,
    Comparison,
    DecisionChange,
    DecisionCost,
    DecisionCurve,
    DecisionReport,
    Decisions,
    Difference,
    ForecastAssessment,
    Interval,
    RiskCoverage,
    bandwidth_in_words,
    known_limits,
    limits_in_words,
    missing_differences,
    missing_limits,
    rule_in_words,
)
from calibrant.results.caveats import fit_caveats, infinity_caveats, is_without_value
from calibrant.results.comparison import CALIBRATED, chance_in_words, shown_limits
from calibrant.results.deciding import (
    FEW,
    base_rate_words,
    guarantee_words,
    population_words,
    threshold_words,
    without_limits,
)
from calibrant.results.estimate import cautions
from calibrant.results.forecasts import forecast_notes
from calibrant.results.writing import between, percent, significant

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
            estimate = assessment.metrics[name]
            value = "" if is_without_value(estimate) else significant(estimate.value)
            table.add_row(folded(f"  {name}", out.width), value, interval_text(own), chance_in_words(own, _short))
    out.print(table)
    if any(known is not None and known.null is not None for known in map(limits.get, shown)):
        out.print(Text(f"if calibrated: {CALIBRATED} of this size", style="dim"))
    for note in _caveats(assessment, limits, shown):
        out.print(Text(note, style="dim"))
    if len(shown) < len(known) and not are_forecasts:
        text = f"{len(shown)} of {len(known)} metrics are shown; --metrics {ALL} shows the others"
        out.print(Text(text, style="dim"))


def _caveats(
    assessment: Assessment | ForecastAssessment, limits: Mapping[str, Interval], names: Sequence[str]
) -> Iterator[str]:
    """Say what is infinite, by which rows; what has no value or hangs on certain predictions; what has no limits."""
    named = [(name, assessment.metrics[name]) for name in names]
    yield from infinity_caveats(named)
    yield from fit_caveats(named)
    valued = [name for name, estimate in named if not is_without_value(estimate)]
    for reason, without in missing_limits((name, limits.get(name)) for name in valued).items():
        yield f"no interval for {', '.join(without)}, as none has known coverage: {reason}"
    if isinstance(assessment, Assessment) and assessment.n_classes == 2:
        yield from cautions(named)
    if isinstance(assessment, ForecastAssessment):
        yield from forecast_notes(assessment, names, str)


def interval_text(interval: Interval | Difference | None, form: str = ".3g") -> str:
    """Format limits, if any."""
    return _range(shown_limits(interval), form)


def _range(limits: Sequence[float], form: str) -> str:
    return between(limits, lambda limit: f"{limit:{form}}")


def _short(value: float) -> str:
    return f"{value:.3g}"


def _listed(known: Mapping[str, Metric]) -> str:
    return f"They are: {', '.join(known)}."


def print_comparison(comparison: Comparison, drawn: str = "rows") -> None:
    """Print every metric and model with its interval and its difference from the baseline, by samples of `drawn`."""
    out, share = console(), percent(comparison.level)
    head = ("", "value", f"{share} interval", "difference", f"{share} interval", "p")
    cells = {(metric, model): _cells(comparison.entry(model, metric)) for metric, model in _places(comparison)}
    widths = [max(map(len, column)) for column in zip(head[1:], *cells.values(), strict=True)]
    names = [f"  {printable(model)}" for model in comparison.models]
    room = max(0, min(max(map(len, names)), out.width - sum(widths) - 2 * len(widths)))
    out.print(Text(" " * room + _numbers(head[1:], widths), style="bold"), soft_wrap=True)
    for metric in comparison.metrics:
        out.print(Text(metric, style="bold"))
        for model, name in zip(comparison.models, names, strict=True):
            if len(name) > room:  # It has lines of its own.
                out.print(Text(name))
            shown = name if len(name) <= room else ""
            out.print(Text(f"{shown:<{room}}{_numbers(cells[metric, model], widths)}"), soft_wrap=True)
    note = (
        f"difference: minus {printable(comparison.baseline)}; * its interval excludes 0; "
        f"{limits_in_words(comparison, drawn)}; p is adjusted for the number of differences (Holm)"
    )
    for words in (rule_in_words(comparison), printable(bandwidth_in_words(comparison))):
        note += f"\n{words}" if words else ""
    for reason, without in missing_differences(comparison).items():
        note += f"\nno interval for the difference in {printable(', '.join(without))}: {reason}"
    out.print(Text(note, style="dim"))


def _places(comparison: Comparison) -> Iterable[tuple[str, str]]:
    return product(comparison.metrics, comparison.models)


def _numbers(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return numbers below their headings."""
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cells(entry: Compared) -> tuple[str, ...]:
    """Return a value with its limits, and the difference with its limits and p-value."""
    difference = entry.difference
    own = (significant(entry.value, 3), interval_text(entry.interval))
    if difference is None:
        return (*own, "", "", "")
    mark = "*" if difference.is_significant else " "
    p = "" if known_limits(difference) is None else f"{difference.adjusted:.2g}"
    pvalue = "<.001" if p and difference.adjusted < 0.001 else p
    return (*own, f"{difference.value:+.3g}{mark}", interval_text(difference, "+.2g"), pvalue)


def print_base_rate(report: DecisionReport) -> None:
    """Print what a base rate has done, if there is one: before the verdict, as it says how to read that."""
    if report.base_rate:
        print_lines([base_rate_words(report), *filter(None, [population_words(report)]), ""])


def print_decisions(report: DecisionReport) -> None:
    """Print what was found about the first of the models, and what a fix changes."""
    found = next(iter(report.models.values()), None)
    if found is None:
        return
    if found.cost is not None:
        print_heading("Decisions")
        _print_costs(found.cost, report.change)
        print_lines(_worth(found))
    if found.selective is not None and found.guarantee is not None:
        print_heading(f"Answers with an error rate of at most {percent(found.guarantee.max_risk)}")
        print_lines([guarantee_words(found.guarantee)])
        _print_areas(found.selective)


def _print_costs(cost: DecisionCost, change: DecisionChange | None) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("acting", overflow="fold")
    level = percent(cost.cost.level)
    for heading in ("cost per row", f"{level} limits", "difference", f"{level} limits"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_row(f"from {significant(cost.threshold, 3)} on", significant(cost.cost.value), _limits(cost.cost), "", "")
    if change is not None:
        words = f"after {change.method}, from {significant(cost.best_if_calibrated, 3)} on"
        shown = (
            significant(change.after.value),
            _limits(change.after),
            significant(change.cost.value),
            _limits(change.cost),
        )
        table.add_row(printable(words), *shown)
    for words, value, over in (
        ("on all", cost.treat_all, cost.over_all),
        ("on none", cost.treat_none, cost.over_none),
    ):
        table.add_row(words, significant(value), "", significant(-over.value), _limits(over, turned=True))
    out = console()
    out.print(table)
    wrong, missed = cost.costs["false_positive"], cost.costs["false_negative"]
    notes = [
        "difference: to the first",
        f"costs: {wrong:.4g} where acting was wrong, {missed:.4g} where not acting was",
    ]
    if change is not None:
        notes.append(f"after {change.method}: every row by a fit to other rows")
    for note in [*notes, *without_limits(cost, change)]:
        out.print(Text(printable(note), style="dim"))


def _worth(found: Decisions) -> Iterator[str]:
    if found.curve is not None and found.cost is not None:
        yield ""
        yield from _net_benefit(found.curve, found.cost.threshold)
    if found.best is not None:
        yield threshold_words(found.best)


def _net_benefit(curve: DecisionCurve, threshold: float) -> Iterator[str]:
    at = int(abs(curve.thresholds - threshold).argmin())
    benefit = curve.net_benefit
    yield (
        f"Net benefit at {significant(threshold, 3)}: {significant(benefit.value[at])}"
        f"{_band(benefit.low[at], benefit.high[at])}; "
        f"acting on all {significant(curve.treat_all[at])}, on none 0."
    )


def _print_areas(curve: RiskCoverage) -> None:
    areas = ", ".join(f"{name} {significant(area.value)}{_in_brackets(area)}" for name, area in curve.areas.items())
    print_lines([f"All rows: error rate {percent(float(curve.risk[-1]))}; {areas}.", *_why(curve)])
    if curve.n_distinct > FEW:
        return
    print_lines([f"Only {curve.n_distinct} distinct confidences occur, so that coverage jumps:"])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("at least", "coverage", "error rate", "answers"):
        table.add_column(heading, justify="right")
    columns = (curve.thresholds, curve.coverage, curve.risk, curve.count)
    for threshold, coverage, risk, count in zip(*(column.tolist() for column in columns), strict=True):
        table.add_row(f"{threshold:.4g}", percent(coverage), percent(risk), f"{count:,}")
    console().print(table)


def _in_brackets(found: Interval) -> str:
    limits = _limits(found)
    return f" ({limits})" if limits else ""


def _why(curve: RiskCoverage) -> list[str]:
    """Say what the brackets are, or why there are none."""
    first = next(iter(curve.areas.values()))
    return [f"No limits of the areas: {first.reason}."] if first.low is None and first.reason else []


def _limits(found: Interval, *, turned: bool = False) -> str:
    if found.low is None or found.high is None:
        return ""
    return _range((-found.high, -found.low) if turned else (found.low, found.high), ".4g")


def _band(low: float, high: float) -> str:
    return "" if low == -float("inf") else f" ({significant(low)} to {significant(high)})"
