"""Isotonic reliability curves: without bins or bandwidth, assuming only that higher predictions mean more events."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.settings import check_count, check_level, check_option
from calibrant._border.types import FloatArray, IntArray, Progress, Rng
from calibrant._core.isotonic import isotonic_regression
from calibrant.binning.ties import comparable, starts_of_ties
from calibrant.curves.bands import least_resamples, pointwise_limits, simultaneous_limits
from calibrant.curves.view import binary_view, outcome_histogram
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.results import Estimate, ReliabilityCurve


@dataclass(frozen=True)
class PooledRows:
    """The m distinct predictions of an event, ascending, the frequency observed at each, and redraws of these.

    Within each prediction, rows of equal weight form a cell (c in all): the number of its events is binomial.
    """

    predicted: FloatArray  # (m,): those that agree to 12 decimals count as equal, as in `metrics.Miscalibration`.
    mass: FloatArray  # (m,): weight of the rows at each prediction, in units of the largest weight of a row.
    frequency: FloatArray  # (m,): weighted frequency of the event among these rows.
    count: IntArray  # (m,): number of these rows.
    unit: float  # The largest weight of a row.
    cell_weight: FloatArray  # (c,)
    cell_count: IntArray  # (c,)
    cell_start: IntArray  # (m,): first cell of each prediction.

    @classmethod
    def of(cls, view: Predictions) -> Self:
        """Pool the rows of positive weight of binary predictions."""
        kept = view.weights > 0
        probs, weights, events = view.positive[kept], view.row_weights[kept], view.labels[kept]
        copies = np.ones(len(probs)) if view.copies is None else view.copies[kept]
        rounded = comparable(probs)
        order = np.argsort(rounded, kind="stable") if not view.is_weighted else np.lexsort((weights, rounded))
        probs, rounded, unit = probs[order], rounded[order], float(weights.max())
        weights, events, copies = weights[order] / unit, events[order], copies[order]
        first = starts_of_ties(rounded)
        cells = np.union1d(first, starts_of_ties(weights)) if view.is_weighted else first
        cell_weight, cell_count = weights[cells], _whole(np.add.reduceat(copies, cells))
        cell_start = np.searchsorted(cells, first)
        return cls(
            predicted=np.minimum.reduceat(probs, first),  # The lowest of those that count as equal.
            # Summed in the same way as a redraw: if all rows have the event, the quotient is exactly 1.
            mass=np.add.reduceat(cell_weight * cell_count, cell_start),
            frequency=np.add.reduceat(copies * weights * events, first) / np.add.reduceat(copies * weights, first),
            count=_whole(np.add.reduceat(copies, first)),
            unit=unit,
            cell_weight=cell_weight,
            cell_count=cell_count,
            cell_start=cell_start,
        )

    def redraws(self, probability: FloatArray, n_resamples: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield the frequencies, (m,), of events drawn for every row with the probability of its pool."""
        chance = np.repeat(probability, np.diff(np.append(self.cell_start, len(self.cell_count))))
        for _ in range(n_resamples):
            events = self._draw(chance, rng)
            if len(events) == len(self.mass):  # Every pool is one cell.
                yield events / self.cell_count
            else:
                yield np.add.reduceat(self.cell_weight * events, self.cell_start) / self.mass

    def _draw(self, chance: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the number of events in each cell; for single rows a comparison is faster than a binomial draw."""
        if len(self._several) == 0:
            return (rng.random(len(chance)) < chance).astype(float)
        events = np.empty(len(chance))
        events[self._single] = rng.random(len(self._single)) < chance[self._single]
        events[self._several] = rng.binomial(self.cell_count[self._several], chance[self._several])
        return events

    @cached_property
    def _single(self) -> IntArray:
        return np.flatnonzero(self.cell_count == 1)

    @cached_property
    def _several(self) -> IntArray:
        return np.flatnonzero(self.cell_count > 1)


def _whole(counts: FloatArray) -> IntArray:
    return np.rint(counts).astype(np.int64)


MAX_POINTS = 2000
"""With more distinct predictions than this, the curve and its band are thinned to about this many points."""


@takes_two_arrays
def isotonic_curve(
    predictions: Predictions,
    *,
    level: float = 0.95,
    n_resamples: int = 999,
    band: Literal["consistency", "confidence"] = "consistency",
    simultaneous: bool = False,
    progress: Progress | None = None,
    rng: Rng = None,
) -> ReliabilityCurve:
    r"""Reliability curve by isotonic regression (CORP), with a band by redrawing the labels.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1 against its frequency. More classes: confidence against correctness.
    level : float, default=0.95
    n_resamples : int, default=999
        Number of redraws behind the band.
    band : {"consistency", "confidence"}, default="consistency"
        "consistency": where the curve of perfectly calibrated predictions would lie; labels are redrawn from the
        predictions. "confidence": how uncertain the curve itself is, approximately; labels are redrawn from the curve.
    simultaneous : bool, default=False
        Whether the level holds for the whole curve instead of for each of its points.
    progress : callable, optional
        Called with (redraws done, redraws in all).
    rng : Generator, int or None

    Returns
    -------
    ReliabilityCurve
        One point for each distinct prediction; if there are more than 2000, about 2000 of them at equal steps of
        weight, and both ends of every block on which the curve is constant, so that nothing of it is lost. The error
        is the miscalibration, with discrimination and uncertainty in its details.

    Notes
    -----
    Rows with the same prediction are pooled; isotonic regression of the observed frequencies on the predictions gives
    :math:`c`. With the mean squared error :math:`S`, and the frequency :math:`\bar y` of all rows,
    :math:`S(p) = MCB - DSC + UNC`, where :math:`MCB = S(p) - S(c)`, :math:`DSC = S(\bar y) - S(c)` and
    :math:`UNC = S(\bar y)`.

    If the rows are independent and calibrated, the consistency band holds the curve with the probability `level`, at
    each point or at all, exactly and for any number of rows and redraws: see `pointwise_limits` and
    `simultaneous_limits`. Each row is one draw at any weight. Between two points a simultaneous band is given
    by the lower limit of the left and the upper limit of the right one, because curves are monotone.

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. I. Jordan, "Stable reliability diagrams for probabilistic classifiers", PNAS 118
    (2021).

    Examples
    --------
    >>> p = Predictions([0.1, 0.2, 0.2, 0.7, 0.8], labels=[0, 1, 0, 1, 1])
    >>> curve = isotonic_curve(p, n_resamples=99, rng=0)
    >>> curve.predicted.tolist(), curve.observed.tolist(), curve.count.tolist()
    ([0.1, 0.2, 0.7, 0.8], [0.0, 0.5, 1.0, 1.0], [1, 2, 1, 1])
    >>> round(curve.error.value, 3)
    0.064
    """
    _check_settings(level, n_resamples, band, simultaneous)
    view, name = binary_view(predictions)
    pools = PooledRows.of(view)
    fitted, blocks = _fit(pools.frequency, pools.mass)
    anchors = _choose_anchors(pools.mass)
    # The other points are ends of blocks. Curves are monotone, so the limits of the neighbouring anchors hold there.
    points = np.union1d(anchors, np.concatenate([blocks[:-1], blocks[1:] - 1]))
    truth = pools.predicted if band == "consistency" else fitted
    curves = np.empty((n_resamples, len(anchors)))
    for b, frequency in enumerate(pools.redraws(truth, n_resamples, np.random.default_rng(rng))):
        curves[b] = _fit(frequency, pools.mass)[0][anchors]
        if progress is not None:
            progress(b + 1, n_resamples)
    low, high = simultaneous_limits(curves, truth[anchors], level) if simultaneous else pointwise_limits(curves, level)
    starts = _cell_starts(points)
    return ReliabilityCurve(
        predicted=pools.predicted[points],
        observed=fitted[points],
        low=low[np.searchsorted(anchors, points, side="right") - 1],
        high=high[np.searchsorted(anchors, points, side="left")],
        lower=pools.predicted[starts],
        upper=pools.predicted[np.append(starts[1:], len(fitted)) - 1],
        count=np.add.reduceat(pools.count, starts),
        weight=np.add.reduceat(pools.mass, starts) * pools.unit,
        level=level,
        kind="isotonic",
        band=band,
        simultaneous=simultaneous,
        view=name,
        error=_miscalibration(pools, fitted),
        histogram=outcome_histogram(view),
    )


def _check_settings(level: float, n_resamples: int, band: str, simultaneous: bool) -> None:
    check_level(level)
    check_count(n_resamples, "n_resamples")
    check_option(band, "band", "consistency", "confidence")
    least = least_resamples(level, simultaneous=simultaneous)
    if n_resamples < least:
        raise InputError(f"n_resamples must be at least {least} for level={as_given(level)}, but is {n_resamples}.")


def _fit(frequency: FloatArray, mass: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the isotonic fit and the first entry of each of its blocks, followed by the number of entries."""
    fit = isotonic_regression(frequency, weights=mass)
    return np.minimum(fit.x, 1.0), fit.blocks  # Weighted means of ones may exceed 1 by rounding.


def _choose_anchors(mass: FloatArray) -> IntArray:
    """Return the points at which the band is computed, chosen without looking at labels."""
    if len(mass) <= MAX_POINTS:
        return np.arange(len(mass))
    steps = np.linspace(0.0, 1.0, MAX_POINTS) * mass.sum()
    return np.unique(np.searchsorted(np.cumsum(mass), steps).clip(0, len(mass) - 1))


def _cell_starts(points: IntArray) -> IntArray:
    """Return the first entry of each point's cell; cells meet halfway between points."""
    return np.concatenate([[0], (points[:-1] + points[1:]) // 2 + 1])


def _miscalibration(pools: PooledRows, fitted: FloatArray) -> Estimate:
    mean = float(np.average(pools.frequency, weights=pools.mass))

    def score(forecast: FloatArray | float) -> float:
        """Return the mean squared error, less the part that no function of the prediction can change."""
        return float(np.average((forecast - pools.frequency) ** 2, weights=pools.mass))

    return Estimate(
        name="MCB",
        value=score(pools.predicted) - score(fitted),
        details={"discrimination": score(mean) - score(fitted), "uncertainty": mean * (1 - mean)},
    )
