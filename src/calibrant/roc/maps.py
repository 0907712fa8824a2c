"""What is drawn of a hull: its outline, and the map from scores to the probabilities of its segments."""

from typing import Literal

import numpy as np

from calibrant.counts import Smoothing
from calibrant.results import CalibrationMap, ConvexHull, ROCOutline
from calibrant.roc.curve import segment_probabilities


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


def calibration_map(hull: ConvexHull, smoothing: Smoothing | None = None, *, name: str | None = None) -> CalibrationMap:
    """Return the map from scores to calibrated probabilities that a hull stands for.

    Parameters
    ----------
    hull : ConvexHull
    smoothing : Smoothing, optional
        As for `segment_probabilities`.
    name : str, optional
        What to call the map in a legend; by default "empirical probability", or the smoothing.

    Returns
    -------
    CalibrationMap
        The values that `hull_probabilities` gives to scores, for drawing or writing out.

    Examples
    --------
    >>> from calibrant.counts import LaplaceCorrection
    >>> from calibrant.roc import convex_hull, roc_curve
    >>> hull = convex_hull(roc_curve([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))
    >>> calibration_map(hull).probability.round(3).tolist()
    [0.0, 0.667, 1.0]
    >>> calibration_map(hull, LaplaceCorrection()).probability.round(3).tolist()
    [0.333, 0.6, 0.667]
    """
    default = "empirical probability" if smoothing is None else repr(smoothing)
    return CalibrationMap(
        name=default if name is None else name,
        lower=hull.lower[::-1],
        upper=hull.upper[::-1],
        probability=segment_probabilities(hull, smoothing)[::-1],
        count=np.add.reduceat(hull.curve.count, hull.bounds[:-1])[::-1],
        positives=hull.positives[::-1],
        negatives=hull.negatives[::-1],
    )
