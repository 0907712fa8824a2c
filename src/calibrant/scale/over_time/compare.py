"""Did calibration change between two periods? A test for one look."""

import math

import numpy as np

from calibrant._border.numerals import count, counted, pvalue
from calibrant._border.types import FloatArray, IntArray, Rng
from calibrant.results import ChangeTest
from calibrant.scale.over_time.cells import CELLS_PER_UNIT, Cells, merged
from calibrant.scale.over_time.days import GivenDay, as_day, cells_of, check_alike
from calibrant.scale.over_time.evidence import centres
from calibrant.scale.over_time.lines import Line, require_line
from calibrant.scale.over_time.words import with_limits

LEVEL = 0.025
"""Each of two tests rejects at half of 5%, so that both together err in at most 5% of cases."""

MANY = 10**8
"""With more rows in a cell, which NumPy refuses, counts are drawn from the normal law; no difference is visible."""


def compare_periods(
    first: GivenDay,
    second: GivenDay,
    *,
    names: tuple[str, str] = ("first", "second"),
    n_resamples: int = 999,
    rng: Rng = 0,
) -> ChangeTest:
    r"""Test whether outcomes depend on predictions in the same way in two periods.

    Calibration is compared, not the error that it causes: other predictions on the second day are no change.

    Parameters
    ----------
    first, second : Sketch or Predictions
        Two classes by the probability of class 1, more by their top label. Of a `GroupedSketch`, the rows of all groups
        are compared together.
    names : tuple of str
    n_resamples : int, default=999
        Redraws of the omnibus test.
    rng : Generator, int or None, default=0

    Notes
    -----
    The statistic is twice the gain in log-likelihood of a line of log-odds for each period over one line for both; its
    law is chi-squared with two degrees of freedom, :math:`p = e^{-\text{statistic} / 2}`.

    The omnibus test keeps the predictions and, in each cell of log-odds, the number of events of both periods together.
    Which of them belong to the first period is redrawn (hypergeometric law): exact if predictions in a cell are equal.
    With the excess :math:`d_c` of events of the first period over their expectation, its statistic is
    :math:`\sum_{c, c'} d_c d_{c'} e^{-|z_c - z_{c'}| / \ell}`, where :math:`\ell` is the standard deviation of the
    log-odds :math:`z`.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> rng = np.random.default_rng(0)
    >>> p, y = rng.random((2, 2000)), rng.random((2, 2000))
    >>> found = compare_periods(Predictions(p[0], y[0] < p[0]), Predictions(p[1], y[1] < p[1] ** 2))
    >>> found.pvalue < 0.001, found.shift < 0
    (True, True)
    """
    first, second = (as_day(period, name) for period, name in zip((first, second), names, strict=True))
    check_alike(second, names[1], first, names[0])
    c = 1 if first.n_classes == 2 else None
    days = [cells_of(day, c) for day in (first, second)]
    lines = [require_line(day, name) for day, name in zip(days, names, strict=True)]
    both = merged(days)
    statistic = max(0.0, 2 * (sum(line.log_likelihood for line in lines) - require_line(both, "both").log_likelihood))
    effects = _effects(lines, float(centres([both])[0]))
    omnibus = _omnibus(days, n_resamples, np.random.default_rng(rng))
    pvalue = math.exp(-statistic / 2)
    return ChangeTest(
        headline=_headline(names, pvalue, omnibus, effects, n_resamples),
        names=names,
        n_samples=(days[0].n_rows, days[1].n_rows),
        intercepts=(lines[0].intercept, lines[1].intercept),
        slopes=(lines[0].slope, lines[1].slope),
        statistic=statistic,
        pvalue=max(pvalue, math.ulp(0.0)),
        omnibus_pvalue=omnibus,
        notes=_notes(names, days),
        **effects,
    )


def _effects(lines: list[Line], centre: float) -> dict[str, float]:
    """Return how level, at the centre, and slope differ, with standard errors."""
    first, second = lines
    at = np.array([1.0, centre])
    levels = [at @ np.array([line.intercept, line.slope]) for line in lines]
    return {
        "shift": float(levels[1] - levels[0]),
        "shift_error": float(np.sqrt(sum(at @ line.covariance @ at for line in lines))),
        "slope": second.slope - first.slope,
        "slope_error": float(np.sqrt(sum(line.covariance[1, 1] for line in lines))),
    }


def _omnibus(days: list[Cells], n_resamples: int, rng: np.random.Generator) -> float:
    """Return the p-value of the excess of events in cells, by redraws."""
    z, (rows, others), (events, other_events) = _shared(days)
    both, happened = rows + others, events + other_events
    expected = rows * (happened / both)
    draws = np.vstack([events, _redraw(happened, both, rows, n_resamples, rng)]) - expected
    mean = both @ z / both.sum()
    spread = np.sqrt(both @ (z - mean) ** 2 / both.sum()) or 1.0
    kernel = np.exp(-np.abs(z[:, None] - z) / spread)
    values = np.einsum("bc,bc->b", draws @ kernel, draws)
    # Redraws that equal the observed outcomes count as such, whatever rounding says.
    return float((values >= values[0] * (1 - 1e-12)).sum() / (n_resamples + 1))


def _shared(days: list[Cells]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log-odds of all cells, and rows and events of both periods in each."""
    every = merged(days)
    place, index = np.unique(np.floor(every.log_odds * CELLS_PER_UNIT), return_inverse=True)
    owner = np.repeat([0, 1], [len(day.count) for day in days])
    sums = np.zeros((2, 2, len(place)))
    np.add.at(sums[0], (owner, index), every.count)
    np.add.at(sums[1], (owner, index), every.events)
    return (place + 0.5) / CELLS_PER_UNIT, sums[0], sums[1]


def _redraw(
    events: FloatArray, total: FloatArray, rows: FloatArray, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return how many events fall into `rows` of all rows, by hypergeometric laws, (n_resamples, n_cells)."""
    few: IntArray = (total <= MANY).astype(np.int64)
    good, bad, sample = (few * values.astype(np.int64) for values in (events, total - events, rows))
    drawn = rng.hypergeometric(good, bad, sample, size=(n_resamples, len(total))).astype(np.float64)
    large = few == 0
    if large.any():
        share = rows[large] / total[large]
        rate = events[large] / total[large]
        spread = np.sqrt(rows[large] * rate * (1 - rate) * (1 - share))
        drawn[:, large] = share * events[large] + spread * rng.standard_normal((n_resamples, int(large.sum())))
    return drawn


def _headline(
    names: tuple[str, str], common: float, omnibus: float, effects: dict[str, float], n_resamples: int
) -> str:
    if common <= LEVEL:
        is_seen = abs(effects["shift"]) > 2 * effects["shift_error"]
        how = f"the event is {'more' if effects['shift'] > 0 else 'less'}" if is_seen else "on average the event is as"
        return (
            f"Calibration changed from {names[0]} to {names[1]} ({pvalue(common)}): at the same "
            f"prediction {how} frequent. Log-odds changed by "
            f"{with_limits(effects['shift'], effects['shift_error'])} at their centre, and their slope by "
            f"{with_limits(effects['slope'], effects['slope_error'])}."
        )
    if omnibus <= LEVEL:
        found = pvalue(omnibus, 1 / (n_resamples + 1))
        return f"Calibration changed from {names[0]} to {names[1]}, though not in level and slope ({found})."
    return f"No sign that calibration changed from {names[0]} to {names[1]} ({pvalue(common)})."


def _notes(names: tuple[str, str], days: list[Cells]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {count(day.n_refuted)} of {counted(day.n_certain)} predicted with exactly 0 or 1 were wrong; such "
        "rows are left out."
        for name, day in zip(names, days, strict=True)
        if day.n_refuted
    )
