"""The table of the study."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from studies.simulations.limits import rate

HEAD = """# Groups: false findings, true ones, and what a fix costs

Made by `python -m studies groups`; what the numbers mean is in [groups.md](../groups.md). Log-odds of predictions are
normal with mean -0.5 and standard deviation 1. Categories: columns of 4, 3, 2 and 5 levels, of which one cell with an
eighth of the rows is off. Numbers: four normal columns, of which x0 > 0.8 and x1 > 0, a tenth of the rows, is off.
Rates have exact intervals of 99.9 %.
"""


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what is complete."""
    path.write_text("\n".join(part for part in (HEAD, _searches(found), _fixes(found)) if part), encoding="utf-8")


def _searches(found: Mapping[str, Any]) -> str:
    head = """## `GroupSearch(alpha=0.05)`

Without correction: runs in which any level of a single column has |z| above 1.96. Limits that miss: the mean share
among the limits of groups of the list, which is to be at most 0.05, with the number of limits shown.

| predictions | runs that find anything | by the list | by the tree | without correction | limits that miss |
|---|---|---|---|---|---|"""
    rows = [f"| {name} | {_cells(values)} |" for name, values in found.items() if not name.startswith("fix")]
    return "\n".join([head, *rows, ""])


def _cells(values: Mapping[str, Any]) -> str:
    runs, limits = values["runs"], values["limits"]
    shares = [f"{values[key] / runs:.3f}" for key in ("cell", "leaf", "naive")]
    missed = f"{limits['missed'] / runs:.3f} ({limits['shown']:,})"
    return " | ".join([rate(values["any"], runs), *shares, missed])


def _fixes(found: Mapping[str, Any]) -> str:
    rows = [
        f"| {name.removeprefix('fix, ')} | {_changes(values)} |" for name, values in found.items() if name[:3] == "fix"
    ]
    head = (
        "## `GroupBoosting()`\n\n"
        "Expected change of the log loss on new rows, with its standard error over runs; negative is better.\n\n"
        "| predictions, rows it is fitted to | by the fix | by the truth | runs with a step |\n|---|---|---|---|"
    )
    return "\n".join([head, *rows, ""]) if rows else ""


def _changes(values: list[list[float]]) -> str:
    changes = np.array(values)
    means, errors = changes.mean(axis=0), changes.std(axis=0, ddof=1) / np.sqrt(len(changes))
    by = [f"{mean:+.5f} ({error:.5f})" for mean, error in zip(means[:2], errors[:2], strict=True)]
    return " | ".join([*by, f"{np.mean(changes[:, 2] > 0):.3f} of {len(changes)}"])
