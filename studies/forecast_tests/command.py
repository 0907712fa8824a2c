"""The command line of the simulations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.forecast_tests.worlds import KINDS, STRENGTHS, WRONG, rejected
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.units import Simulation, simulations

ROWS = (20, 100, 400)
NULL_SETS, POWER_SETS = 400, 200
OTHERS = ("5 quantiles", "ensembles of 5", "ensembles of 50")
"""Kinds other than normals whose power is simulated, at 400 rows and the larger strength."""
PARTS = ("centre", "spread", "shape", "quantiles", "trend")

HEAD = """# The omnibus test of forecasts: level and power

Made by `python -m studies forecast_tests`; what the numbers mean is in [validity.md](../validity.md). 199 redraws,
level 0.05. Predicted means are normal with standard deviation 2, predicted standard deviations log-normal (0.4).

## Forecasts that are right

{sets} data sets per cell. Rates have exact intervals of 99.9 %. For pairs, Bonferroni's method corrects the p-value.

| forecasts | rows | rejected |
|---|---|---|"""

POWER = """
## Forecasts that are wrong

{sets} data sets per cell. With k = strength times the root of 100 / rows: targets are shifted by 0.25 k standard
deviations ("centre"); farther out by the factor 1 + 0.18 k ("too narrow"), or farther in by 1 + 0.2 k ("too wide");
both, by 0.2 k and 1 + 0.14 k; gamma with the shape 6 / k^2 ("skewed"); Student with 2.5 + 2 / k degrees of freedom
and unit variance ("heavy tails"); with x the standardised rank of the predicted mean or standard deviation, farther
out by exp(0.2 k x) ("spread by place"), by exp(-0.2 k x) ("spread by width"), or shifted by 0.25 k x ("centre by
place"). The columns after the first are the parts by themselves; "quantiles" is MACE alone. "behind" is how far the
omnibus test is behind the best of them.

| forecasts | wrong | rows | strength | **omnibus** | centre | spread | shape | quantiles | trend | behind |
|---|---|---|---|---|---|---|---|---|---|---|"""

Cell = tuple[str, str, int, float, int]


def cells() -> list[Cell]:
    """Return what is simulated."""
    null = [(kind, "", n, 0.0, NULL_SETS) for kind in KINDS for n in ROWS]
    wrong = [("normal", name, n, k, POWER_SETS) for n in ROWS for k in STRENGTHS for name in WRONG]
    others = [(kind, name, 400, STRENGTHS[-1], POWER_SETS) for kind in OTHERS for name in WRONG]
    return [*null, *wrong, *others]


def plan() -> list[Simulation]:
    """Return a unit for every cell."""
    return simulations(((_title(*cell[:4]), rejected, cell) for cell in cells()), 2028)


def _title(kind: str, wrong: str, n: int, strength: float) -> str:
    return f"{kind}, {wrong or 'right'}, {n} rows, {strength:g}"


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write what is complete, and means over all columns."""
    known = [(cell, found[_title(*cell[:4])]) for cell in cells() if _title(*cell[:4]) in found]
    lines = [HEAD.format(sets=NULL_SETS)]
    lines += [f"| {c[0]} | {c[2]} | {rate(f['omnibus'], f['sets'])} |" for c, f in known if not c[1]]
    lines.append(POWER.format(sets=POWER_SETS))
    wrong = [(cell, {key: f[key] / f["sets"] for key in ("omnibus", *PARTS)}) for cell, f in known if cell[1]]
    lines += [_row(cell, rates) for cell, rates in wrong]
    behind = [_behind(rates) for _, rates in wrong]
    omnibus, alone = (sum(rates[key] for _, rates in wrong) / max(len(wrong), 1) for key in ("omnibus", "quantiles"))
    mean = sum(max(one, 0.0) for one in behind) / max(len(behind), 1)
    lines.append(
        f"\nMean power of the omnibus test {omnibus:.3f}, of MACE alone {alone:.3f}. Behind the best part by "
        f"{mean:.3f} on average, if cells in which it is ahead count as 0, and by "
        f"{max(behind, default=0.0):.3f} at most.\n"
    )
    path.write_text("\n".join(lines), encoding="utf-8")


def _behind(rates: Mapping[str, float]) -> float:
    return max(rates[key] for key in PARTS) - rates["omnibus"]


def _row(cell: Cell, rates: Mapping[str, float]) -> str:
    kind, wrong, n, strength, _ = cell
    shown = " | ".join(f"{rates[key]:.2f}" for key in PARTS)
    return f"| {kind} | {wrong} | {n} | {strength:g} | **{rates['omnibus']:.2f}** | {shown} | {_behind(rates):+.2f} |"


STUDY = Study(
    "forecast_tests", "Simulate how often the omnibus test rejects forecasts.", plan, write, "validity/forecasts.md"
)
