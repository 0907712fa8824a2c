"""Decisions on a terminal: what they cost, what a model is worth, and which answers to give."""

from collections.abc import Iterator
from functools import partial

from rich.table import Table

from calibrant._border.numerals import between, count, percent, significant
from calibrant.cli.printing.show import console, print_heading, print_lines, print_table
from calibrant.results import (
    DecisionChange,
    DecisionCost,
    DecisionReport,
    Decisions,
    Interval,
    RiskCoverage,
)
from calibrant.results.words.decisions import (
    FEW,
    base_rate_words,
    few_confidences,
    guarantee_words,
    net_benefit_words,
    population_words,
    threshold_words,
    without_limits,
)


def print_base_rate(report: DecisionReport) -> None:
    """Print what the base rate has changed, if one is given, before the verdict that depends on it."""
    if report.base_rate:
        print_lines([base_rate_words(report), *filter(None, [population_words(report)]), ""])


def print_decisions(report: DecisionReport) -> None:
    """Print the results for the first model, and what a fix changes."""
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
    level = percent(cost.cost.level)
    lines = [(f"from {significant(cost.threshold)} on", significant(cost.cost.value, 4), _limits(cost.cost), "", "")]
    if change is not None:
        lines.append(
            (
                f"after {change.method}, from {significant(cost.best_if_calibrated)} on",
                significant(change.after.value, 4),
                _limits(change.after),
                significant(change.cost.value, 4),
                _limits(change.cost),
            )
        )
    for words, value, over in (
        ("on all", cost.treat_all, cost.over_all),
        ("on none", cost.treat_none, cost.over_none),
    ):
        lines.append((words, significant(value, 4), "", significant(-over.value, 4), _limits(over, turned=True)))
    print_table(("acting", "cost per row", f"{level} limits", "difference", f"{level} limits"), lines)
    wrong, missed = cost.costs["false_positive"], cost.costs["false_negative"]
    notes = [
        "difference: minus the first",
        f"costs: {significant(wrong, 4)} where acting was wrong, {significant(missed, 4)} where not acting was",
    ]
    if change is not None:
        notes.append(f"after {change.method}: each row is calibrated by a fit to other rows")
    print_lines([*notes, *without_limits(cost, change)], "dim")


def _worth(found: Decisions) -> Iterator[str]:
    if found.cost is not None:
        yield ""
        yield net_benefit_words(found.cost)
    if found.best is not None:
        yield threshold_words(found.best)


def _print_areas(curve: RiskCoverage) -> None:
    areas = ", ".join(f"{name} {significant(area.value, 4)}{_in_brackets(area)}" for name, area in curve.areas.items())
    print_lines([f"All rows: error rate {percent(float(curve.risk[-1]))}; {areas}.", *_why(curve)])
    if curve.n_distinct > FEW:
        return
    print_lines([few_confidences(curve.n_distinct)])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("at least", "coverage", "error rate", "answers"):
        table.add_column(heading, justify="right")
    columns = (curve.thresholds, curve.coverage, curve.risk, curve.count)
    for threshold, coverage, risk, rows in zip(*(column.tolist() for column in columns), strict=True):
        table.add_row(significant(threshold, 4), percent(coverage), percent(risk), count(rows))
    console().print(table)


def _in_brackets(found: Interval) -> str:
    limits = _limits(found)
    return f" ({limits})" if limits else ""


def _why(curve: RiskCoverage) -> list[str]:
    """Say why the areas have no limits, if they have none."""
    first = next(iter(curve.areas.values()))
    return [f"No limits of the areas: {first.reason}."] if first.low is None and first.reason else []


def _limits(found: Interval, *, turned: bool = False) -> str:
    if found.low is None or found.high is None:
        return ""
    return between((-found.high, -found.low) if turned else (found.low, found.high), partial(significant, digits=4))
