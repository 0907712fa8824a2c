"""Reliability curves over bins."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import check_level
from calibrant._typing import FloatArray
from calibrant.binning import Binning, Cells, EqualWidth
from calibrant.curves.bands import wilson
from calibrant.curves.view import binary_view, outcome_histogram
from calibrant.predictions import Predictions
from calibrant.results import Estimate, ReliabilityCurve


def bin_totals(bins: Cells, values: FloatArray) -> Callable[[NDArray[np.generic]], FloatArray]:
    """Return the map from columns W, (n, B), to the sums of values * W in every bin, (n_bins, B)."""
    from scipy.sparse import csr_array

    kept = bins.index >= 0
    data = np.where(kept, values, 0.0)
    column = np.where(kept, bins.index, 0)
    scatter = csr_array((data, column, np.arange(len(values) + 1)), shape=(len(values), bins.n_bins)).T
    return lambda columns: scatter @ columns


def joint_bin_totals(bins: Cells, values: FloatArray) -> Callable[[NDArray[np.generic]], FloatArray]:
    """Return the map from columns W, (n, B), to the sums of each of m values (n, m) times W, (m, n_bins, B).

    All m in one pass over W, which is what takes the time.
    """
    from scipy.sparse import csr_array

    n, m = values.shape
    kept = bins.index >= 0
    data = np.where(kept[:, None], values, 0.0)
    column = np.where(kept, bins.index, 0)[:, None] + bins.n_bins * np.arange(m)
    scatter = csr_array((data.ravel(), column.ravel(), m * np.arange(n + 1)), shape=(n, m * bins.n_bins)).T
    return lambda columns: (scatter @ columns).reshape(m, bins.n_bins, -1)


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
        One point for each bin that holds weight. Its error is the weighted mean of :math:`|\bar p - \bar y|`, the ECE.

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
    check_level(level)
    view, name = binary_view(predictions)
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
    low, high = wilson(observed, trials, level)
    error = float(mass / weights.max() @ np.abs(predicted - observed) / relative.sum())
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
        view=name,
        error=Estimate(name="ECE", value=error),
        histogram=outcome_histogram(view),
    )
