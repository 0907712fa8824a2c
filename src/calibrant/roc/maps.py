"""Calibration maps: from scores to the probabilities of the hull's segments."""

import numpy as np

from calibrant.counts import Smoothing
from calibrant.results import CalibrationMap, ConvexHull
from calibrant.roc.curve import segment_probabilities


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
