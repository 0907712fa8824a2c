"""Predictive distributions given by some of their quantiles."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.convert import convert
from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant._border.warn import warn
from calibrant.exceptions import InputError
from calibrant.forecasts.by_quantiles import ByQuantiles
from calibrant.forecasts.checks import as_numbers, source_of

Tails = Literal["assumed", "exponential"]
"""Whether the tails are only assumed, so that a law has a mean, or are part of the prediction."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Quantiles(ByQuantiles):
    r"""Predictive distributions given by quantiles at some levels.

    Parameters
    ----------
    levels : array-like of shape (m,)
        At least two, ascending, between 0 and 1.
    values : array-like of shape (n, m)
        The quantile of each row at each level. Rows that descend are sorted, with a warning: that never makes the
        pinball loss larger.
    tails : {"assumed", "exponential"}, default="assumed"
        The tails are exponential in both cases. "exponential" declares that they are part of the prediction, so there
        is a density; "assumed" tails serve for means and the CRPS, and a log score is refused.

    Notes
    -----
    Between two levels the distribution function is linear. Above the last one, with levels a < b and quantiles x <= y
    of the last two columns,

    .. math:: 1 - F(z) = (1 - b) e^{-(z - y) / s}, \qquad s = \frac{y - x}{\ln((1 - a) / (1 - b))},

    the exponential tail through both; likewise below the first. Equal columns are an atom. Calibrators may return
    infinite quantiles if there are too few rows for a level: the mass beyond is then at infinity, and the CRPS is
    infinite.

    References
    ----------
    V. Chernozhukov, I. Fernandez-Val, A. Galichon, "Quantile and probability curves without crossing", Econometrica 78
    (2010), on sorting.

    Examples
    --------
    >>> predicted = Quantiles([0.25, 0.5, 0.75], [[0.0, 1.0, 3.0]])
    >>> predicted.cdf([2.0]).tolist()
    [0.625]
    >>> predicted.quantile([0.25, 0.625]).tolist()
    [[0.0, 2.0]]
    """

    by_row = ("values",)

    levels: FloatArray
    values: FloatArray
    tails: Tails

    def __init__(self, levels: object, values: object, tails: Tails = "assumed") -> None:
        levels = np.array(levels, dtype=np.float64)
        if levels.ndim != 1 or len(levels) < 2 or not np.all(np.diff(levels, prepend=0.0, append=1.0) > 0):
            raise InputError(
                f"levels must be at least two numbers between 0 and 1 in ascending order, but are {levels!r:.80}."
            )
        check_option(tails, "tails", "assumed", "exponential")
        raw = convert(values, "values")
        columns = as_numbers(raw, (2,), "(n, m), with one column per level")
        if columns.shape[1] != len(levels):
            raise InputError(f"values must have one column per level, {len(levels)}, but have shape {columns.shape}.")
        self._store(levels=levels, values=_sorted(columns), tails=tails, source=source_of([raw]))

    @property
    def has_density(self) -> bool:
        """Whether the tails are part of the prediction, and no two columns are equal."""
        return self.tails == "exponential" and bool((np.diff(self.values, axis=1) > 0).all())

    @property
    def has_sd(self) -> bool:
        """Whether no quantile is infinite."""
        return bool(np.isfinite(self.values[:, [0, -1]]).all())

    def with_values(self, values: FloatArray) -> Self:
        """Return laws with other quantiles at the same levels, which are trusted to ascend and may be infinite."""
        return self._with(values=values)

    def affine(self, offset: FloatArray, factor: FloatArray) -> Self:
        """Return the laws of offset + factor Z."""
        return self.with_values(offset[:, None] + factor[:, None] * self.values)

    def mean(self) -> FloatArray:
        """Return the means, of shape (n,)."""
        return self._moment(np.zeros(self.n), 1)

    def sd(self) -> FloatArray:
        """Return the standard deviations, of shape (n,); infinite where a quantile is."""
        finite = np.all(np.isfinite(self.values), axis=1)
        deviations = np.full(self.n, np.inf)
        known = self.take(finite)
        deviations[finite] = np.sqrt(known._moment(known.mean(), 2))  # noqa: SLF001 (one class)
        return deviations

    def cdf(self, y: FloatArray) -> FloatArray:
        """Return P(Z <= y); row i at y[i], which may hold one value or several."""
        return self._below(y, np.less_equal)

    def cdf_below(self, y: FloatArray) -> FloatArray:
        """Return P(Z < y), which differs from `cdf` where columns are equal."""
        return self._below(y, np.less)

    @np.errstate(all="ignore")  # Products of 0 and infinity are replaced.
    def inverse(self, levels: FloatArray) -> FloatArray:
        """Return the quantiles, (n, q), at levels of shape (q,), or of shape (n, q) if each row has its own."""
        levels = np.broadcast_to(levels, (self.n, np.shape(levels)[-1]))
        own, (left, right) = self.levels, self._scales()
        place = np.searchsorted(own, levels).clip(1, len(own) - 1)
        low, high = (np.take_along_axis(self.values, place - shift, axis=1) for shift in (1, 0))
        share = (levels - own[place - 1]) / (own[place] - own[place - 1])
        inside = np.where(share <= 0, low, np.where(share >= 1, high, low + share * (high - low)))
        if np.isnan(inside).any():
            raise _unknown("a quantile between them")
        below = self.values[:, :1] + _times(left[:, None], np.log(levels / own[0]))
        above = self.values[:, -1:] - _times(right[:, None], np.log((1 - levels) / (1 - own[-1])))
        return np.where(levels < own[0], below, np.where(levels > own[-1], above, inside))

    @np.errstate(all="ignore")  # The logarithm of 0, where no other column is.
    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the logarithm of the density; row i at y[i], which may hold one value or several."""
        if not self.has_density:
            return super().log_density(y)
        y = np.asarray(y, dtype=np.float64)
        points = y.reshape(self.n, -1)
        left, right = (scale[:, None] for scale in self._scales())
        slopes = np.log(np.diff(self.levels) / np.diff(self.values, axis=1))
        place = (self.values[:, :, None] <= points[:, None]).sum(axis=1)
        inside = np.take_along_axis(slopes, (place - 1).clip(0, slopes.shape[1] - 1), axis=1)
        below = np.log(self.levels[0] / left) + (points - self.values[:, :1]) / left
        above = np.log((1 - self.levels[-1]) / right) - (points - self.values[:, -1:]) / right
        return np.where(place == 0, below, np.where(place == len(self.levels), above, inside)).reshape(y.shape)

    @np.errstate(all="ignore")  # As in `inverse`.
    def mean_distance(self, y: FloatArray) -> FloatArray:
        """Return ``E |Z_i - y_i|``, of shape (n,); infinite where a quantile is."""
        low, high = self.values[:, :-1], self.values[:, 1:]
        start, end = self.levels[:-1], self.levels[1:]
        cut = np.clip(y[:, None], low, high)
        width = np.where(high > low, high - low, 1.0)
        middle = start + (end - start) * (cut - low) / width
        inside = (cut - low) * (start + middle) / 2 + (high - cut) * (1 - (middle + end) / 2)
        left, right = self._scales()
        below = _tail_distance(self.values[:, 0] - y, self.levels[0], left)
        above = _tail_distance(y - self.values[:, -1], 1 - self.levels[-1], right)
        return np.where(np.isfinite(self.values).all(axis=1), inside.sum(axis=1) + below + above, np.inf)

    @np.errstate(all="ignore")  # As in `inverse`.
    def mean_spread(self, *, fair: bool = False) -> FloatArray:  # noqa: ARG002 (matters for ensembles)
        """Return ``E |Z_i - Z'_i|``, of shape (n,); 0 where a quantile is infinite, so that the CRPS is infinite."""
        start, end = self.levels[:-1], self.levels[1:]
        each = (start + end) / 2 - (start * start + start * end + end * end) / 3
        left, right = self._scales()
        tails = [s * (t - t * t / 2) for s, t in ((left, self.levels[0]), (right, 1 - self.levels[-1]))]
        total = 2 * (np.diff(self.values, axis=1) @ each + tails[0] + tails[1])
        return np.where(np.isfinite(total), total, 0.0)

    @np.errstate(all="ignore")  # As in `inverse`.
    def _moment(self, centre: FloatArray, order: Literal[1, 2]) -> FloatArray:
        """Return E (Z - centre) or E (Z - centre)^2."""
        values = self.values - centre[:, None]
        low, high = values[:, :-1], values[:, 1:]
        each = (low + high) / 2 if order == 1 else (low * low + low * high + high * high) / 3
        (left, right), first, last = self._scales(), values[:, 0], values[:, -1]
        below, above = first - left, last + right
        if order == 2:
            below, above = below**2 + left**2, above**2 + right**2
        total = each @ np.diff(self.levels) + self.levels[0] * below + (1 - self.levels[-1]) * above
        if (np.isneginf(first) & np.isposinf(last)).any():
            raise _unknown("a mean")
        infinite = np.where(np.isposinf(last), np.inf, -np.inf)
        return np.where(np.isfinite(first) & np.isfinite(last), total, infinite)

    @np.errstate(all="ignore")  # As in `inverse`.
    def _scales(self) -> tuple[FloatArray, FloatArray]:
        """Return the scales of the left and of the right tail; infinity where a column is infinite."""
        left = (self.values[:, 1] - self.values[:, 0]) / np.log(self.levels[1] / self.levels[0])
        right = (self.values[:, -1] - self.values[:, -2]) / np.log((1 - self.levels[-2]) / (1 - self.levels[-1]))
        return np.where(np.isnan(left), np.inf, left), np.where(np.isnan(right), np.inf, right)

    @np.errstate(all="ignore")  # As in `inverse`.
    def _below(self, y: FloatArray, compare: np.ufunc) -> FloatArray:
        y = np.asarray(y, dtype=np.float64)
        points, own = y.reshape(self.n, -1), self.levels
        place = compare(self.values[:, :, None], points[:, None]).sum(axis=1)
        inner = place.clip(1, len(own) - 1)
        low, high = (np.take_along_axis(self.values, inner - shift, axis=1) for shift in (1, 0))
        start, end = own[inner - 1], own[inner]
        share = np.where(high > low, (points - low) / (high - low), 1.0)
        unknown = np.where(np.isposinf(high), (start + end) / 2, end)
        inside = np.where(np.isneginf(low), unknown, start + share * (end - start))
        left, right = (scale[:, None] for scale in self._scales())
        below = own[0] * np.exp(-_over(self.values[:, :1] - points, left))
        above = 1 - (1 - own[-1]) * np.exp(-_over(points - self.values[:, -1:], right))
        return np.where(place == 0, below, np.where(place == len(own), above, inside)).reshape(y.shape)


def _sorted(values: FloatArray) -> FloatArray:
    crossed = int((np.diff(values, axis=1) < 0).any(axis=1).sum())
    if crossed:
        warn(f"quantiles must not descend, but do in {crossed} of {len(values)} rows; these rows were sorted.")
        values = np.sort(values, axis=1)
    return values


def _unknown(what: str) -> InputError:
    return InputError(
        f"{what} is not known where a lower quantile is minus infinity and an upper one infinity: there were too few "
        "rows for these levels. Use more rows, or levels nearer to the middle."
    )


def _times(scale: FloatArray, factor: FloatArray) -> FloatArray:
    """Return the product, which is 0 if a factor is 0, even if the other is infinite."""
    return np.where((scale == 0) | (factor == 0), 0.0, scale * factor)


def _over(distance: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the distance from the last quantile in units of the tail's scale; infinite if the scale is 0."""
    return np.where(scale == 0, np.inf, distance / scale)


def _tail_distance(beyond: FloatArray, mass: float, scale: FloatArray) -> FloatArray:
    """Return the part of E |Z - y| that comes from a tail of this mass and scale.

    `beyond` is the distance of y from the beginning of the tail; it is negative if y is not in the tail.
    """
    far = np.maximum(beyond, 0.0)
    left_over = mass * scale * np.exp(-np.where(scale > 0, far / scale, np.where(far > 0, np.inf, 0.0)))
    return np.where(beyond > 0, far - mass * scale + 2 * left_over, mass * scale)
