"""Reliability curves: how often the event happens, against how often it was predicted."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrant._convert import InputError
from calibrant._typing import FloatArray
from calibrant.binning import Binning, Cells, EqualWidth
from calibrant.predictions import Predictions
from calibrant.results import ReliabilityCurve


def bin_totals(bins: Cells, values: FloatArray) -> Callable[[NDArray[np.generic]], FloatArray]:
    """Return the map from columns W, (n, B), to the sums of values * W in every bin, (n_bins, B)."""
    from scipy.sparse import csr_array

    kept = bins.index >= 0
    data = np.where(kept, values, 0.0)
    column = np.where(kept, bins.index, 0)
    scatter = csr_array((data, column, np.arange(len(values) + 1)), shape=(len(values), bins.n_bins)).T
    return lambda columns: scatter @ columns


def reliability_curve(
    predictions: Predictions, bins: Binning | None = None, *, level: float = 0.95
) -> ReliabilityCurve:
    r"""Binned reliability curve with a Wilson confidence interval at every bin.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1 against its frequency. More classes: confidence against correctness.
    bins : Binning, default=EqualWidth(15)
    level : float, default=0.95
        Confidence level of each interval, taken alone.

    Returns
    -------
    ReliabilityCurve
        One point for each bin that holds weight.

    Notes
    -----
    With the weights :math:`w_i` of the rows in a bin, the point is :math:`(\bar p, \bar y)` with
    :math:`\bar p = \sum w_i p_i / \sum w_i` and likewise :math:`\bar y`. The interval is Wilson's for a frequency
    :math:`\bar y` in :math:`(\sum w_i)^2 / \sum w_i^2` trials (Kish's effective number).

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Examples
    --------
    >>> curve = reliability_curve(Predictions([0.2, 0.4, 0.9], labels=[0, 1, 1]), EqualWidth(2))
    >>> curve.predicted.round(2).tolist(), curve.observed.tolist()
    ([0.3, 0.9], [0.5, 1.0])
    """
    from scipy.special import ndtri

    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, but is {level!r}.")
    view = predictions if predictions.n_classes == 2 else predictions.top_label()
    cut = (bins or EqualWidth()).cut(view.positive, view.weights)
    weights = view.weights[:, None]
    ones = np.ones(view.n_samples)
    mass, count = bin_totals(cut, ones)(weights)[:, 0], bin_totals(cut, ones)(weights > 0)[:, 0]
    used = mass > 0
    mass = mass[used]
    relative = weights / weights.max()  # So that the squares of huge weights do not overflow.
    trials = (bin_totals(cut, ones)(relative) ** 2)[used, 0] / bin_totals(cut, ones)(relative**2)[used, 0]
    predicted = bin_totals(cut, view.positive)(weights)[used, 0] / mass
    observed = bin_totals(cut, view.labels.astype(float))(weights)[used, 0] / mass
    low, high = _wilson(observed, trials, float(ndtri((1 + level) / 2)))
    return ReliabilityCurve(
        predicted=predicted,
        observed=observed,
        low=low,
        high=high,
        lower=cut.lower[used],
        upper=cut.upper[used],
        count=count[used],
        weight=mass,
        level=level,
        kind=repr(bins or EqualWidth()),
    )


def _wilson(frequency: FloatArray, trials: FloatArray, z: float) -> tuple[FloatArray, FloatArray]:
    centre = (frequency + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(frequency * (1 - frequency) / trials + (z / (2 * trials)) ** 2) / (1 + z**2 / trials)
    # At frequency 0 the limit is 0 exactly, whatever rounding says; likewise at 1.
    low = np.where(frequency <= 0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(frequency >= 1, 1.0, np.minimum(centre + half, 1.0))
