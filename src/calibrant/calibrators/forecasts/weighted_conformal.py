"""Conformal intervals under covariate shift: new rows whose inputs have another distribution."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import FloatArray
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.forecasts.conformal import Conformal
from calibrant.calibrators.rules import Rule, vector
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Forecasts
from calibrant.results import PredictionIntervals


def _scored(scores: FloatArray, ratios: FloatArray) -> bool:
    return scores.shape in ((len(ratios), 1), (len(ratios), 2)) and bool(vector(ratios).min() > 0)


@dataclass(eq=False, repr=False)
class WeightedConformalIntervals(Conformal):
    r"""Prediction intervals under covariate shift, by weighted conformal prediction.

    Parameters
    ----------
    level, score, tails
        As in `ConformalIntervals`.

    Attributes
    ----------
    scores_ : ndarray of shape (n, 1) or (n, 2)
    ratios_ : ndarray of shape (n,)

    Notes
    -----
    The ratio w of a row is the density of its x among new rows divided by that among the rows of the fit, up to a
    common factor. The threshold for a new row with ratio w is the smallest s with

    .. math:: \sum_{s_i \le s} w_i \ge (1 - \alpha) \Big(\sum_i w_i + w\Big),

    or infinity. The guarantee holds for known ratios; for estimated ones there is none. Weights of `Forecasts` are not
    ratios: they count as copies of rows, and multiply the ratios.

    References
    ----------
    R. J. Tibshirani, R. Foygel Barber, E. J. Candes, A. Ramdas, "Conformal prediction under covariate shift",
    NeurIPS 2019.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal(np.zeros(9), 1.0), np.arange(1.0, 10.0))
    >>> fitted = WeightedConformalIntervals().fit(f, ratios=[1, 1, 1, 1, 1, 2, 2, 2, 2])
    >>> fitted.interval(Normal([0.0, 0.0], 1.0), ratios=[1.4, 1.5]).high.tolist()  # 13 / 14.4 and 13 / 14.5 of 0.9
    [9.0, inf]
    """

    level: float = 0.9
    score: Literal["normalised", "absolute", "quantiles", "pit"] = "normalised"
    tails: Literal["joint", "each"] = "joint"

    guarantee = "marginal coverage"
    use_when = "New rows differ from those of the fit only in x, with a known ratio of densities."
    rules = (Rule(("scores_", "ratios_"), _scored, "must be scores, with one positive ratio each"),)

    def fit(self, forecasts: Forecasts, ratios: object = None) -> Self:
        """Compute and store the scores of the rows.

        Parameters
        ----------
        forecasts : Forecasts
        ratios : array-like of shape (n,), optional
            Positive; by default 1.
        """
        used = self._checked(forecasts)
        self._fit(used, (_as_ratios(ratios, forecasts.n_samples) * forecasts.weights)[forecasts.weights > 0])
        self.dim_ = used.distribution.dim
        return self

    def _fit(self, forecasts: Forecasts, ratios: FloatArray) -> None:  # type: ignore[override]  # from its own fit
        self.scores_, self.ratios_ = np.column_stack(self._excesses(forecasts)), ratios

    def interval(self, distribution: Distribution, ratios: object = None) -> PredictionIntervals:
        """Return one interval per row, given the ratios of the rows, by default 1."""
        check_is_fitted(self)
        self._check_law(distribution)
        own = _as_ratios(ratios, distribution.n)
        needed = self._level_of_each * (self.ratios_.sum() + own)
        columns = []
        for scores in self.scores_.T:
            order = np.argsort(scores, kind="stable")
            mass = np.cumsum(self.ratios_[order])
            place = np.searchsorted(mass, needed - 1e-9 * needed)
            columns.append(np.append(scores[order], np.inf)[place])
        low, high, n_empty = self._check_settings().interval(distribution, columns[0], columns[-1], self.level)
        return PredictionIntervals(
            low=low,
            high=high,
            level=self.level,
            confidence=None,
            guarantee=self.guarantee,
            group=np.zeros(distribution.n, dtype=np.int64),
            ranks=np.array([0]),
            n_fitted=np.array([len(self.scores_)]),
            n_effective=float(self.ratios_.sum() ** 2 / np.square(self.ratios_).sum()),
            n_empty=n_empty,
        )


def _as_ratios(ratios: object, n: int) -> FloatArray:
    if ratios is None:
        return np.ones(n)
    values = np.asarray(ratios, dtype=np.float64)
    if values.shape != (n,):
        raise InputError(f"ratios must be {n} positive numbers, one per row, but have shape {values.shape}.")
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"ratios must be positive and finite, but row {row} is {as_given(values[row])}.")
    return values
