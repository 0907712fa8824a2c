"""The test behind the verdict on a sketch."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._border.types import Progress
from calibrant._core.laws import normal_tail
from calibrant.hypotest import OmnibusTest
from calibrant.hypotest.finding.evidence import LEVEL, with_names
from calibrant.hypotest.finding.facts import Facts, corrected_direction, facts_of
from calibrant.predictions import Predictions
from calibrant.results import TestResult
from calibrant.scale.sketch import Sketch

LEAST_VARIANCE = 20.0
"""A class enters with at least this expected variance of its number of events, so that its scores are normal."""

SMALLEST = 1e-16
"""No smaller p-value is reported: the normal law is not that exact."""

TOP = "top-label "

DIRECTIONS = {"bias": ("too low", "too high"), "slope": ("too timid", "too extreme")}


def omnibus(sketch: Sketch, n_resamples: int, rng: np.random.Generator, progress: Progress | None = None) -> TestResult:
    r"""Test whether anything is wrong with the predictions of a sketch.

    Parameters
    ----------
    sketch : Sketch
    n_resamples : int
        Redraws of the numbers of events in the cells.
    rng : Generator
    progress : callable, optional

    Returns
    -------
    TestResult

    Notes
    -----
    Two classes: `OmnibusTest` of the cells. In a cell of m rows the number of events is drawn as Binomial(m, mean
    prediction): its variance exceeds that of rows with different predictions by the variance of these, less than one
    part in a million of it at nine digits.

    More classes: a sketch holds the confidence and every class by itself, not whole rows. So the p-value is
    :math:`2 \min(p_t, p_c)`: :math:`p_t` is that of `OmnibusTest` for the confidence, and :math:`p_c` that of the
    largest of the biases and slopes of all K classes in standard errors, 2 K times its two-sided normal tail. Classes
    with too few events for a normal law do not enter. A label with a predicted probability of 0 is found at once.
    """
    if sketch.n_classes == 2:
        return OmnibusTest(n_resamples)(sketch.one_vs_rest(1), rng=rng, progress=progress)
    top = OmnibusTest(n_resamples)(sketch.top_label(), rng=rng, progress=progress)
    parts = {TOP + name: part for name, part in top.details["parts"].items() if name != "impossible labels"}
    classes = _of_classes(sketch)
    smallest = top.details["smallest_pvalue"]
    never = {"statistic": sketch.counters.infinite / sketch.n_samples, "direction": None, "class": None}
    parts |= {**classes, "impossible labels": {**never, "pvalue": smallest if sketch.counters.infinite else 1.0}}
    of_classes = min((part["pvalue"] for part in classes.values()), default=1.0)
    pvalue = min(1.0, 2 * min(top.pvalue, of_classes))
    if sketch.counters.infinite:
        pvalue = min(pvalue, smallest)
    found_by = min(parts, key=lambda name: (parts[name]["pvalue"], -parts[name]["statistic"]))
    found = TestResult(
        name=f"omnibus({n_resamples}) of the cells of a sketch",
        statistic=min(part["pvalue"] for part in parts.values()),
        pvalue=pvalue,
        details={"smallest_pvalue": min(smallest, pvalue), "found_by": found_by, "parts": parts, "also": {}},
        about=top.about,
    )
    return with_names(found, sketch)  # type: ignore[arg-type]  # has the same views


def _of_classes(sketch: Sketch) -> dict[str, Mapping[str, Any]]:
    """Return the largest bias and the largest slope of any class, with p-values adjusted for their number."""
    scores: dict[str, list[tuple[float, Any, Facts]]] = {"bias": [], "slope": []}
    for c, name in enumerate(sketch.classes):
        view = sketch.one_vs_rest(c)
        if _variance(view) >= LEAST_VARIANCE:
            facts = facts_of(view)
            scores["bias"].append((-facts.z, name, facts))
            scores["slope"].append((-facts.extreme, name, facts))
    found: dict[str, Mapping[str, Any]] = {}
    for part, of_part in scores.items():
        if of_part:
            z, name, facts = max(of_part, key=lambda one: abs(one[0]))
            pvalue = min(1.0, max(4 * sketch.n_classes * normal_tail(abs(z)), SMALLEST))
            found[f"class {part}"] = {
                "statistic": abs(z),
                "pvalue": pvalue,
                "direction": _direction(part, z, facts) if pvalue <= LEVEL else None,
                "class": name,
            }
    return found


def _direction(part: str, z: float, facts: Facts) -> str | None:
    plain = DIRECTIONS[part][int(z < 0)]
    return corrected_direction(facts, facts.too_extreme, plain) if part == "slope" else plain


def _variance(view: Predictions) -> float:
    return float(view.weights @ view.probs.prod(axis=1))
