"""The ROC curve of a ranker, the area under it, its convex hull, and the probabilities from the hull."""

from typing import Literal

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.isotonic import isotonic_regression
from calibrant.binning.ties import starts_of_ties
from calibrant.counts import Smoothing, as_smoothing
from calibrant.results import CalibrationMap, ConvexHull, ROCCurve, ROCOutline
from calibrant.roc.merging import merge_violators, pool, split_equal
from calibrant.roc.ranker_scores import as_ranking, as_scores


def roc_curve(scores: object, labels: object, weights: object = None) -> ROCCurve:
    """Return the ROC curve of scores; only their order counts, not their scale.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, higher for rows that are more likely positive; infinities are allowed.
    labels : array-like of shape (n,)
        0 or 1, or booleans; both must occur.
    weights : array-like of shape (n,), optional
        A row of weight 0 is ignored.

    Returns
    -------
    ROCCurve
        One step per distinct score, so ties make sloped lines.

    Examples
    --------
    >>> curve = roc_curve([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist(), curve.auc
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0], 0.875)
    """
    values, positive, mass = as_ranking(scores, labels, weights)
    order = np.argsort(-values, kind="stable")
    values, positive, mass = values[order], positive[order], mass[order]
    first = starts_of_ties(values)
    positives = np.add.reduceat(np.where(positive, mass, 0.0), first)
    negatives = np.add.reduceat(np.where(positive, 0.0, mass), first)
    rise, run = _rates(positives), _rates(negatives)
    return ROCCurve(
        scores=values[first],
        count=np.diff(np.append(first, len(values))).astype(np.int64),
        positives=positives,
        negatives=negatives,
        false_positive_rate=run,
        true_positive_rate=rise,
        auc=_area(run, rise),
    )


def auc(scores: object, labels: object, weights: object = None) -> float:
    """Return the area under the ROC curve.

    It is the probability that a positive row scores higher than a negative one, each drawn by its weight; ties count
    half.

    Parameters
    ----------
    scores, labels, weights
        As for `roc_curve`.

    Examples
    --------
    >>> auc([3, 2, 2, 1], [1, 1, 0, 0])
    0.875
    """
    return roc_curve(scores, labels, weights).auc


def convex_hull(curve: ROCCurve, *, merge_equal: bool = True) -> ConvexHull:
    r"""Return the upper convex hull of a ROC curve: the best ROC curve that merging scores can give.

    Parameters
    ----------
    curve : ROCCurve
    merge_equal : bool, default=True
        Whether neighbouring segments with the same slope are merged. If False, the hull is cut wherever the curve
        touches it; its shape is the same, but the segments are smaller, which matters for smoothing.

    Returns
    -------
    ConvexHull

    Notes
    -----
    The segments are the pools of isotonic regression of the labels on the scores. A segment that holds
    :math:`n^+` of the :math:`P` positives and :math:`n^-` of the :math:`N` negatives has the slope
    :math:`\lambda = (n^+ / P) / (n^- / N)`, so its empirical probability is
    :math:`n^+ / (n^+ + n^-) = \lambda c / (\lambda c + 1)` with :math:`c = P / N`.

    Probabilities from the hull of few rows overfit: the segments at its ends are short and often have one class, and
    predict 0 or 1 from a few rows. On its own rows the hull is always calibrated, which proves nothing. Smooth the
    counts, and evaluate on other rows.

    References
    ----------
    T. Fawcett, A. Niculescu-Mizil, "PAV and the ROC convex hull", Machine Learning 68 (2007).

    Examples
    --------
    >>> hull = convex_hull(roc_curve([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))
    >>> hull.probability.round(3).tolist(), hull.lower.tolist()
    ([1.0, 0.667, 0.0], [5.0, 2.0, 1.0])
    """
    merged = pool(curve.positives, curve.negatives)
    cut = split_equal(curve.positives, curve.negatives, merged)
    bounds = merged if merge_equal else cut
    positives = np.add.reduceat(curve.positives, bounds[:-1])
    negatives = np.add.reduceat(curve.negatives, bounds[:-1])
    run, rise = curve.false_positive_rate[bounds], curve.true_positive_rate[bounds]
    with np.errstate(divide="ignore"):
        slope = (positives / curve.positives.sum()) / (negatives / curve.negatives.sum())
    dents = np.flatnonzero(np.diff(cut) > 1)
    return ConvexHull(
        curve=curve,
        bounds=bounds,
        vertices=np.column_stack([run, rise]),
        lower=curve.scores[bounds[1:] - 1],
        upper=curve.scores[bounds[:-1]],
        positives=positives,
        negatives=negatives,
        slope=slope,
        probability=positives / (positives + negatives),
        auc=_area(run, rise),
        concavities=np.column_stack([cut[dents], cut[dents + 1]]),
        concavity_areas=_dent_areas(curve, cut)[dents],
        merges=merge_violators(curve.positives, curve.negatives),
    )


def segment_probabilities(hull: ConvexHull, smoothing: Smoothing | None = None) -> FloatArray:
    """Return the probability of the positive class in each segment of a hull, descending.

    Parameters
    ----------
    hull : ConvexHull
        Build it with `merge_equal=False` to smooth equal neighbours separately.
    smoothing : Smoothing, optional
        Such as `LaplaceCorrection()` or `MEstimate(2, prior="observed")`; by default the empirical probability.

    Returns
    -------
    ndarray of shape (s,)

    Notes
    -----
    Smoothing moves small segments further than large ones and can therefore reverse their order. Isotonic regression on
    the smoothed values, with the weight of each segment, then restores it.

    Examples
    --------
    >>> from calibrant.counts import LaplaceCorrection
    >>> hull = convex_hull(roc_curve([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))
    >>> segment_probabilities(hull, LaplaceCorrection()).round(3).tolist()
    [0.667, 0.6, 0.333]
    """
    smoothed = as_smoothing(smoothing)(np.column_stack([hull.negatives, hull.positives]))[:, 1]
    return isotonic_regression(smoothed, weights=hull.positives + hull.negatives, increasing=False).x


def hull_probabilities(hull: ConvexHull, scores: object, smoothing: Smoothing | None = None) -> FloatArray:
    """Return the calibrated probability of the positive class for scores of the hull or new ones.

    Parameters
    ----------
    hull : ConvexHull
    scores : array-like of shape (n,)
        On the scale of the scores that the hull was built from.
    smoothing : Smoothing, optional
        As for `segment_probabilities`.

    Returns
    -------
    ndarray of shape (n,)
        Non-decreasing in the score. Between two segments it is the mean of their probabilities, because only the order
        of the scores is known, not their distances. Outside it is that of the first or last segment.

    Examples
    --------
    >>> hull = convex_hull(roc_curve([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))
    >>> hull_probabilities(hull, [9, 4.5, 4, 3.2, 1]).round(3).tolist()
    [1.0, 0.833, 0.667, 0.667, 0.0]
    """
    values = as_scores(scores)
    ascending = segment_probabilities(hull, smoothing)[::-1]
    last = len(ascending) - 1
    # The segment at or below each score, and the one at or above it; inside a segment, they are the same.
    below = (np.searchsorted(hull.lower[::-1], values, side="right") - 1).clip(0, last)
    above = np.searchsorted(hull.upper[::-1], values, side="left").clip(0, last)
    return (ascending[below] + ascending[above]) / 2


def _rates(weights: FloatArray) -> FloatArray:
    """Return the cumulative shares, with a leading 0."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    return total / total[-1]


def _area(run: FloatArray, rise: FloatArray) -> float:
    return float(np.diff(run) @ (rise[1:] + rise[:-1]) / 2)


def _dent_areas(curve: ROCCurve, cut: IntArray) -> FloatArray:
    """Return the area between curve and hull between each pair of neighbouring points that they share."""
    run, rise = curve.false_positive_rate, curve.true_positive_rate
    below = np.add.reduceat(np.diff(run) * (rise[1:] + rise[:-1]) / 2, cut[:-1])
    return np.diff(run[cut]) * (rise[cut][1:] + rise[cut][:-1]) / 2 - below


def outline(hull: ConvexHull, *, view: Literal["class", "top-label"] = "class", n_points: int = 300) -> ROCOutline:
    """Return a hull and its curve, thinned out for drawing and writing.

    Parameters
    ----------
    hull : ConvexHull
    view : {"class", "top-label"}, default="class"
        What is ranked.
    n_points : int, default=300
        About this many points of the curve are kept, at equal steps of the sum of both rates; a shorter curve is kept
        whole. So the outline is never further than one step from the curve.

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
    """Return the map from scores to calibrated probabilities that a hull defines.

    Parameters
    ----------
    hull : ConvexHull
    smoothing : Smoothing, optional
        As for `segment_probabilities`.
    name : str, optional
        The name of the map in a legend; by default "empirical probability", or the smoothing.

    Returns
    -------
    CalibrationMap
        The values of `hull_probabilities`, for drawing or writing.

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
