"""Calibration of predictive distributions: of their quantiles and of their standard deviations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.settings import check_option
from calibrant._border.types import Evaluator, FloatArray
from calibrant.binning import Binning, EqualMass
from calibrant.binning.sums import bin_totals
from calibrant.curves.forecasts import (
    Form,
    coverage_shares,
    shares_between,
    spread_bins,
    squared_errors,
)
from calibrant.forecasts import Forecasts, Samples
from calibrant.forecasts.transform import Ensemble, check_ensemble
from calibrant.metrics.base.metric import QUANTILES, check_norm, root
from calibrant.metrics.forecasts.metric import (
    Columns,
    ForecastMetric,
    check_levels,
    draw_masses,
    has_uniform_transforms,
    level_array,
)
from calibrant.predictions import effective_rows
from calibrant.resampling.redraws import redrawn_values
from calibrant.results import Description


@dataclass(frozen=True)
class QuantileCalibration(ForecastMetric):
    r"""How far the observed coverage of predicted quantiles is from the nominal one, over levels.

    Parameters
    ----------
    levels : int or tuple of float, default=99
        Levels, or the number of equally spaced ones between 0 and 1: 99 means 0.01, 0.02, ..., 0.99.
    norm : float, default=1
        1 gives the mean absolute error (MACE), 2 the root mean square (RMSCE), inf the largest.
    form : {"quantile", "interval"}, default="quantile"
        "quantile": the share of targets up to the predicted quantile of each level. "interval": the share in the
        central interval of each level, which does not distinguish shifts to either side.
    ensemble : {"fair", "empirical"}, default="fair"
        How to read `Samples`; see `calibrant.forecasts.pit`.

    Notes
    -----
    With the probability integral transforms :math:`u_i` and the share :math:`\hat p_q` of weight with
    :math:`u_i \le q`,

    .. math:: \Big(\frac1Q \sum_q |\hat p_q - q|^r\Big)^{1/r}.

    Nothing is drawn: where a law has atoms, a row counts by the probability that its randomised transform is at most q.
    Calibrated forecasts have a positive value by chance, of order :math:`n^{-1/2}`; the details give it for the norms 1
    and 2. Zero is necessary for calibration, not sufficient: the climatological forecast reaches it too.

    References
    ----------
    V. Kuleshov, N. Fenner, S. Ermon, "Accurate uncertainties for deep learning using calibrated regression", ICML 2018
    (the sum of squares over levels is Q times the square of the RMSCE).

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal([0.0] * 4, 1.0), [-1.0, -0.1, 0.1, 3.0])
    >>> QuantileCalibration(levels=(0.25, 0.5, 0.75))(f)
    0.0
    """

    group = QUANTILES
    principal = True
    family = "binned"  # Levels are its bins: biased upwards near 0, as binned errors are.
    measures = "calibration"
    needs = "cdf"
    levels: int | tuple[float, ...] = 99
    norm: float = 1
    form: Form = "quantile"
    ensemble: Ensemble = "fair"

    def about(self) -> Description:
        """Return the description that readers see."""
        power = f"norm {as_given(self.norm)}"
        known = {1: ("MACE", "Mean absolute"), 2: ("RMSCE", "Root-mean-square"), np.inf: ("Coverage error", "Largest")}
        name, mean = known.get(self.norm, (f"Coverage error, {power}", f"Mean ({power})"))
        meaning = f"{mean} distance between nominal and observed coverage of"
        if self.form == "quantile":
            return replace(super().about(), label=name, meaning=f"{meaning} quantiles.")
        return replace(
            super().about(), label=f"{name}, intervals", meaning=f"{meaning} central intervals.", principal=False
        )

    def __post_init__(self) -> None:
        check_levels(self.levels, closed=True)
        check_ensemble(self.ensemble)
        check_norm(self.norm, largest=True)
        check_option(self.form, "form", "quantile", "interval")

    def at_columns(self, columns: Columns) -> Self | None:
        """Return the error of these quantiles, or of the intervals between them."""
        known = columns.levels if self.form == "quantile" else columns.pairs
        return replace(self, levels=known) if known else None

    def prepare(self, forecasts: Forecasts) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        levels = level_array(self.levels)
        shares = coverage_shares(forecasts, levels, self.form, self.ensemble)
        return lambda weights: self._norm(np.abs(shares(weights) - levels[:, None]))

    def by_chance(self, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:
        """Return B values that calibrated forecasts have by chance.

        The transforms of laws with a density are uniform, and so is the level of the smallest central interval that
        holds the target: both forms have the same distribution. In a fair ensemble all ranks are equally likely.
        """
        law, levels = forecasts.distribution, level_array(self.levels)
        weights = forecasts.weights / forecasts.weights.max()
        if has_uniform_transforms(law):
            masses = draw_masses(weights, np.diff(levels, prepend=0.0, append=1.0), n_redraws, rng)
            return self._norm(np.abs(np.cumsum(masses, axis=1)[:, :-1].T / weights.sum() - levels[:, None]))
        if isinstance(law, Samples) and self.ensemble == "fair":
            edges = np.arange(law.n_draws + 2) / (law.n_draws + 1)
            masses = draw_masses(weights, np.diff(edges), n_redraws, rng)
            shares = shares_between((edges[:-1], edges[1:]), levels, self.form)
            return self._norm(np.abs(shares(masses.T) - levels[:, None]))
        return redrawn_values(self.prepare_labels(forecasts), forecasts, n_redraws, rng)

    def details(self, forecasts: Forecasts) -> Mapping[str, object]:
        """Give the value that calibrated forecasts would show by chance, where it has a simple form."""
        levels = level_array(self.levels)
        variance = levels * (1 - levels) / effective_rows(forecasts.weights)
        if self.norm == 1:
            return {"by_chance": float(np.sqrt(2 / np.pi * variance).mean())}
        return {"by_chance": float(np.sqrt(variance.mean()))} if self.norm == 2 else {}

    def _norm(self, gaps: FloatArray) -> FloatArray:
        if self.norm == np.inf:
            return gaps.max(axis=0)
        return root((gaps**self.norm).mean(axis=0), self.norm)


@dataclass(frozen=True)
class ENCE(ForecastMetric):
    r"""Expected normalised calibration error: how far errors and predicted standard deviations are apart.

    Parameters
    ----------
    bins : Binning, default=EqualMass(10)
        Cuts the predicted standard deviations, after they are mapped linearly onto [0, 1]. `EqualWidth` thus means
        equal widths between the smallest and the largest.

    Notes
    -----
    Over the bins that hold weight, the mean of

    .. math:: \frac{|\mathrm{RMV}_b - \mathrm{RMSE}_b|}{\mathrm{RMV}_b},

    with the root mean predicted variance and the root mean squared error of the predicted means. It has no unit. By
    chance it is about :math:`\sqrt{B / (\pi n)}` for n calibrated normal forecasts in B bins, and more for heavier
    tails: compare values at the same n and B only. It is infinite if a bin predicts no spread but errs.
    `calibrant.curves.spread_curve` gives the bins.

    References
    ----------
    D. Levi, L. Gispan, N. Giladi, E. Fetaya, "Evaluating and calibrating uncertainty prediction in regression tasks",
    Sensors 22 (2022).

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal(0.0, [1.0, 1.0, 2.0, 2.0]), [1.0, -1.0, 3.0, -3.0])
    >>> round(ENCE(bins=EqualMass(2))(f), 4)  # (0 + 1 / 2) / 2
    0.25
    """

    label = "ENCE"
    meaning = "Distance between predicted spread and size of errors, relative to the spread, over bins."
    group = QUANTILES
    principal = True
    family = "binned"
    measures = "calibration"
    needs = "sd on the line"
    bins: Binning = EqualMass(10)

    def __post_init__(self) -> None:
        if not isinstance(self.bins, Binning):
            raise TypeError(f"bins must be a Binning such as EqualMass(10) or EqualWidth(10), but is {self.bins!r}.")

    def prepare(self, forecasts: Forecasts) -> Evaluator:
        """Return the map from weights, (n, B), to B values; the bins are cut once, at the data's own weights."""
        cut, _, _ = spread_bins(forecasts, self.bins)
        mass = bin_totals(cut, np.ones(forecasts.n_samples))
        variances = bin_totals(cut, np.square(forecasts.distribution.sd()))
        squares = bin_totals(cut, squared_errors(forecasts))

        def evaluate(weights: FloatArray) -> FloatArray:
            gaps = _relative_gaps(variances(weights), squares(weights))
            used = mass(weights) > 0
            return np.where(used, gaps, 0.0).sum(axis=0) / used.sum(axis=0)

        return evaluate

    def prepare_labels(self, forecasts: Forecasts) -> Evaluator:
        """Return the map from targets, (n, B), to B values at the data's own weights."""
        cut, _, _ = spread_bins(forecasts, self.bins)
        totals, weights = bin_totals(cut, np.ones(forecasts.n_samples)), forecasts.weights[:, None]
        variances = totals(weights * np.square(forecasts.distribution.sd())[:, None])
        used, centre = totals(weights) > 0, forecasts.distribution.mean()[:, None]

        def evaluate(targets: FloatArray) -> FloatArray:
            gaps = _relative_gaps(variances, totals(weights * np.square(targets - centre)))
            return np.where(used, gaps, 0.0).sum(axis=0) / used.sum()

        return evaluate

    def details(self, forecasts: Forecasts) -> Mapping[str, object]:
        """Say how many bins hold weight."""
        cut, _, _ = spread_bins(forecasts, self.bins)
        mass = bin_totals(cut, np.ones(forecasts.n_samples))(forecasts.weights[:, None])
        return {"bins_used": int((mass > 0).sum())}


def _relative_gaps(variances: FloatArray, squares: FloatArray) -> FloatArray:
    """Return |sqrt(v) - sqrt(s)| / sqrt(v); without variance, 0 if there is no error either, else infinity."""
    spread, error = np.sqrt(variances), np.sqrt(squares)
    bad = np.where(error > 0, np.inf, 0.0)
    return np.divide(np.abs(spread - error), spread, out=bad, where=np.broadcast_to(spread > 0, bad.shape))
