"""What a page draws of one set of predictions: reliability curves, the running sum, the ranking."""

from typing import Any

import numpy as np

from calibrant.curves import isotonic_curve, kernel_curve, reliability_curve
from calibrant.curves.cumulative import cumulative_curve
from calibrant.curves.view import binary_view
from calibrant.metrics import METRICS
from calibrant.predictions import Predictions
from calibrant.results import ROCOutline
from calibrant.roc import convex_hull, outline, roc_curve

BAND_RESAMPLES = 199
"""Redraws behind the bands of the curves."""


def curves_of(predictions: Predictions, rng: np.random.Generator) -> dict[str, Any]:
    """Return the curves of an `Assessment` by the names of its fields, with bands where they are redrawn.

    The kernel curve has the bandwidth of `METRICS["kde-ece"]`, so that the curve and the number agree.
    """
    bandwidth = METRICS["kde-ece"].fit_bandwidth(predictions).bandwidth  # type: ignore[attr-defined]  # a KdeECE
    isotonic, kernel = rng.spawn(2)
    return {
        "curve": reliability_curve(predictions),
        "curves": {
            "isotonic": isotonic_curve(predictions, n_resamples=BAND_RESAMPLES, rng=isotonic),
            "kernel": kernel_curve(predictions, bandwidth=bandwidth, n_resamples=BAND_RESAMPLES, rng=kernel),
        },
        "cumulative": cumulative_curve(predictions),
    }


def ranking_of(predictions: Predictions) -> ROCOutline | None:
    """Return the ROC curve of the event and its hull; None if the event always happened, or never."""
    view, name = binary_view(predictions)
    if len(np.unique(view.labels[view.weights > 0])) < 2:
        return None
    return outline(convex_hull(roc_curve(view.positive, view.labels, view.weights)), view=name)
