"""How often the omnibus test rejects forecasts that are right, and forecasts that are wrong."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import Forecasts, MvNormal, Normal, Quantiles, Samples
from calibrant._border.types import FloatArray
from calibrant.hypotest.omnibus.forecasts import run_on_forecasts
from calibrant.hypotest.omnibus.transform_cells import mid_ranks
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.text import section
from studies.simulations.units import Simulation, simulations

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
KINDS = (
    "normal",
    "normal, weighted",
    "5 quantiles",
    "ensembles of 5",
    "ensembles of 50",
    "ensembles of 5, rounded",
    "pairs of normals",
)
REDRAWS = 199
STRENGTHS = (1.0, 1.4)

Noise = Callable[[FloatArray, FloatArray, FloatArray, float, np.random.Generator], FloatArray]


def _skewed(z: FloatArray, _place: FloatArray, _width: FloatArray, k: float, rng: np.random.Generator) -> FloatArray:
    shape = 6 / k**2
    return np.asarray((rng.gamma(shape, size=len(z)) - shape) / np.sqrt(shape))


def _heavy(z: FloatArray, _place: FloatArray, _width: FloatArray, k: float, rng: np.random.Generator) -> FloatArray:
    freedom = 2.5 + 2 / k
    return np.asarray(rng.standard_t(freedom, len(z)) * np.sqrt((freedom - 2) / freedom))


WRONG: dict[str, Noise] = {
    "centre": lambda z, _place, _width, k, _rng: z + 0.25 * k,
    "too narrow": lambda z, _place, _width, k, _rng: z * (1 + 0.18 * k),
    "too wide": lambda z, _place, _width, k, _rng: z / (1 + 0.2 * k),
    "centre and too narrow": lambda z, _place, _width, k, _rng: z * (1 + 0.14 * k) + 0.2 * k,
    "skewed": _skewed,
    "heavy tails": _heavy,
    "spread by place": lambda z, place, _width, k, _rng: z * np.exp(0.2 * k * place),
    "spread by width": lambda z, _place, width, k, _rng: z * np.exp(-0.2 * k * width),
    "centre by place": lambda z, place, _width, k, _rng: z + 0.25 * k * place,
}
"""Errors in predicted standard deviations, given normal ones, ranks of place and width, and the strength."""


def draw(kind: str, wrong: str, n: int, strength: float, rng: np.random.Generator) -> Forecasts:
    """Draw forecasts and targets; the error shrinks with the root of the number of rows."""
    mean, sd, z = 2 * rng.normal(size=n), np.exp(0.4 * rng.normal(size=n)), rng.normal(size=n)
    if kind == "pairs of normals":
        cov = np.array([[1.0, 0.7], [0.7, 2.0]])
        y = rng.multivariate_normal([0.0, 0.0], cov, n) + mean[:, None]
        return Forecasts(MvNormal(np.column_stack([mean, mean]), np.broadcast_to(cov, (n, 2, 2))), y)
    if wrong:
        place, width = (np.sqrt(3) * mid_ranks(numbers) for numbers in (mean, sd))
        z = WRONG[wrong](z, place, width, strength * np.sqrt(100 / n), rng)
    y = mean + sd * z
    if kind == "5 quantiles":
        return Forecasts(Quantiles(LEVELS, Normal(mean, sd).quantile(list(LEVELS))), y)
    if kind.startswith("ensembles"):
        members = 50 if kind.endswith("50") else 5
        draws = mean[:, None] + sd[:, None] * rng.normal(size=(n, members))
        rounded = kind.endswith("rounded")
        return Forecasts(Samples(np.round(draws) if rounded else draws), np.round(y) if rounded else y)
    return Forecasts(Normal(mean, sd), y, rng.exponential(size=n) if kind.endswith("weighted") else None)


def rejected(kind: str, wrong: str, n: int, strength: float, sets: int, rng: np.random.Generator) -> dict[str, int]:
    """Return in how many data sets the test, and each of its parts alone, has a p-value of at most 0.05."""
    found: dict[str, int] = {}
    for _ in range(sets):
        result, _ = run_on_forecasts(draw(kind, wrong, n, strength, rng), "", REDRAWS, rng)
        pvalues = {"omnibus": result.pvalue} | {key: part["pvalue"] for key, part in result.details["parts"].items()}
        for key, pvalue in pvalues.items():
            found[key] = found.get(key, 0) + int(pvalue <= 0.05)
    return {"sets": sets, **found}


ROWS = (20, 100, 400)
NULL_SETS, POWER_SETS = 400, 200
OTHERS = ("5 quantiles", "ensembles of 5", "ensembles of 50")
"""Kinds other than normals whose power is simulated, at 400 rows and the larger strength."""
PARTS = ("centre", "spread", "shape", "quantiles", "trend")

HEAD = """# The omnibus test of forecasts: level and power

Made by `python -m studies forecast_tests`; what the numbers mean is in [validity.md](../validity.md). 199 redraws,
level 0.05. Predicted means are normal with standard deviation 2, predicted standard deviations log-normal (0.4).
"""

LEVEL_WORDS = (
    f"{NULL_SETS} data sets per cell. Rates have exact intervals of 99.9 %. For pairs, Bonferroni's method corrects "
    "the p-value."
)

POWER_WORDS = f"""\
{POWER_SETS} data sets per cell. With k = strength times the root of 100 / rows: targets are shifted by 0.25 k standard
deviations ("centre"); farther out by the factor 1 + 0.18 k ("too narrow"), or farther in by 1 + 0.2 k ("too wide");
both, by 0.2 k and 1 + 0.14 k; gamma with the shape 6 / k^2 ("skewed"); Student with 2.5 + 2 / k degrees of freedom
and unit variance ("heavy tails"); with x the standardised rank of the predicted mean or standard deviation, farther
out by exp(0.2 k x) ("spread by place"), by exp(-0.2 k x) ("spread by width"), or shifted by 0.25 k x ("centre by
place"). The columns after the first are the parts by themselves; "quantiles" is MACE alone. "behind" is how far the
omnibus test is behind the best of them."""

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
    right = [(cell[0], str(cell[2]), rate(f["omnibus"], f["sets"])) for cell, f in known if not cell[1]]
    wrong = [(cell, {key: f[key] / f["sets"] for key in ("omnibus", *PARTS)}) for cell, f in known if cell[1]]
    behind = [_behind(rates) for _, rates in wrong]
    omnibus, alone = (sum(rates[key] for _, rates in wrong) / max(len(wrong), 1) for key in ("omnibus", "quantiles"))
    mean = sum(max(one, 0.0) for one in behind) / max(len(behind), 1)
    summary = (
        f"Mean power of the omnibus test {omnibus:.3f}, of MACE alone {alone:.3f}. Behind the best part by "
        f"{mean:.3f} on average, if cells in which it is ahead count as 0, and by "
        f"{max(behind, default=0.0):.3f} at most.\n"
    )
    parts = [
        HEAD,
        section("Forecasts that are right", ("forecasts", "rows", "rejected"), right, LEVEL_WORDS),
        section(
            "Forecasts that are wrong",
            ("forecasts", "wrong", "rows", "strength", "**omnibus**", *PARTS, "behind"),
            [_row(cell, rates) for cell, rates in wrong],
            POWER_WORDS,
        ),
        summary,
    ]
    path.write_text("\n".join(parts), encoding="utf-8")


def _behind(rates: Mapping[str, float]) -> float:
    return max(rates[key] for key in PARTS) - rates["omnibus"]


def _row(cell: Cell, rates: Mapping[str, float]) -> list[str]:
    kind, wrong, n, strength, _ = cell
    shown = [f"**{rates['omnibus']:.2f}**", *(f"{rates[key]:.2f}" for key in PARTS), f"{_behind(rates):+.2f}"]
    return [kind, wrong, str(n), f"{strength:g}", *shown]


STUDY = Study(
    "forecast_tests", "Simulate how often the omnibus test rejects forecasts.", plan, write, "validity/forecasts.md"
)
