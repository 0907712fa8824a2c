"""The maps of calibrators of two classes, from one score to log-odds, as operations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.binning.ties import DECIMALS
from calibrant.calibrators import bbq, beta, histogram, hull, isotonic, platt, spline, venn_abers
from calibrant.calibrators.binary import LARGEST_LOG_ODDS
from calibrant.export.program import Value, expit, logit, softplus


def _bounded(x: Value) -> Value:
    return x.clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def _platt(c: platt.PlattScaling, x: Value) -> Value:
    return (x if c.scores == "raw" else _bounded(x)) * c.slope_ + c.intercept_


def _quadratic(c: platt.QuadraticScaling, x: Value) -> Value:
    x = _bounded(x)
    inside = x.clip(*c.range_) if c.monotone else x
    curve = (inside * c.coef_[2] + c.coef_[1]) * inside + c.coef_[0]
    if not c.monotone:
        return curve
    return curve + (inside * (2 * c.coef_[2]) + c.coef_[1]).at_least(0.0) * (x - inside)


def _beta(c: beta.BetaCalibration, x: Value) -> Value:
    x = _bounded(x)
    return softplus(x) * c.b_ - softplus(-x) * c.a_ + c.c_


def _isotonic(c: isotonic.IsotonicCalibration, x: Value) -> Value:
    knots, heights = c.scores_, c.probabilities_
    axis = c._axis  # noqa: SLF001 (its own map, in another language)
    places = axis(knots)
    # Interval j lies between knots j - 1 and j; what is beyond all knots has no width.
    low, high = heights[np.maximum(np.arange(len(knots) + 1) - 1, 0)], np.append(heights, heights[-1])
    start, width, share = _intervals(places)
    j = x.search(knots, "left")
    moved = x if c.scores == "raw" else expit(x)
    fixed = j.look_up(share)
    part = (fixed < 0.0).choose(((moved - j.look_up(start)) / j.look_up(width)).clip(0.0, 1.0), fixed)
    on_knot = x.equals(j.look_up(np.append(knots, np.nan)))
    return logit((j.look_up(low) + on_knot.choose(1.0, part) * j.look_up(high - low)).clip(0.0, 1.0))


def _intervals(places: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return start and width of every interval between places, and the share of the way where these do not tell it.

    Such a share is that of intervals without a finite width; elsewhere it is -1.
    """
    before, behind = np.append(-np.inf, places), np.append(places, np.inf)
    with np.errstate(invalid="ignore"):
        width = behind - before
    usual = (width > 0) & np.isfinite(width)
    share = np.where(np.isneginf(before) & np.isfinite(behind), 1.0, 0.5)
    share[np.isfinite(before) & np.isposinf(behind)] = 0.0
    share[usual] = -1.0
    return np.where(usual, before, 0.0), np.where(usual, width, 1.0), share


def _hull(c: hull.ROCConvexHull, x: Value) -> Value:
    last = len(c.lower_) - 1
    below = np.append(0, np.arange(last + 1))
    above = np.append(np.arange(last + 1), last)
    low = x.search(c.lower_, "right").look_up(c.probabilities_[below])
    high = x.search(c.upper_, "left").look_up(c.probabilities_[above])
    return logit((low + high) / 2.0)


def _histogram(c: histogram.HistogramBinning, x: Value) -> Value:
    return expit(x).rounded(DECIMALS).search(c.edges_[1:-1], "left").look_up(isotonic.logit(c.probabilities_))


def _bbq(c: bbq.BBQ, x: Value) -> Value:
    return expit(x).rounded(DECIMALS).search(c.edges_, "left").look_up(isotonic.logit(c.probabilities_))


def _venn_abers(c: venn_abers.VennAbers, x: Value) -> Value:
    low = x.search(c.lower_scores_, "right").look_up(-np.log1p(-np.append(0.0, c.lower_)))
    high = x.search(c.upper_scores_, "left").look_up(np.log(np.append(c.upper_, 1.0)))
    return high + low


def _spline(c: spline.SplineCalibration, x: Value) -> Value:
    from scipy.interpolate import CubicSpline

    curve = CubicSpline(c.knots_, c.values_, bc_type="natural")
    first, last = float(c.knots_[0]), float(c.knots_[-1])
    x = _bounded(x)
    inside = x.clip(first, last)
    j = inside.search(c.knots_[1:-1], "right")
    step = inside - j.look_up(c.knots_[:-1])
    result = j.look_up(curve.c[0])
    for coefficients in curve.c[1:]:
        result = result * step + j.look_up(coefficients)
    slope = (x < first).choose(float(curve(first, 1)), float(curve(last, 1)))
    return result + slope * (x - inside)


LINES: dict[type, Callable[[Any, Value], Value]] = {
    platt.PlattScaling: _platt,
    platt.QuadraticScaling: _quadratic,
    beta.BetaCalibration: _beta,
    isotonic.IsotonicCalibration: _isotonic,
    hull.ROCConvexHull: _hull,
    histogram.HistogramBinning: _histogram,
    bbq.BBQ: _bbq,
    venn_abers.VennAbers: _venn_abers,
    spline.SplineCalibration: _spline,
}
"""For every calibrator of two classes, a function of the fitted calibrator and of scores that returns log-odds."""
