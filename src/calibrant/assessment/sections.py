"""The sections of an assessment: each is a function from the shared work to fields of the result."""

from collections.abc import Callable, Mapping
from typing import Unpack

import numpy as np

from calibrant.assessment.verdict import SIZE, Examined
from calibrant.assessment.work import Fields, Work, measured
from calibrant.metrics import METRICS
from calibrant.predictions import Predictions
from calibrant.results import Assessment


def metrics(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the values of the metrics."""
    return {"metrics": work.estimates(work.steps.of_section)}


def limits(work: Work, rng: np.random.Generator) -> Fields:
    """Return confidence limits of the metrics, or why there are none, and their range by chance."""
    from calibrant.assessment.limits import limits_of

    null = {key: work.examined.size.null for key, metric in work.metrics.items() if metric == METRICS[SIZE]}
    estimates = work.estimates()
    found = limits_of(
        work.predictions, work.metrics, estimates, null, work.n_resamples, rng, progress=work.steps.of_section
    )
    return {"intervals": found}


def curves(work: Work, rng: np.random.Generator) -> Fields:
    """Return reliability curves with their bands, and the running sum of residuals."""
    from calibrant.assessment.details import curves_of

    return curves_of(work.predictions, rng)


def classes(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the table of the classes, and with more than two classes a curve of each."""
    from calibrant.assessment.details import class_summaries
    from calibrant.curves import classwise_curves, reliability_curve

    several = work.predictions.n_classes > 2
    return {
        "classes": class_summaries(work.predictions),
        "classwise": classwise_curves(work.predictions, reliability_curve) if several else None,
    }


def parts(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the decompositions of the squared error and of the log loss."""
    from calibrant.metrics import decompose

    return {"decompositions": (decompose(work.predictions), decompose(work.predictions, "log"))}


def ranking(work: Work, _rng: np.random.Generator) -> Fields:
    """Return the ROC curve of class 1, or of the confidence, and its convex hull."""
    from calibrant.assessment.details import ranking_of

    return {"ranking": ranking_of(work.predictions)}


def tests(work: Work, rng: np.random.Generator) -> Fields:
    """Return tests besides the one behind the verdict."""
    from calibrant.assessment.details import further_tests

    return {"tests": further_tests(work.predictions, work.n_resamples, rng)}


def groups(work: Work, rng: np.random.Generator) -> Fields:
    """Return verdict and metrics of every group, and p-values adjusted for their number."""
    from calibrant.hypotest import holm

    found: dict[str, Assessment] = {}
    for name, part in work.groups.items():
        examined = work.examine(part, work.steps.within(), rng)
        found[name] = assembled(part, name, examined, metrics=measured(part, work.of_groups))
    adjusted = holm({name: part.test.pvalue for name, part in found.items()}) if found else {}
    return {"groups": found, "adjusted": adjusted}


def assembled(predictions: Predictions, name: str, examined: Examined, **fields: Unpack[Fields]) -> Assessment:
    """Return an assessment with verdict, test and these fields."""
    return Assessment(
        name=name,
        n_samples=predictions.n_rows,
        n_classes=predictions.n_classes,
        verdict=examined.verdict,
        test=examined.test,
        **fields,
    )


SECTIONS: Mapping[str, Callable[[Work, np.random.Generator], Fields]] = {
    "metrics": metrics,
    "limits": limits,
    "curves": curves,
    "classes": classes,
    "parts": parts,
    "ranking": ranking,
    "tests": tests,
    "groups": groups,
}
"""Every section by name, in the order in which they are computed. The verdict is always computed."""
