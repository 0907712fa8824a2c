"""A ROC curve and its hull with few points."""

from typing import Literal

import numpy as np

from calibrant.results import ConvexHull, ROCOutline


def outline(hull: ConvexHull, *, view: Literal["class", "top-label"] = "class", n_points: int = 300) -> ROCOutline:
    """Return a hull and its curve with few enough points to be drawn and written out.

    Parameters
    ----------
    hull : ConvexHull
    view : {"class", "top-label"}, default="class"
        What is ranked.
    n_points : int, default=300
        About this many points of the curve are kept, at equal steps of the sum of both rates; a shorter curve is kept
        whole. So the outline lies nowhere further than one step from the curve.

    Examples
    --------
    >>> from calibrant.roc import convex_hull, roc_curve
    >>> outline(convex_hull(roc_curve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0]))).hull.tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.5, 1.0], [1.0, 1.0]]
    """
    curve = hull.curve
    run, rise = curve.false_positive_rate, curve.true_positive_rate
    kept = np.arange(len(run))
    if len(kept) > n_points:
        steps = np.linspace(0.0, 2.0, n_points)
        kept = np.unique(np.searchsorted(run + rise, steps).clip(0, len(run) - 1))
    scores = np.concatenate([[np.inf], curve.scores])
    return ROCOutline(
        false_positive_rate=run[kept],
        true_positive_rate=rise[kept],
        score=scores[kept],
        hull=hull.vertices,
        auc=curve.auc,
        hull_auc=hull.auc,
        view=view,
    )
