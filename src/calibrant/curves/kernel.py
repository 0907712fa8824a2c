"""Reliability curves by kernel regression, on a grid."""

from collections.abc import Callable
from functools import partial

import numpy as np

from calibrant._border.checks import as_floats
from calibrant._border.convert import convert
from calibrant._border.numerals import as_given, significant
from calibrant._border.settings import check_level
from calibrant._border.types import BoolArray, FloatArray, Rng
from calibrant._core.line.boxes import Line
from calibrant.binning.ties import line_of
from calibrant.curves.bands import least_resamples, pointwise_limits
from calibrant.curves.view import binary_view, cells_around, outcome_histogram
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.resampling.event_counts import fine_cells
from calibrant.resampling.redraws import redraw_labels
from calibrant.results import Estimate, ReliabilityCurve
from calibrant.smoothing.bandwidth import Rule, as_bandwidth
from calibrant.smoothing.kernel_regression import (
    Boundary,
    KernelName,
    Sums,
    check_choice,
    frequency_at,
    kernel_sums,
)

LEAST_SUPPORT = 0.5
"""Grid points whose neighbours count for less than this many rows are left out."""


@takes_two_arrays
def kernel_curve(  # noqa: PLR0913 (each is one decision of the user)
    predictions: Predictions,
    grid: object = 101,
    *,
    kernel: KernelName = "gaussian",
    bandwidth: float | Rule = "cv",
    boundary: Boundary = "reflect",
    level: float = 0.95,
    n_resamples: int = 0,
    rng: Rng = None,
) -> ReliabilityCurve:
    r"""Reliability curve by kernel regression, on a grid, optionally with a pointwise consistency band.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1 against its frequency. More classes: confidence against correctness.
    grid : int or array-like of shape (g,), default=101
        Where to estimate: at this many equidistant points from 0 to 1, or at the points given.
    kernel : {"gaussian", "triweight", "epanechnikov", "beta"}, default="gaussian"
    bandwidth : float or rule, default="cv"
        As for `calibrant.metrics.KdeECE`.
    boundary : {"reflect", "none"}, default="reflect"
        Whether the mirror images of the rows at 0 and at 1 count as neighbours; "mirror" is another name for "reflect".
        The Beta kernel needs none.
    level : float, default=0.95
        Level of the band.
    n_resamples : int, default=0
        Number of redraws of the labels from the predictions for the band; 0 for no band.
    rng : Generator, int or None

    Returns
    -------
    ReliabilityCurve
        One point for each grid point in the range of the predictions, or next to it, that has support: neighbours that
        count for at least half a row of mean weight, where a row at distance 0 counts in full. If there is none, one
        point with the mean prediction and the frequency of all rows. Counts are of the rows nearest to each point. The
        error is the mean distance between the prediction and the curve over the rows, with the bandwidth in its
        details.

    Notes
    -----
    The frequency at the grid point g is :math:`\sum_i w_i y_i K_h(g, p_i) / \sum_i w_i K_h(g, p_i)`; with reflection,
    the sums include the mirror images of the rows at 0 and 1. The band has the same bandwidth. It is exact if that was
    not chosen by the labels: for a number, or one of Silverman's rules. It includes the bias of smoothing, so that the
    diagonal may lie outside.

    Examples
    --------
    >>> p = Predictions([0.2, 0.45, 0.55, 0.8], labels=[0, 0, 1, 1])
    >>> curve = kernel_curve(p, grid=[0.2, 0.5, 0.8], kernel="triweight", bandwidth=0.2)
    >>> curve.observed.round(3).tolist(), curve.count.tolist()
    ([0.0, 0.5, 1.0], [1, 2, 1])
    """
    check_level(level)
    _check_resamples(n_resamples, level)
    kernel, boundary = check_choice(kernel, "kernel", KernelName), check_choice(boundary, "boundary", Boundary)
    points = _as_grid(grid)
    view, name = binary_view(predictions)
    h = as_bandwidth(bandwidth, view, kernel, boundary)
    sums = partial(kernel_sums, bandwidth=h, kernel=kernel, boundary=boundary)
    outcomes = view.labels.astype(float)
    frequency, mass = frequency_at(points, sums(line_of(view)), outcomes, view.weights)
    present = view.weights > 0
    kept = _within(points, view.positive[present]) & (mass >= LEAST_SUPPORT * view.weights[present].mean())
    predicted, observed, low, high = points[kept], frequency[kept], None, None
    if not kept.any():
        predicted, observed = (np.array([np.average(a, weights=view.weights)]) for a in (view.positive, outcomes))
    elif n_resamples:
        curves = _redrawn_curves(view, predicted, sums, n_resamples, np.random.default_rng(rng))
        low, high = pointwise_limits(curves, level)
    lower, upper, count, weight = cells_around(predicted, view.positive, view.weights, view.copies)
    gap = np.abs(np.interp(view.positive, predicted, observed) - view.positive)
    return ReliabilityCurve(
        predicted=predicted,
        observed=observed,
        low=low,
        high=high,
        lower=lower,
        upper=upper,
        count=count,
        weight=weight,
        level=level,
        kind=f"kernel({kernel}, bandwidth={significant(h)})",
        band="consistency",
        view=name,
        error=Estimate(name="mean gap", value=float(np.average(gap, weights=view.weights)), details={"bandwidth": h}),
        histogram=outcome_histogram(view),
    )


def _check_resamples(n_resamples: int, level: float) -> None:
    least = least_resamples(level, simultaneous=False)
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)) or n_resamples < 0:
        raise InputError(f"n_resamples must be a whole number, 0 for no band, but is {n_resamples!r}.")
    if 0 < n_resamples < least:
        raise InputError(
            f"n_resamples must be 0, or at least {least} for level={as_given(level)}, but is {n_resamples}."
        )


def _as_grid(grid: object) -> FloatArray:
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        if grid < 2:
            raise InputError(f"grid must have at least 2 points from 0 to 1, but is {grid}.")
        return np.linspace(0.0, 1.0, int(grid))
    points = np.unique(as_floats(convert(grid, "grid")))
    if not (points[0] >= 0 and points[-1] <= 1):  # NaN is last, and fails.
        raise InputError(
            f"grid must hold points from 0 to 1, but goes from {as_given(points[0])} to {as_given(points[-1])}."
        )
    return points


def _within(points: FloatArray, positions: FloatArray) -> BoolArray:
    """Mark the points in the range of the positions and the next on both sides: beyond, no data supports the curve."""
    first = np.searchsorted(points, positions.min(), side="right") - 1
    last = np.searchsorted(points, positions.max(), side="left")
    order = np.arange(len(points))
    return (order >= first) & (order <= last)


def _redrawn_curves(
    view: Predictions,
    points: FloatArray,
    sums: Callable[[Line], Sums],
    n_resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the curves, (B, g), of labels drawn from the predictions."""
    cells = fine_cells(view) if view.copies is not None else None
    if cells is not None:  # A cell has the share of its events as outcome, and the weight of all its rows.
        own, weights = sums(Line.of(cells.probs[cells.starts])), cells.totals(view.row_weights[cells.order])
        shares = (counts / cells.sizes[:, None] for counts in cells.draw(n_resamples, rng))
        return np.concatenate([frequency_at(points, own, some, weights)[0].T for some in shares])
    own, draws = sums(line_of(view)), redraw_labels(view, n_resamples, rng)
    return np.concatenate([frequency_at(points, own, labels.astype(float), view.weights)[0].T for labels in draws])
