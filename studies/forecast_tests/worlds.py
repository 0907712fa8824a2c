"""Simulated forecasts, right and wrong in several ways, and how often each part of the test speaks against them."""

from collections.abc import Callable

import numpy as np

from calibrant import Forecasts, MvNormal, Normal, Quantiles, Samples
from calibrant._border.types import FloatArray
from calibrant.hypotest.omnibus.forecasts import run_on_forecasts
from calibrant.hypotest.omnibus.transform_cells import mid_ranks

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
