"""What calibrators of forecasts leave on new rows: coverage, and what the omnibus test still finds."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import Forecasts, Normal, Quantiles, Samples
from calibrant._border.types import FloatArray
from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS
from calibrant.hypotest.omnibus.forecasts import run_on_forecasts
from studies.simulations.command_line import Study
from studies.simulations.limits import rate
from studies.simulations.text import as_markdown
from studies.simulations.units import Simulation

FITTED, JUDGED, REDRAWS = 1000, 200, 99
LEVEL = 0.9
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

Fault = Callable[[FloatArray, FloatArray, FloatArray, np.random.Generator], FloatArray]

FAULTS: dict[str, Fault] = {
    "narrow": lambda mean, sd, z, _rng: mean + 1.5 * sd * z,
    "biased": lambda mean, sd, z, _rng: mean + sd * (0.5 + 1.5 * z),
    "offset": lambda mean, sd, z, _rng: mean + 0.7 + 1.5 * sd * z,
    "heavy": lambda mean, sd, _z, rng: mean + sd * (0.5 + 1.3 * rng.standard_t(5, len(mean))),
    "levelled": lambda mean, sd, z, _rng: mean + 1.2 * np.sqrt(sd) * z,
    "skewed": lambda mean, sd, _z, rng: mean + sd * (rng.gamma(4.0, size=len(mean)) / 2 - 2),
    "right": lambda mean, sd, z, _rng: mean + sd * z,
    "columns": lambda mean, _sd, z, _rng: mean + 0.5 + 1.5 * z,
}
"""Targets by mean and standard deviation as forecast, normal numbers, and draws of one's own."""

MADE_FOR: dict[str, tuple[str, str]] = {
    "identity": ("right", "right"),
    "scale": ("too narrow", "narrow"),
    "scale-crps": ("too narrow", "narrow"),
    "shift-scale": ("biased, too narrow", "biased"),
    "shift-scale-crps": ("biased, too narrow", "biased"),
    "offset-scale": ("biased by a constant, too narrow", "offset"),
    "student": ("biased, heavy tails", "heavy"),
    "spread-by-level": ("too narrow where narrow", "levelled"),
    "pit": ("skewed", "skewed"),
    "pit-all": ("skewed", "skewed"),
    "inflate": ("50 members, too narrow", "right"),
    "inflate-moments": ("10 members, too narrow", "right"),
    "quantile-shift": ("columns, biased, too narrow", "columns"),
    "conformal": ("biased, too narrow", "biased"),
    "conformal-absolute": ("biased, too narrow", "biased"),
    "cqr": ("biased, too narrow", "biased"),
    "conformal-weighted": ("too narrow, other places", "narrow"),
}
"""The fault that each calibrator is made for, in words and as the law of targets."""

MEMBERS = {"inflate": 50, "inflate-moments": 10}


def draw(name: str, n: int, rng: np.random.Generator, *, right: bool) -> Forecasts:
    """Draw forecasts that are right, or have the fault that a calibrator is made for, in the form that it takes."""
    mean, sd, z = 2 * rng.normal(size=n), np.exp(0.4 * rng.normal(size=n)), rng.normal(size=n)
    if name == "quantile-shift":
        sd = np.ones(n)
    targets = FAULTS["right" if right else MADE_FOR[name][1]](mean, sd, z, rng)
    if name in MEMBERS:
        spread = sd if right else 0.6 * sd
        return Forecasts(Samples(mean[:, None] + spread[:, None] * rng.normal(size=(n, MEMBERS[name]))), targets)
    if name == "quantile-shift":
        return Forecasts(Quantiles(LEVELS, Normal(mean, sd).quantile(list(LEVELS))), targets)
    return Forecasts(Normal(mean, sd), targets)


def left(name: str, sets: int, right: bool, rng: np.random.Generator) -> dict[str, Any]:
    """Fit to some rows and judge others: coverage of 90 % in each set, before and after, and tests that reject."""
    whole = FORECAST_CALIBRATORS[name]().gives != "intervals"
    found: dict[str, Any] = {"sets": sets, "before": [], "after": [], "rejected": 0 if whole else None}
    for _ in range(sets):
        to_fit, to_judge = (draw(name, n, rng, right=right) for n in (FITTED, JUDGED))
        fitted = FORECAST_CALIBRATORS[name]()
        if not whole:  # Intervals have no law that could be tested.
            found["before"].append(run_on_forecasts(to_judge, "", 1, rng).worst.coverage(LEVEL))
            found["after"].append(_intervals(fitted, to_fit, to_judge, rng))
            continue
        after = fitted.fit(to_fit).calibrate(to_judge)
        result, worst = run_on_forecasts(after, "", REDRAWS, rng)
        found["before"].append(run_on_forecasts(to_judge, "", 1, rng).worst.coverage(LEVEL))
        found["after"].append(worst.coverage(LEVEL))
        found["rejected"] += int(result.pvalue <= 0.05)
    return found


def _intervals(fitted: Any, to_fit: Forecasts, to_judge: Forecasts, rng: np.random.Generator) -> float:
    """Return the share of targets in conformal intervals; of weighted ones, among rows that lie higher."""
    more: list[tuple[FloatArray, ...]] = [(), ()]
    if "ratios" in fitted.fit.__code__.co_varnames:
        ratios = [np.exp(0.5 * f.distribution.mean()) for f in (to_fit, to_judge)]
        kept = rng.random(JUDGED) < np.minimum(ratios[1] / np.exp(2.0), 1.0)
        to_judge = to_judge.take(np.flatnonzero(kept))
        # The density of the rows that are kept against that of the rows of the fit.
        more = [(np.minimum(r, np.exp(2.0)),) for r in (ratios[0], ratios[1][kept])]
    fitted.fit(to_fit, *more[0])
    found = fitted.interval(to_judge.distribution, *more[1])
    return float(np.mean((found.low <= to_judge.targets) & (to_judge.targets <= found.high)))


SETS = 400

HEAD = """# Calibrators of forecasts: coverage and what is left

Made by `python -m studies forecast_calibrators`; what they do is in [Fixing forecasts](../forecast_calibrators.md).
Each is fitted to {fitted} rows with the fault that it is made for, and to {fitted} rows that are right, and judged on
{judged} new ones, in {sets} data sets. Coverage is that of central intervals of 90 %, by rank for ensembles, with its
standard error; "rejected" is how often the omnibus test at 0.05, of the new rows, still finds something, with exact
intervals of 99.9 %. Intervals have no distribution that could be tested.
"""

HEADS = ("calibrator", "the forecasts are", "coverage before", "after", "rejected")


CELLS = [(name, right) for name in MADE_FOR for right in (False, True) if name != "identity" or right]
"""Calibrators, and whether forecasts are right."""


def plan() -> list[Simulation]:
    """Return a unit for every calibrator and world; each has random numbers of its own."""
    place = list(MADE_FOR).index
    return [
        Simulation(_title(name, right), left, (name, SETS, right), (2029, place(name), int(right)))
        for name, right in CELLS
    ]


def _title(name: str, right: object) -> str:
    return f"{name}, {'right' if right else MADE_FOR[name][0]}"


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a line for every calibrator and world that is complete."""
    rows = [
        (f"`{name}`", "right" if right else MADE_FOR[name][0], *_cells(found[_title(name, right)]))
        for name, right in CELLS
        if _title(name, right) in found
    ]
    head = HEAD.format(fitted=FITTED, judged=JUDGED, sets=SETS)
    path.write_text("\n".join([head, as_markdown(HEADS, rows)]), encoding="utf-8")


def _cells(found: Mapping[str, Any]) -> tuple[str, str, str]:
    before, after = (np.array(found[key]) for key in ("before", "after"))
    error = after.std(ddof=1) / np.sqrt(len(after)) if len(after) > 1 else 0.0
    rejected = rate(found["rejected"], found["sets"]) if found["rejected"] is not None else ""
    return f"{before.mean():.3f}", f"{after.mean():.4f} ({error:.4f})", rejected


STUDY = Study(
    "forecast_calibrators",
    "Simulate what calibrators of forecasts leave on new rows.",
    plan,
    write,
    "validity/forecast_calibrators.md",
)
