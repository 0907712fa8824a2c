"""What a report draws, beside the curve and the numbers behind the verdict."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.curves import classwise_curves, isotonic_curve, kernel_curve, reliability_curve
from calibrant.curves.cumulative import cumulative_curve
from calibrant.curves.view import binary_view
from calibrant.metrics import decompose
from calibrant.predictions import Predictions
from calibrant.results import Estimate, ROCOutline
from calibrant.roc import convex_hull, outline, roc_curve

BAND_RESAMPLES = 199
"""Redraws behind the bands of the curves."""


def pictures(predictions: Predictions, metrics: Mapping[str, Estimate], rng: np.random.Generator) -> dict[str, Any]:
    """Return the fields of an `Assessment` that hold what its figures show, by name.

    Parameters
    ----------
    predictions : Predictions
    metrics : mapping of str to Estimate
        What was measured; the kernel curve has the bandwidth of "kde-ece", if that is there.
    rng : Generator
    """
    known = metrics["kde-ece"].details if "kde-ece" in metrics else {}
    return {
        "curves": {
            "isotonic": isotonic_curve(predictions, n_resamples=BAND_RESAMPLES, rng=rng),
            "kernel": kernel_curve(
                predictions, bandwidth=known.get("bandwidth", "cv"), n_resamples=BAND_RESAMPLES, rng=rng
            ),
        },
        "cumulative": cumulative_curve(predictions),
        "decompositions": (decompose(predictions), decompose(predictions, "log")),
        "ranking": ranking_of(predictions),
        "classwise": classwise_curves(predictions, reliability_curve) if predictions.n_classes > 2 else None,
    }


def ranking_of(predictions: Predictions) -> ROCOutline | None:
    """Return the ROC curve of the event and its hull; None if the event always happened, or never."""
    view, name = binary_view(predictions)
    if len(np.unique(view.labels[view.weights > 0])) < 2:
        return None
    return outline(convex_hull(roc_curve(view.positive, view.labels, view.weights)), view=name)
