from calibrant.roc.curve import (
    auc as auc,
    calibration_map as calibration_map,
    convex_hull as convex_hull,
    hull_probabilities as hull_probabilities,
    outline as outline,
    roc_curve as roc_curve,
    segment_probabilities as segment_probabilities,
)
from calibrant.roc.merging import merging_steps as merging_steps
