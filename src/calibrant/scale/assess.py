"""Measure, test and judge what a sketch holds.

Sketches call these functions, so only their types are imported here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from calibrant._border.types import Progress, Rng
from calibrant._core.laws import normal_tail
from calibrant.assessment.assessing import OF_GROUPS, JudgeOptions, assess
from calibrant.assessment.many_rows import with_bounds
from calibrant.assessment.size import measure_size
from calibrant.assessment.verdict import TOLERANCE, judge
from calibrant.hypotest import OmnibusTest, holm
from calibrant.hypotest.omnibus.facts import Facts, corrected_direction, facts_of
from calibrant.hypotest.omnibus.revealed import LEVEL, with_names
from calibrant.metrics import METRICS, Classwise, Metric, Root
from calibrant.metrics.base.lift import Lift
from calibrant.metrics.names import chosen_metrics
from calibrant.predictions import Predictions
from calibrant.results import Assessment, ClassSummary, Estimate, TestResult

if TYPE_CHECKING:
    from calibrant.scale.grouped import GroupedSketch
    from calibrant.scale.sketch import Sketch

SIZE_RESAMPLES = 399
"""Number of redraws that show how large the error is by chance."""

TOP_SECTIONS = ("metrics", "limits", "curves", "ranking", "tests")
"""Sections that are about the confidence if there are more than two classes."""


def assess_sketch(  # noqa: PLR0913 (each is one decision of the user)
    sketch: "Sketch",
    *,
    name: str = "sketch",
    sections: Iterable[str] | None = None,
    metrics: Mapping[str, Metric] | Sequence[str] | None = None,
    n_resamples: int = 999,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Assessment:
    """Measure, test and judge what a sketch holds, as `calibrant.assess` does with rows.

    Parameters
    ----------
    sketch : Sketch
    name, sections, metrics, n_resamples, tolerance, progress, rng
        As for `calibrant.assess`. Metrics that need single rows are left out.

    Returns
    -------
    Assessment
        With more than two classes, sections that are not about single classes are about the confidence.

    Examples
    --------
    >>> from calibrant.scale import Sketch
    >>> sketch = Sketch().update([0.9, 0.95] * 20, [0, 1] * 20)
    >>> assess_sketch(sketch, sections=(), n_resamples=99, rng=0).verdict.code
    'biased'
    """
    settings: JudgeOptions = {"n_resamples": n_resamples, "tolerance": tolerance, "progress": progress, "rng": rng}
    if sketch.n_classes == 2:
        view = sketch.one_vs_rest(1)
        found = assess(view, name=name, sections=sections, metrics=metrics, **settings)
        own = {**found.settings, "sketch": True}
        return replace(found, n_samples=sketch.n_samples, metrics=_exact(found.metrics, sketch), settings=own)
    return _of_classes(sketch, name, sections, metrics, **settings)


def assess_groups(
    grouped: "GroupedSketch",
    *,
    name: str = "sketch",
    sections: Iterable[str] | None = None,
    metrics: Mapping[str, Metric] | Sequence[str] | None = None,
    **settings: Unpack[JudgeOptions],
) -> Assessment:
    """Measure, test and judge the rows of all groups together, and those of every group.

    Parameters
    ----------
    grouped : GroupedSketch
    name, sections, metrics, **settings
        As for `assess_sketch`; the section "groups" has a verdict and a few metrics of each group.
    """
    asked = None if sections is None else [*sections]
    found = assess_sketch(grouped.total(), name=name, sections=asked, metrics=metrics, **settings)
    if asked is not None and "groups" not in asked:
        return found
    own = OF_GROUPS if metrics is None else metrics
    parts = {
        key: assess_sketch(sketch, name=key, sections=("metrics",), metrics=own, **settings)
        for key, sketch in grouped.items()
        if sketch.n_samples
    }
    return replace(found, groups=parts, adjusted=holm({key: part.test.pvalue for key, part in parts.items()}))


def _exact(metrics: Mapping[str, Estimate], sketch: "Sketch") -> dict[str, Estimate]:
    """Return the estimates with scores from exact sums in place of those from cells.

    It is known how many rows make the log loss infinite, but not which.
    """
    values = {"accuracy": sketch.accuracy, "nll": sketch.nll, "brier": sketch.brier, "squared-error": sketch.brier / 2}
    found = {key: replace(one, value=values.get(key, one.value)) for key, one in metrics.items()}
    if sketch.n_classes == 2:  # Of more classes, the scores of the confidence are not those of the classes.
        scores = {"squared-error": sketch.brier / 2, "log": sketch.nll}
        found = with_bounds(found, sketch.line(), scores)
    if "nll" in found:
        infinite = sketch.counters.infinite
        found["nll"] = replace(found["nll"], details={"infinite_rows": infinite} if infinite else {})
    return found


def _of_classes(
    sketch: "Sketch",
    name: str,
    sections: Iterable[str] | None,
    metrics: Mapping[str, Metric] | Sequence[str] | None,
    **settings: Unpack[JudgeOptions],
) -> Assessment:
    asked = [*TOP_SECTIONS, "classes"] if sections is None else [*sections]
    chosen = METRICS if metrics is None else chosen_metrics(metrics)
    top = sketch.top_label()
    of_top = {key: metric for key, metric in chosen.items() if _is_of_confidence(metric)}
    found = assess(top, name=name, sections=[one for one in TOP_SECTIONS if one in asked], metrics=of_top, **settings)
    generator = np.random.default_rng(settings["rng"])
    test = omnibus(sketch, settings["n_resamples"], generator)
    size = measure_size(top, min(settings["n_resamples"], SIZE_RESAMPLES), generator)
    estimates = {**found.metrics, **_of_every_class(sketch, chosen)} if "metrics" in asked else {}
    return replace(
        found,
        n_samples=sketch.n_samples,
        n_classes=sketch.n_classes,
        test=test,
        verdict=judge(sketch, test, size, settings["tolerance"]),  # type: ignore[arg-type]  # has the same views
        metrics=_exact({key: estimates[key] for key in chosen if key in estimates}, sketch),
        classes=_summaries(sketch) if "classes" in asked else (),
        settings={**found.settings, "sketch": True},
        **{key: _renamed(getattr(found, key)) for key in ("curve", "curves", "cumulative", "ranking")},
    )


def _is_of_confidence(metric: Metric) -> bool:
    inner = metric.metric if isinstance(metric, Root) else metric
    return inner.accepts == "binary" and not isinstance(inner, Lift)


def _renamed(found: Any) -> Any:
    """Mark curves as those of the confidence."""
    if isinstance(found, Mapping):
        return {key: _renamed(one) for key, one in found.items()}
    return found if found is None else replace(found, view="top-label")


def _of_every_class(sketch: "Sketch", chosen: Mapping[str, Metric]) -> dict[str, Estimate]:
    """Return averages over the classes, and scores of all classes."""
    found = {}
    for key, metric in chosen.items():
        lifted = metric.metric if isinstance(metric, Root) else metric
        if isinstance(lifted, Classwise) and lifted.cells:
            values = [lifted.metric(sketch.one_vs_rest(c)) for c in range(sketch.n_classes)]
            mean = float(np.mean(values))
            value = float(np.sqrt(max(mean, 0.0))) if isinstance(metric, Root) else mean
            found[key] = Estimate(name=repr(metric), value=value, about=metric.about())
        elif key == "skce" and sketch.waves is not None:
            found[key] = replace(sketch.skce(), about=metric.about())
        elif key in ("accuracy", "nll", "brier", "squared-error"):
            found[key] = Estimate(name=repr(metric), value=0.0, about=metric.about())
    return found


def _summaries(sketch: "Sketch") -> tuple[ClassSummary, ...]:
    """Return how often each class is predicted and observed, and its calibration error against the rest."""
    found = []
    for c, name in enumerate(sketch.classes):
        view = sketch.one_vs_rest(c)
        found.append(
            ClassSummary(
                name=str(name),
                n_observed=int(sketch.cells(c).events.sum()),
                predicted=float(view.weights @ view.positive / sketch.total_weight),
                observed=float(view.weights @ view.labels / sketch.total_weight),
                error=METRICS["ece"](view),
            )
        )
    return tuple(found)


LEAST_VARIANCE = 20.0
"""Classes whose number of events has a smaller expected variance are left out: their scores are not normal."""

SMALLEST = 1e-16
"""The smallest p-value that is reported: the normal approximation is not more exact."""

TOP = "top-label "

DIRECTIONS = {"bias": ("too low", "too high"), "slope": ("too timid", "too extreme")}


def omnibus(
    sketch: "Sketch", n_resamples: int, rng: np.random.Generator, progress: Progress | None = None
) -> TestResult:
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
    part in a million of it.

    More classes: a sketch holds the confidence and every class by itself, not whole rows. So the p-value is
    :math:`2 \min(p_t, p_c)`: :math:`p_t` is that of `OmnibusTest` for the confidence, and :math:`p_c` that of the
    largest of the biases and slopes of all K classes in standard errors, 2 K times its two-sided normal tail. Classes
    with too few events for a normal law do not enter. A label with a predicted probability of 0 is found at once.
    """
    if sketch.n_classes == 2:
        return OmnibusTest(n_resamples)(sketch.one_vs_rest(1), rng=rng, progress=progress)
    top = OmnibusTest(n_resamples)(sketch.top_label(), rng=rng, progress=progress)
    parts = {TOP + name: part for name, part in top.details["parts"].items() if name != "impossible labels"}
    classes = _largest_of_classes(sketch)
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


def _largest_of_classes(sketch: "Sketch") -> dict[str, Mapping[str, Any]]:
    """Return the largest bias and the largest slope of any class, with p-values adjusted for their number."""
    scores: dict[str, list[tuple[float, object, Facts]]] = {"bias": [], "slope": []}
    for c, name in enumerate(sketch.classes):
        view = sketch.one_vs_rest(c)
        if _variance(view) >= LEAST_VARIANCE:
            facts = facts_of(view)
            scores["bias"].append((-facts.z, name, facts))
            scores["slope"].append((-facts.extreme, name, facts))
    found: dict[str, Mapping[str, object]] = {}
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
