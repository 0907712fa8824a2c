"""Reliability curves of all classes, and their average."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from calibrant._border.settings import check_count, check_option
from calibrant._border.types import BoolArray, FloatArray
from calibrant.curves.binned import one_vs_rest_curves, reliability_curve
from calibrant.curves.kernel import kernel_curve
from calibrant.curves.view import cells_around
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.results import ClasswiseCurves, Estimate, ReliabilityCurve


@takes_two_arrays
def classwise_curves(
    predictions: Predictions,
    curve: Callable[[Predictions], ReliabilityCurve] = kernel_curve,
    *,
    rows: Literal["all", "predicted"] = "all",
    grid: int = 101,
) -> ClasswiseCurves:
    r"""Reliability curve of every class, and the average over classes.

    Parameters
    ----------
    predictions : Predictions
    curve : callable, default=kernel_curve
        Computes the curve of binary predictions, such as `reliability_curve` or `isotonic_curve`. For other settings,
        pass `functools.partial(kernel_curve, bandwidth=0.05)`.
    rows : {"all", "predicted"}, default="all"
        Rows for the curve of a class: all rows, the class against the rest, as in the metric `Classwise`; or the rows
        predicted as this class, as in `PerPredictedClass`. Then classes that are never predicted have no curve.
    grid : int, default=101
        Number of equidistant points from 0 to 1 at which the average is taken.

    Returns
    -------
    ClasswiseCurves

    Notes
    -----
    The average at g is :math:`|C_g|^{-1} \sum_{k \in C_g} \hat\pi_k(g)` over the classes :math:`C_g` whose curve
    begins at or below g and ends at or above; between its points a curve is interpolated linearly. Its error is the
    mean over classes, and its counts are of the predictions of all classes. For ``rows="predicted"``, a class has the
    weight of its rows: :math:`\sum_k W(I_k) \hat\pi_k(g) / \sum_k W(I_k)`, and likewise for the error. If no curve
    reaches a grid point, as when all rows are equal and each curve is one point, the points of the curves replace the
    grid.

    Examples
    --------
    >>> p = Predictions([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.6, 0.3, 0.1]], labels=[0, 1, 2, 1])
    >>> from functools import partial
    >>> curves = classwise_curves(p, partial(kernel_curve, bandwidth=0.1))
    >>> curves.names, len(curves.curves)
    (('0', '1', '2'), 3)
    """
    check_count(grid, "grid")
    check_option(rows, "rows", "all", "predicted")
    shares: FloatArray
    if rows == "all":
        shares = np.ones(predictions.n_classes)
        seen = predictions.probs, predictions.weights
    else:
        top = predictions.top_label()
        relative = top.weights / top.weights.max()
        shares = np.bincount(predictions.predicted, relative, predictions.n_classes).astype(float)
        seen = top.positive, top.weights
    drawn = np.flatnonzero(shares).tolist()
    if curve is reliability_curve and rows == "all":
        curves = tuple(one_vs_rest_curves(predictions))
    else:
        curves = tuple(curve(_view(predictions, c, rows)) for c in drawn)
    names = tuple(str(predictions.classes[c]) for c in drawn)
    return ClasswiseCurves(names=names, curves=curves, average=_average(curves, shares[drawn], *seen, grid))


def _view(predictions: Predictions, c: int, rows: Literal["all", "predicted"]) -> Predictions:
    view = predictions.one_vs_rest(c)
    return view if rows == "all" else view.take(predictions.predicted == c)


def _average(
    curves: Sequence[ReliabilityCurve], shares: FloatArray, positions: FloatArray, weights: FloatArray, n_grid: int
) -> ReliabilityCurve:
    grid = np.linspace(0.0, 1.0, n_grid)
    reached = _reached(curves, grid)
    if not reached.any():
        grid = _own_points(curves, n_grid)
        reached = _reached(curves, grid)
    values = np.array([np.interp(grid, c.predicted, c.observed) for c in curves])
    used = reached.any(axis=0)
    observed = np.average(values[:, used], axis=0, weights=reached[:, used] * shares[:, None])
    lower, upper, count, weight = cells_around(grid[used], positions, weights)
    errors = [c.error for c in curves if c.error is not None]
    mean = float(np.average([error.value for error in errors], weights=shares)) if errors else 0.0
    return ReliabilityCurve(
        predicted=grid[used],
        observed=observed,
        lower=lower,
        upper=upper,
        count=count,
        weight=weight,
        level=curves[0].level,
        kind=f"average of {len(curves)} classes",
        error=Estimate(name=errors[0].name, value=mean) if errors else None,
    )


def _reached(curves: Sequence[ReliabilityCurve], grid: FloatArray) -> BoolArray:
    """Return whether each grid point lies between the ends of each curve, (K, G)."""
    return np.array([(c.predicted[0] <= grid) & (grid <= c.predicted[-1]) for c in curves])


def _own_points(curves: Sequence[ReliabilityCurve], most: int) -> FloatArray:
    """Return the points of the curves, thinned evenly by rank if they are too many."""
    points = np.unique(np.concatenate([c.predicted for c in curves]))
    if len(points) <= most:
        return points
    return points[np.linspace(0, len(points) - 1, most).astype(int)]
