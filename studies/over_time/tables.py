"""The table of the study."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from studies.simulations.limits import rate

HEAD = """# Calibration over time: false alarms, delays, directions

Made by `python -m studies over_time`; what the numbers mean is in [over_time.md](../over_time.md). Log-odds of
predictions are normal, with mean -1.05 and standard deviation 1.3 (30 % events) or -5.05 and 1 (1 % events). Rates
have exact intervals of 99.9 %.
"""


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what is complete."""
    parts = [HEAD, _null(found), _safe(found), _power(found), _compare(found)]
    path.write_text("\n".join(part for part in parts if part), encoding="utf-8")


def _of(found: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {name.removeprefix(kind): values for name, values in found.items() if name.startswith(kind)}


def _table(title: str, header: str, rows: list[list[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    rule = "|" + "---|" * (header.count("|") + 1)
    return "\n".join([f"## {title}\n", f"| {header} |", rule, *lines, ""])


def _null(found: Mapping[str, Any]) -> str:
    rows = [
        [events, name, rate(hits, 2000)]
        for events, values in _of(found, "null ").items()
        for name, hits in values.items()
    ]
    title = "Calibrated predictions, 2000 streams of 10 000 rows, looked at after every row, alpha 0.05"
    return _table(title, "events | rule | streams with an alarm", rows)


def _safe(found: Mapping[str, Any]) -> str:
    rows = []
    for name, values in _of(found, "safe ").items():
        events, size = name.rsplit(" ", 1)
        rows.append([events, size, rate(values["safe"], 500), rate(values["plugin"], 500)])
    title = "No change against a reference period, 500 runs of 100 days of 1000 rows, alpha 0.05"
    return _table(title, "events | rows of the reference | safe version | as if the reference were known", rows)


def _power(found: Mapping[str, Any]) -> str:
    rows = []
    for name, runs in found.items():
        if name.startswith(("power", "reference")):
            kept = [run for run in runs if run is not None]
            delays, right, off = (np.array(values, dtype=float) for values in zip(*kept, strict=True))
            kind, _, what = name.partition(" ")
            size, _, what = what.partition(" ") if kind == "reference" else ("", "", what)
            middle, most = (np.quantile(delays, q, method="higher") for q in (0.5, 0.9))
            early = f"{len(runs) - len(kept)} of {len(runs)}"
            rows.append([what, size or "none", f"{middle:,.0f}", f"{most:,.0f}", f"{right.mean():.1%}"])
            rows[-1] += [f"{np.median(off):.0f}", early]
    title = "A change at row 10 000, days of 100 rows (500 with a reference)"
    header = "events, change | reference | median delay in rows | 90 % | direction right | days off | alarms before"
    return _table(title, header, rows)


def _compare(found: Mapping[str, Any]) -> str:
    rows = []
    for name, values in _of(found, "compare ").items():
        total = 2000 if name.endswith("none") else 300
        rows.append([name, *(rate(values[key], total) for key in ("lines", "omnibus", "either"))])
    title = "`compare_periods`, 5000 rows each, predictions half a unit of log-odds apart, slope 0.8 in both"
    return _table(title, "events, change | level and slope, p <= 0.05 | omnibus, p <= 0.05 | headline", rows)
