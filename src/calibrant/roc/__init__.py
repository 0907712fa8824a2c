"""ROC curves of rankers, their convex hulls, and the probabilities that follow from them."""

from calibrant.roc.curve import (
    auc,
    calibration_map,
    convex_hull,
    hull_probabilities,
    outline,
    roc_curve,
    segment_probabilities,
)
from calibrant.roc.merging import merging_steps

__all__ = [
    "auc",
    "calibration_map",
    "convex_hull",
    "hull_probabilities",
    "merging_steps",
    "outline",
    "roc_curve",
    "segment_probabilities",
]
