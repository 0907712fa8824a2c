"""Simulate all of it and write the table: `python -m studies.decisions`, some minutes of one core."""

import sys
from pathlib import Path

import numpy as np

from studies.decisions import covering, promising
from studies.decisions.covering import WORLDS

TABLE = Path("docs/validity/decisions.md")

HEAD = """# Decisions: coverage of limits, and promises kept

Made by `python -m studies.decisions`; what the numbers mean is in [decisions.md](../decisions.md). Log-odds are normal
with mean -2.5 and standard deviation 1.5 (14 % events), or -4.7 and 1.2 (2 % events). {runs} runs per cell: a share of
0.95 is known to about {error:.3f} (two standard errors). Limits are refused where too few rows decide; the share of
runs that have them is given.
"""


def curves(runs: int, rng: np.random.Generator) -> list[str]:
    """Return the tables about net benefits, costs and thresholds."""
    lines = ["## Net benefit: limits of 95 % at a threshold, and joint bands", ""]
    lines += [
        "| world | rows | least of all thresholds | largest | jointly | limits given |",
        "|---|---|---|---|---|---|",
    ]
    for world in WORLDS:
        for n in (300, 1000, 5000):
            f = covering.net_benefit(world, n, runs, rng)
            cells = " | ".join(_share(f[key]) for key in ("least", "largest", "joint", "given"))
            lines.append(f"| {world.name} | {n} | {cells} |")
    for title, cell in (("Cost per row", covering.cost), ("Best threshold", covering.threshold)):
        lines += [
            "",
            f"## {title}: limits of 95 %",
            "",
            "| world | rows | covers | limits given |",
            "|---|---|---|---|",
        ]
        for world in WORLDS:
            for n in (300, 1000, 5000):
                f = cell(world, n, runs, rng)
                lines.append(f"| {world.name} | {n} | {_share(f['covers'])} | {_share(f['given'])} |")
    return lines


def rates(runs: int, rng: np.random.Generator) -> list[str]:
    """Return the table about base rates."""
    lines = ["", "## Base rate of rows without labels: limits of 95 %, old base rate 0.5", ""]
    lines += ["| base rate | rows | calibrated | logits twice too large |", "|---|---|---|---|"]
    for rate in (0.02, 0.1, 0.4):
        for n in (100, 400, 2000):
            right, wrong = (covering.base_rate(rate, n, runs, rng, factor) for factor in (1.0, 2.0))
            lines.append(f"| {rate} | {n} | {_share(right)} | {_share(wrong)} |")
    return lines


def promises(runs: int, rng: np.random.Generator) -> list[str]:
    """Return the table about promised error rates."""
    lines = ["", "## Promised error rates: broken in at most delta of all runs", ""]
    lines += [
        "| confidences | rows | promised | delta | broken | coverage | broken if naive | its coverage | possible |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, draw in (("continuous", promising.continuous), ("five values", promising.discrete)):
        for n, risk, delta in ((300, 0.05, 0.1), (1000, 0.05, 0.1), (1000, 0.02, 0.05), (5000, 0.045, 0.05)):
            cells = " | ".join(map(_share, draw(n, risk, delta, runs, rng)))
            lines.append(f"| {name} | {n} | {risk} | {delta} | {cells} |")
    return lines


def _share(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:.3f}"


def main(runs: int = 1000, table: Path = TABLE) -> None:
    """Write the table."""
    rng = np.random.default_rng(20261117)
    head = HEAD.format(runs=runs, error=2 * np.sqrt(0.05 * 0.95 / runs))
    parts = [head, *curves(runs, rng), *rates(runs, rng), *promises(runs, rng)]
    table.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
