"""Tables in docs/ that are made from the classes; run this file to write them into the pages."""

import re
from pathlib import Path

from calibrant.advice import FORECAST_RULE, RULE
from calibrant.calibrators import CALIBRATORS
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS
from calibrant.calibrators.forecasts.forecast_calibrator import NEEDS
from calibrant.hypotest import TESTS
from calibrant.metrics import FORECAST_METRICS, METRICS

DOCS = Path(__file__).parents[1] / "docs"
CASES = {"two": "two classes", "many": "more classes", "keep": "predicted classes must not change"}


def calibrators_table():
    """One line for every row of CALIBRATORS."""
    lines = [
        "| name | class | type | keeps class | parameters | data efficiency | expressiveness | when to use it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, build in CALIBRATORS.items():
        c = build()
        kept = "yes" if c.preserves_argmax else "no"
        cells = (
            f"`{name}`",
            f"`{type(c).__name__}`",
            c.kind,
            kept,
            c.n_parameters,
            c.data_efficiency,
            c.expressiveness,
            c.use_when,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def rule_table():
    """One line for every row of RULE."""
    lines = ["| candidate | tried for | when |", "|---|---|---|"]
    lines += [f"| `{row.name}` | {', '.join(CASES[case] for case in row.cases)} | {row.condition} |" for row in RULE]
    return "\n".join(lines)


def forecast_calibrators_table():
    """One line for every row of FORECAST_CALIBRATORS."""
    lines = ["| name | class | takes | parameters | keeps the mean | density | guarantee | when to use it |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for name, build in FORECAST_CALIBRATORS.items():
        c = build()
        flags = ["yes" if flag else "no" for flag in (c.keeps_mean, c.has_density)]
        cells = (f"`{name}`", f"`{type(c).__name__}`", NEEDS[c.accepts].words, c.n_parameters, *flags, c.guarantee)
        lines.append(f"| {' | '.join((*cells, c.use_when))} |")
    return "\n".join(lines)


KINDS = {
    "density": "distributions with a density",
    "columns": "columns of quantiles",
    "ensemble": "ensembles of 50 members or more",
    "few members": "ensembles of fewer members",
    "vector": "vectors",
}


def forecast_rule_table():
    """One line for every row of FORECAST_RULE."""
    lines = ["| candidate | tried for | minimum number of rows |", "|---|---|---|"]
    tried = {row: ", ".join(KINDS[kind] for kind in row.cases) for row in FORECAST_RULE}
    lines += [f"| `{row.name}` | {kinds} | {row.least_rows} |" for row, kinds in tried.items()]
    return "\n".join(lines)


def metrics_table(metrics=METRICS):
    """One line for every row of METRICS, or of FORECAST_METRICS, none of which has a caution."""
    heads = ["name", "shown as", "group", "better", "meaning", *["caution"] * (metrics is METRICS)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, metric in metrics.items():
        about = metric.about()
        caution = about.caution and f"It {about.caution}."
        cells = (f"`{name}`", about.label, about.group, about.better, about.meaning, caution)
        lines.append(f"| {' | '.join(cells[: len(heads)])} |")
    return "\n".join(lines)


def tests_table():
    """One line for every row of TESTS."""
    lines = ["| name | class | shown as | what it can see | caution |", "|---|---|---|---|---|"]
    for name, test in TESTS.items():
        about = test.about()
        cells = (f"`{name}`", f"`{type(test).__name__}`", about.label, about.meaning, about.caution)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


PAGES = {
    "calibrators.md": {"calibrators": calibrators_table, "rule": rule_table},
    "forecast_calibrators.md": {
        "forecast calibrators": forecast_calibrators_table,
        "forecast rule": forecast_rule_table,
    },
    "forecasts.md": {"forecast metrics": lambda: metrics_table(FORECAST_METRICS)},
    "measures.md": {"metrics": metrics_table},
    "tests.md": {"tests": tests_table},
}


def with_tables(page, text):
    """The text of a page with its tables as they should be."""
    for name, table in PAGES[page].items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        text, n_found = re.subn(
            f"{begin}.*?{end}", lambda _, t=table, b=begin, e=end: f"{b}\n{t()}\n{e}", text, flags=re.DOTALL
        )
        assert n_found == 1, name
    return text


if __name__ == "__main__":
    for page in PAGES:
        file = DOCS / page
        file.write_text(with_tables(page, file.read_text(encoding="utf-8")), encoding="utf-8")
