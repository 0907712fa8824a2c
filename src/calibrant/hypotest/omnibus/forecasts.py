"""The omnibus test of forecasts: several statistics of the same redraws, one p-value."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, Progress
from calibrant.forecasts import Forecasts
from calibrant.hypotest.omnibus.combined import Combined, at_or_above, combined_pvalue
from calibrant.hypotest.omnibus.facts import SIGNIFICANT_Z
from calibrant.hypotest.omnibus.forecast_statistics import SHAPE_WORDS, ForecastEvidence, ForecastPart, Sums
from calibrant.hypotest.omnibus.revealed import LEVEL
from calibrant.hypotest.omnibus.statistic import largest
from calibrant.hypotest.omnibus.transforms import Transforms, all_transforms
from calibrant.results import TestResult
from calibrant.results.forecasts import MEASURED, TIES
from calibrant.results.words.parts import TestedPart, TestedParts, part_name

BROKEN = "broken at random by numbers derived from the data"
"""How ties are broken: regardless of the seed, so that all commands break them alike."""

DETECTABLE = 0.95
"""Errors below this quantile of the errors of redraws could be chance."""


class Tested(NamedTuple):
    """The result of the test, and the transforms it is about; for vectors, those with the smallest p-value."""

    result: TestResult
    worst: Transforms


class _TestedTransforms(NamedTuple):
    """The test of one set of transforms."""

    combined: Combined
    parts: TestedParts
    errors: FloatArray


def run_on_forecasts(
    forecasts: Forecasts, name: str, n_resamples: int, rng: np.random.Generator, progress: Progress | None = None
) -> Tested:
    """Test forecasts of positive weight; for vectors, every coordinate, and for normal ones also the distance."""
    checks = all_transforms(forecasts)
    n_redraws = n_resamples * len(checks)  # So that the smallest p-value stays as small.
    found = []
    for check in checks:
        found.append(_tested(check, n_redraws, rng))
        if progress is not None:
            progress(len(found) * n_resamples, n_redraws)
    worst = min(range(len(checks)), key=lambda i: (found[i].combined.pvalue, found[i].combined.means[0]))
    result = _result(name, found[worst], checks, worst)
    return Tested(result, checks[worst])


def _tested(check: Transforms, n_redraws: int, rng: np.random.Generator) -> _TestedTransforms:
    evidence = ForecastEvidence.of(check)
    sums = evidence.observed(check)
    observed = evidence.components(sums)
    pool, errors = [largest(observed)], [evidence.error(sums)]
    for block in evidence.redrawn(n_redraws, rng):
        pool.append(largest(evidence.components(block)))
        errors.append(evidence.error(block))
    statistics = np.concatenate(pool, axis=1)
    pvalues = at_or_above(statistics)[:, 0] / statistics.shape[1]
    combined = combined_pvalue(statistics)
    described = {
        part.name: _described(part, found[:, 0], float(pvalue), evidence, sums)
        for part, found, pvalue in zip(evidence.parts, observed, pvalues, strict=True)
    }
    return _TestedTransforms(combined, described, np.concatenate(errors))


def _described(
    part: ForecastPart, components: FloatArray, pvalue: float, evidence: ForecastEvidence, sums: Sums
) -> TestedPart:
    """Describe one part of the test of the observed transforms: size, p-value and direction."""
    place = int(np.abs(components).argmax())
    sign = int(np.sign(components[place]))
    direction = part.words[place].get(sign) if pvalue <= LEVEL else None
    if direction is not None and part.name == "spread" and any(one.name == "centre" for one in evidence.parts):
        direction = direction if sign * evidence.spread_about_mean(sums) > SIGNIFICANT_Z else None
    return {
        "statistic": float(np.abs(components[place])),
        "pvalue": pvalue,
        "direction": direction,
        "class": None,
    }


def _result(name: str, found: _TestedTransforms, checks: Sequence[Transforms], worst: int) -> TestResult:
    by_chance = found.errors[1:]
    pvalue = min(1.0, len(checks) * found.combined.pvalue)
    details: dict[str, object] = {
        "smallest_pvalue": len(checks) / len(found.errors),
        "found_by": list(found.parts)[found.combined.part],
        "parts": found.parts,
        "also": {},
        MEASURED: "MACE",
        "expected": float(by_chance.mean()),
        "detectable": float(np.quantile(by_chance, DETECTABLE)),
    }
    if checks[worst].has_ties:
        details[TIES] = BROKEN
    if len(checks) > 1:
        details |= {"subject": checks[worst].subject, "tests": len(checks)}
    details |= named(found.parts, str(details["found_by"]), pvalue, str(details.get("subject", "")))
    return TestResult(
        name=name,
        statistic=float(found.combined.means[0]),
        pvalue=pvalue,
        estimate=checks[worst].error,
        null=found.combined.means[1:],
        details=details,
    )


def named(parts: TestedParts, found: str, pvalue: float, subject: str = "") -> dict[str, str]:
    """Return the part that revealed an error and its description; of equal p-values, that of the largest statistic.

    Examples
    --------
    >>> parts = {"centre": {"pvalue": 0.3}, "spread": {"pvalue": 0.001, "statistic": 4.0, "direction": "too narrow"}}
    >>> named(parts, "spread", 0.002)
    {'found_by': 'spread', 'revealed_by': 'the spread (too narrow)'}
    """
    if pvalue > LEVEL:
        return {"revealed_by": ""}
    smallest = min(part["pvalue"] for part in parts.values())
    # These are in units of their standard deviation. Gaps of quantiles are mostly a consequence of them; so are tails
    # of a wrong spread, and spread and tails of a wrong centre. But no wrong spread makes forecasts skewed.
    named_first = ["centre", "spread", "trend"]
    if "shape" in parts and parts["shape"]["direction"] in SHAPE_WORDS[0].values():
        named_first += ["shape"] if parts["centre"]["pvalue"] > smallest else []
    ties = [key for key in named_first if key in parts and parts[key]["pvalue"] <= smallest]
    if ties:
        found = max(ties, key=lambda key: abs(parts[key]["statistic"]))
    direction = parts[found]["direction"]
    words = f"the {part_name(found, parts).label}" + (f" ({direction})" if direction else "")
    about = f"{subject}: " if subject else ""
    return {"found_by": found, "revealed_by": f"{about}{words}"}
