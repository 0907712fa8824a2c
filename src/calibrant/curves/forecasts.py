"""Curves of forecasts: PIT histograms, coverage of quantiles, and errors against predicted spreads."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from calibrant._border.settings import check_count, check_level, check_option
from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import normal_quantile
from calibrant.binning import Binning, Bins, EqualMass
from calibrant.binning.sums import bin_totals
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.forecasts.transform import Ensemble, level_shares, pit_limits
from calibrant.predictions import effective_rows
from calibrant.results.forecasts import PITHistogram, QuantileCurve, SpreadCurve

TIE = 1e-12
"""Relative difference up to which two probabilities count as equal, because of rounding."""

Form = Literal["quantile", "interval"]
"""Whether a level is the probability below a quantile, or that of a central interval."""


def pit_histogram(
    forecasts: Forecasts, bins: int = 10, *, level: float = 0.95, ensemble: Ensemble = "fair"
) -> PITHistogram:
    """Histogram of the probability integral transforms, flat if the forecasts are calibrated.

    A U shape means that the laws are too narrow, a hump that they are too wide, a slope that they are shifted.

    Parameters
    ----------
    forecasts : Forecasts
        On the line.
    bins : int, default=10
        Number of bins of equal width.
    level : float, default=0.95
        Level of the limits, which are quantiles of the binomial law with n trials and probability 1 / bins; with
        weights, n is Kish's effective number of rows.
    ensemble : {"fair", "empirical"}, default="fair"
        See `calibrant.forecasts.pit`.

    Returns
    -------
    PITHistogram

    Notes
    -----
    Nothing is random: a transform of a law with atoms is spread evenly over its interval, like its randomised version
    on average (C. Czado, T. Gneiting, L. Held, "Predictive model assessment for count data", Biometrics 65, 2009).
    The counts then vary less than binomial ones, and the limits are too wide rather than too narrow.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> pit_histogram(Forecasts(Normal([0.0] * 4, 1.0), [-1.0, -0.1, 0.1, 3.0]), bins=2).count.tolist()
    [2.0, 2.0]
    """
    check_count(bins, "bins")
    check_level(level)
    edges = np.arange(1, bins) / bins
    shares = level_shares(*pit_limits(forecasts, ensemble), edges)(forecasts.weights[:, None])[:, 0]
    total = float(forecasts.weights.sum())
    low, high = binomial_limits(np.full(bins, 1 / bins), effective_rows(forecasts.weights), level)
    return PITHistogram(
        lower=np.append(0.0, edges),
        upper=np.append(edges, 1.0),
        count=total * np.diff(np.concatenate([[0.0], shares, [1.0]])),
        expected=total / bins,
        low=total * low,
        high=total * high,
        n_samples=int((forecasts.weights > 0).sum()),
        level=level,
    )


def quantile_curve(
    forecasts: Forecasts,
    levels: object = None,
    *,
    form: Form = "quantile",
    level: float = 0.95,
    ensemble: Ensemble = "fair",
) -> QuantileCurve:
    """Return the share of targets below each predicted quantile, or in each central interval.

    Parameters
    ----------
    forecasts : Forecasts
        On the line.
    levels : array-like of shape (m,), optional
        Ascending, from 0 to 1. Default: 0.01, 0.02, ..., 0.99.
    form : {"quantile", "interval"}, default="quantile"
    level : float, default=0.95
        Level of the limits around the diagonal, which are binomial quantiles; see `pit_histogram`.
    ensemble : {"fair", "empirical"}, default="fair"
        See `calibrant.forecasts.pit`.

    Returns
    -------
    QuantileCurve

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> f = Forecasts(Normal([0.0] * 4, 1.0), [-1.0, -0.1, 0.1, 3.0])
    >>> quantile_curve(f, [0.25, 0.5, 0.75]).observed.tolist()
    [0.25, 0.5, 0.75]
    """
    check_level(level)
    nominal = np.arange(1, 100) / 100 if levels is None else np.asarray(levels, dtype=np.float64)
    check_nominal(nominal)
    low, high = binomial_limits(nominal, effective_rows(forecasts.weights), level)
    return QuantileCurve(
        nominal=nominal,
        observed=coverage_shares(forecasts, nominal, form, ensemble)(forecasts.weights[:, None])[:, 0],
        low=low,
        high=high,
        n_samples=int((forecasts.weights > 0).sum()),
        level=level,
        form=form,
    )


def coverage_shares(
    forecasts: Forecasts, nominal: FloatArray, form: Form, ensemble: Ensemble
) -> Callable[[FloatArray], FloatArray]:
    """Return the map from weights, (n, B), to the observed coverage at ascending levels, (q, B)."""
    check_option(form, "form", *get_args(Form))
    return shares_between(pit_limits(forecasts, ensemble), nominal, form)


def shares_between(
    limits: tuple[FloatArray, FloatArray], nominal: FloatArray, form: Form
) -> Callable[[FloatArray], FloatArray]:
    """Return the map of `coverage_shares`, given the ends of the intervals that contain the transforms."""
    if form == "quantile":
        return level_shares(*limits, nominal)
    # A transform at the lower end of an interval counts as inside.
    below = level_shares(*limits, np.nextafter((1 - nominal[::-1]) / 2, -1.0))
    up_to = level_shares(*limits, (1 + nominal) / 2)
    return lambda weights: up_to(weights) - below(weights)[::-1]


def binomial_limits(shares: FloatArray, n: float, level: float) -> tuple[FloatArray, FloatArray]:
    """Return limits, as shares, that contain binomial counts with these probabilities with at least this level."""
    from scipy.special import betainc  # Not `scipy.stats`, whose import takes most of a second.

    trials = max(1, round(n))
    tail = (1 - level) / 2
    # P(count <= k), and P(count > k), which is more accurate than 1 minus the former.
    low = _least_count(lambda k: betainc(trials - k, k + 1, 1 - shares) >= tail * (1 - TIE), trials, shares)
    high = _least_count(lambda k: betainc(k + 1, trials - k, shares) <= tail * (1 + TIE), trials, shares)
    return low / trials, high / trials


def _least_count(holds: Callable[[FloatArray], BoolArray], trials: int, shares: FloatArray) -> FloatArray:
    """Return for each share the least count from which on the condition holds, at most `trials`, by bisection."""
    low, high = np.zeros(len(shares)), np.full(len(shares), float(trials))
    while np.any(low < high):
        middle = np.floor((low + high) / 2)
        enough = holds(middle)
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        low = np.minimum(low, high)
    return high


def check_nominal(levels: FloatArray) -> None:
    """Refuse levels that do not ascend from 0 to 1."""
    inside = levels.ndim == 1 and levels.size > 0 and bool(np.all((levels >= 0) & (levels <= 1)))
    if not inside or bool(np.any(np.diff(levels) <= 0)):
        raise InputError(f"levels must be numbers from 0 to 1 in ascending order, but are {levels!r:.80}.")


def spread_curve(forecasts: Forecasts, bins: Binning | None = None, *, level: float = 0.95) -> SpreadCurve:
    r"""Root mean squared error against root mean predicted variance, in bins of the predicted standard deviation.

    Parameters
    ----------
    forecasts : Forecasts
        On the line.
    bins : Binning, default=EqualMass(10)
        Cuts the standard deviations, after they are mapped linearly onto [0, 1].
    level : float, default=0.95
        Confidence level of each interval by itself: the root of normal limits of the mean squared error, by the
        variance of the squared errors in the bin.

    Returns
    -------
    SpreadCurve
        One point for each bin that holds weight.

    Examples
    --------
    >>> from calibrant.forecasts import Normal
    >>> curve = spread_curve(Forecasts(Normal(0.0, [1.0, 1.0, 2.0, 2.0]), [1.0, -1.0, 4.0, -4.0]), EqualMass(2))
    >>> curve.predicted.tolist(), curve.observed.tolist()
    ([1.0, 2.0], [1.0, 4.0])
    """
    check_level(level)
    binning = bins or EqualMass(10)
    cut, least, largest = spread_bins(forecasts, binning)
    weights = forecasts.weights[:, None] / forecasts.weights.max()  # So that squares of huge weights do not overflow.
    ones = bin_totals(cut, np.ones(forecasts.n_samples))
    mass = ones(weights)[:, 0]
    used = mass > 0
    squares = squared_errors(forecasts)

    def mean(values: FloatArray) -> FloatArray:
        return bin_totals(cut, values)(weights)[used, 0] / mass[used]

    error = mean(squares)
    rest = squares - _by_row(cut, used, error)
    half = normal_quantile((1 + level) / 2) * np.sqrt(bin_totals(cut, rest**2)(weights**2)[used, 0]) / mass[used]
    return SpreadCurve(
        predicted=np.sqrt(mean(np.square(forecasts.distribution.sd()))),
        observed=np.sqrt(error),
        low=np.sqrt(np.maximum(error - half, 0.0)),
        high=np.sqrt(error + half),
        lower=least * (1 - cut.lower[used]) + largest * cut.lower[used],
        upper=least * (1 - cut.upper[used]) + largest * cut.upper[used],
        count=ones(weights > 0)[used, 0],
        weight=mass[used] * forecasts.weights.max(),
        level=level,
        kind=repr(binning),
    )


def spread_bins(forecasts: Forecasts, bins: Binning) -> tuple[Bins, float, float]:
    """Return the bins of the predicted standard deviations, mapped onto [0, 1], and the least and largest of these."""
    if forecasts.distribution.event_shape:
        raise InputError(f"forecasts must be univariate for a spread curve or ENCE, but are {forecasts.distribution}.")
    if not forecasts.distribution.has_sd:
        raise InputError(f"forecasts must have finite standard deviations, but these are {forecasts.distribution}.")
    sd = forecasts.distribution.sd()
    present = sd[forecasts.weights > 0]
    least, largest = float(present.min()), float(present.max())
    scaled = ((sd - least) / (largest - least)).clip(0.0, 1.0) if largest > least else np.zeros(len(sd))
    return bins.cut(scaled, forecasts.weights), least, largest


def squared_errors(forecasts: Forecasts) -> FloatArray:
    """Return the squared distance of each target from its predicted mean."""
    return np.square(forecasts.targets - forecasts.distribution.mean())


def _by_row(cut: Bins, used: BoolArray, values: FloatArray) -> FloatArray:
    """Return the value of the bin of each row, given the values of used bins; 0 for rows outside every bin."""
    every = np.zeros(cut.n_bins)
    every[used] = values
    return np.where(cut.index >= 0, every[cut.index], 0.0)
