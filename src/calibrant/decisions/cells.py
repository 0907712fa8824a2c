"""Rows with the same decisions and outcome, counted together, and the laws of means over them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant.binning.ties import comparable
from calibrant.exceptions import InputError
from calibrant.intervals.sandwich import conditional_ratio
from calibrant.intervals.student import StudentLaw
from calibrant.predictions import Predictions

FEWEST_EXPECTED, FEWEST = 5.0, 10.0
"""Least effective numbers of rows that contribute to a mean, for limits of it: the number expected from the
predictions, or else the average of expected and observed.

The expected number comes first: limits given only if many rows of a rare kind happen to be observed would miss too
often, and so would limits given without any such row.
"""


@dataclass(frozen=True, eq=False)
class Cells:
    r"""Rows of one outcome whose predictions lie between the same thresholds.

    A mean over rows of anything that depends on decisions and outcomes is a mean over cells, and the moments of the
    weights within each cell are all that its law needs.

    Attributes
    ----------
    place : ndarray of shape (m, C)
        For each of m models, the number of thresholds that each cell reaches: it is acted on at threshold j if
        ``place > j``.
    event : ndarray of shape (C,)
        Whether the event happened.
    moments, expected : ndarray of shape (4, C)
        Sums of the powers 1 to 4 of the shares of the rows, observed, and expected from the predictions.
    strata : ndarray of shape (C,)
        Stratum of each cell. If the prevalence is known, the two outcomes are sampled separately, as two strata.
    freedom : float
        Degrees of freedom of variances.
    n_rows : int
    """

    place: IntArray
    event: FloatArray
    moments: FloatArray
    expected: FloatArray
    strata: IntArray
    freedom: float
    n_rows: int

    @classmethod
    def of(cls, models: Sequence[Predictions], thresholds: FloatArray, prevalence: float | None = None) -> "Cells":
        """Count the rows in cells, given predictions of one or more models for them, and ascending thresholds."""
        first = models[0]
        present = first.weights > 0
        event = first.labels[present] == 1
        weights = first.weights[present] / first.weights.max()
        # The share of each row if it is an event, and if it is not.
        shares = _shares(weights, event, prevalence)
        cuts = comparable(thresholds)
        places = np.stack([np.searchsorted(cuts, comparable(p.positive[present]), side="right") for p in models])
        chance = np.mean([p.positive[present] for p in models], axis=0)
        code = np.ravel_multi_index(tuple(places), (len(thresholds) + 1,) * len(models))
        _, at, index = np.unique(code, return_index=True, return_inverse=True)
        rows = (event, ~event), (chance, 1 - chance)
        observed, expected = (
            np.hstack([_powers(index, own * share, own) for own, share in zip(kind, shares, strict=True)])
            for kind in rows
        )
        n = len(at)
        outcome = np.repeat([1.0, 0.0], n)
        strata = np.zeros(2 * n, dtype=np.int64) if prevalence is None else outcome.astype(np.int64)
        freedom = max(float(observed[1].sum() ** 2 / observed[3].sum()) / 2, 1.0)
        return cls(np.tile(places[:, at], 2), outcome, observed, expected, strata, freedom, len(event))

    def acts(self, n_thresholds: int, model: int = 0) -> FloatArray:
        """Return 1 where a cell is acted on, (C, T)."""
        return (self.place[model][:, None] > np.arange(n_thresholds)).astype(float)

    @property
    def prevalence(self) -> float:
        """Share of the event."""
        return float(self.moments[0] @ self.event)

    def means(self, values: FloatArray) -> "Means":
        """Return the law of the means of values, (C, T)."""
        centres = np.zeros_like(values)
        kept = np.ones(len(values))
        for stratum in np.unique(self.strata):
            own = self.strata == stratum
            mass = self.moments[0][own]
            centres[own] = mass @ values[own] / mass.sum()
            # The correction of n - 1 instead of n, per stratum.
            kept[own] = 1 - self.moments[1][own].sum() / mass.sum() ** 2
        with np.errstate(divide="ignore"):
            scale = np.where(kept > 0, 1 / kept, 0.0)
        deviations = values - centres
        factor = np.sqrt(self.moments[1] * scale)[:, None] * deviations
        spread = self.moments[1] @ deviations**2
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = np.where(spread > 0, self.moments[2] @ deviations**3 / spread**1.5, 0.0)
            expected, mixed = (
                (rows[1] @ deviations**2) ** 2 / (rows[3] @ deviations**4)
                for rows in (self.expected, (self.moments + self.expected) / 2)
            )
            spare = np.where(expected >= FEWEST_EXPECTED, expected / FEWEST_EXPECTED, mixed / FEWEST)
        known = (spread > 0) & (spare >= 1)
        return Means(self.moments[0] @ values, factor, skewness, known, self.freedom, *self._counts(values), spare)

    def _counts(self, values: FloatArray) -> tuple[FloatArray, float]:
        """Return the effective number of rows whose value is not 0, by column, and of all rows."""
        share, squares = (self.moments[power] @ (values != 0) for power in (0, 1))
        rows = float(self.moments[0].sum() ** 2 / self.moments[1].sum())
        return np.divide(share**2, squares, out=np.zeros_like(share), where=squares > 0), rows


@dataclass(frozen=True, eq=False)
class Means:
    """Means of several columns, with their covariance and skewness.

    Attributes
    ----------
    value : ndarray of shape (T,)
    factor : ndarray of shape (C, T)
        The covariance of the means is ``factor.T @ factor``.
    skewness : ndarray of shape (T,)
    known : ndarray of shape (T,)
        Whether enough rows contribute to each mean for limits of known coverage.
    freedom : float
    count : ndarray of shape (T,)
        Effective number of rows whose value is not 0.
    rows : float
        Effective number of all rows.
    spare : ndarray of shape (T,)
        How many times as many rows contribute as are needed for limits.
    """

    value: FloatArray
    factor: FloatArray
    skewness: FloatArray
    known: BoolArray
    freedom: float
    count: FloatArray
    rows: float
    spare: FloatArray

    @property
    def error(self) -> FloatArray:
        """Standard errors."""
        return np.asarray(np.sqrt((self.factor**2).sum(axis=0)))

    def limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return pointwise limits by Student's law, corrected for skewness; infinite if too few rows contribute.

        Where few predictions lie beyond a threshold, limits are given only in samples with unusually many, and would be
        too far from 0. So the limit next to 0 is multiplied by `conditional_ratio`.
        """
        low, high = np.full(len(self.value), -np.inf), np.full(len(self.value), np.inf)
        for j in np.flatnonzero(self.known):
            value = float(self.value[j])
            law = StudentLaw(value, float(self.error[j]), self.freedom, float(self.skewness[j]))
            low[j], high[j] = law.limits(level).around(value)
            if low[j] > 0 or high[j] < 0:
                count = float(self.count[j])
                ratio = conditional_ratio(count, count / float(self.spare[j]), (1 - level) / 2, self.rows)
                low[j], high[j] = low[j] * (ratio if low[j] > 0 else 1.0), high[j] * (ratio if high[j] < 0 else 1.0)
        return low, high

    def joint_limits(self, level: float, n_resamples: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        r"""Return limits that hold for all columns simultaneously.

        They use the quantile of the largest :math:`|\sum_i g_i u_{ij}| / s_j` over the columns j, where :math:`u_{ij}`
        is the contribution of row i to the error and :math:`g_i` are independent normal numbers (a multiplier
        bootstrap), of which only the sums over cells are drawn.
        """
        low, high = np.full(len(self.value), -np.inf), np.full(len(self.value), np.inf)
        known, error = self.known, self.error
        if known.any():
            columns = self.factor[:, known] / error[known]
            draws = np.abs(rng.standard_normal((n_resamples, len(columns))) @ columns).max(axis=1)
            reach = float(np.quantile(draws, level)) * error[known]
            low[known], high[known] = self.value[known] - reach, self.value[known] + reach
        return low, high


def _shares(weights: FloatArray, event: BoolArray, prevalence: float | None) -> tuple[FloatArray, FloatArray]:
    """Return the share of each row as an event, and as a non-event; those of all events sum to the prevalence."""
    if prevalence is None:
        shares = weights / weights.sum()
        return shares, shares
    found = float(weights @ event), float(weights @ ~event)
    if not min(found) > 0:
        raise InputError("a known prevalence needs rows of both outcomes, but only one occurs. Add rows of the other.")
    return weights * (prevalence / found[0]), weights * ((1 - prevalence) / found[1])


def _powers(index: IntArray, shares: FloatArray, rows: FloatArray) -> FloatArray:
    """Return sums of powers of the shares over cells; `rows` says what fraction of each row counts."""
    each = np.divide(shares, rows, out=np.zeros(len(shares)), where=rows > 0)
    return np.stack([np.bincount(index, rows * each**power) for power in (1, 2, 3, 4)])
