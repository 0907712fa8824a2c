"""How large errors are, against how large they were predicted to be."""

import numpy as np

from calibrant._border.checks import check_level
from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import normal_quantile
from calibrant.binning import Binning, Bins, EqualMass
from calibrant.curves.binned import bin_totals
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.results.forecasts import SpreadCurve


def spread_curve(forecasts: Forecasts, bins: Binning | None = None, *, level: float = 0.95) -> SpreadCurve:
    r"""Root mean squared error against root mean predicted variance, in bins of the predicted standard deviation.

    Parameters
    ----------
    forecasts : Forecasts
        On the line.
    bins : Binning, default=EqualMass(10)
        Cuts the standard deviations, after they are mapped linearly onto [0, 1].
    level : float, default=0.95
        Confidence level of each interval, taken alone: normal limits of the mean squared error, by the variance of the
        squared errors in the bin, and then the root.

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
    weights = forecasts.weights[:, None] / forecasts.weights.max()  # So that squares of huge ones do not overflow.
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
    """Cut the predicted standard deviations, mapped onto [0, 1]; return also the least and the largest of them."""
    if forecasts.distribution.event_shape:
        raise InputError(f"standard deviations are compared for real numbers, but these are {forecasts.distribution}.")
    if not forecasts.distribution.has_sd:
        raise InputError(f"standard deviations must be finite, but some are not: these are {forecasts.distribution}.")
    sd = forecasts.distribution.sd()
    present = sd[forecasts.weights > 0]
    least, largest = float(present.min()), float(present.max())
    scaled = ((sd - least) / (largest - least)).clip(0.0, 1.0) if largest > least else np.zeros(len(sd))
    return bins.cut(scaled, forecasts.weights), least, largest


def squared_errors(forecasts: Forecasts) -> FloatArray:
    """Return the squared distance of each target from its predicted mean."""
    return np.square(forecasts.targets - forecasts.distribution.mean())


def _by_row(cut: Bins, used: BoolArray, values: FloatArray) -> FloatArray:
    """Return for each row the value of its bin, given those of the bins in use; 0 for other rows."""
    every = np.zeros(cut.n_bins)
    every[used] = values
    return np.where(cut.index >= 0, every[cut.index], 0.0)
