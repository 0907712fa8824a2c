"""The table of the study."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HEAD = """# Decisions: coverage of limits, and promises kept

Made by `python -m studies decisions`; what the numbers mean is in [decisions.md](../decisions.md). Log-odds are normal
with mean -2.5 and standard deviation 1.5 (14 % events), or -4.7 and 1.2 (2 % events). {runs} runs per cell: a share of
0.95 is known to about {error:.3f} (two standard errors). Limits are refused where too few rows decide; the share of
runs that have them is given.
"""

PARTS = {
    "net benefit": (
        "Net benefit: limits of 95 % at a threshold, and joint bands",
        ("world", "rows", "least of all thresholds", "largest", "jointly", "limits given"),
    ),
    "cost": ("Cost per row: limits of 95 %", ("world", "rows", "covers", "limits given")),
    "threshold": ("Best threshold: limits of 95 %", ("world", "rows", "covers", "limits given")),
    "base rate": (
        "Base rate of rows without labels: limits of 95 %, old base rate 0.5",
        ("base rate", "rows", "calibrated", "logits twice too large"),
    ),
    "labelled base rate": (
        "Base rate of rows without labels, beside rows with the old base rate: limits of 95 %, a quarter of the runs",
        (
            *("old and new base rate", "rows with the old one", "new rows", "covers"),
            *("mean prediction taken for known", "share of labels taken for known"),
            *("covers, log-odds a quarter too large", "mean estimate then"),
        ),
    ),
    "class shares": (
        "Shares of several classes of rows without labels: limits of 95 %, old shares all equal, a fifth of the runs",
        ("shares", "rows", "least of all classes", "mean", "largest", "mean, logits twice too large"),
    ),
    "area": (
        "Areas under the risk-coverage curve: limits of 95 %",
        ("answers", "rows", "AURC", "E-AURC", "AUGRC", "difference of two AURC, always", "limits of one given"),
    ),
    "promise": (
        "Promised error rates: broken in at most delta of all runs",
        (
            *("confidences", "rows", "promised", "delta"),
            *("broken", "coverage", "broken if naive", "its coverage", "possible"),
        ),
    ),
}
"""Title and heads of each part; a unit is named by its part and by the first cells of its row."""


def write(path: Path, found: Mapping[str, Any], runs: int) -> None:
    """Write what is complete."""
    lines = [HEAD.format(runs=runs, error=2 * np.sqrt(0.05 * 0.95 / runs))]
    for part, (title, heads) in PARTS.items():
        rows = [
            f"| {name.removeprefix(f'{part} | ')} | {' | '.join(map(_share, values))} |"
            for name, values in found.items()
            if name.startswith(f"{part} |")
        ]
        lines += [f"## {title}", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *rows, ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def _share(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.3f}"
