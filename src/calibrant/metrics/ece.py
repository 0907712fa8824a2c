"""Expected calibration error in bins, and its value by chance."""

from dataclasses import dataclass, replace

import numpy as np

from calibrant._border.numerals import as_given
from calibrant._border.types import Evaluator, FloatArray
from calibrant.binning import Binning, EqualWidth
from calibrant.binning.sums import bin_totals
from calibrant.metrics.base.binned import BinnedMetric, as_binning, bin_ratio
from calibrant.metrics.base.metric import Metric, check_norm, relative, root
from calibrant.predictions import Predictions
from calibrant.results import Description


@dataclass(frozen=True)
class ECE(BinnedMetric):
    r"""Expected calibration error: how far frequency and mean prediction are apart, averaged over bins.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)
    norm : float, default=1
        The exponent r below; 2 gives the root mean square, inf the largest gap of any bin.

    Notes
    -----
    With the weight :math:`W_b` of bin :math:`b` out of :math:`W`, its weighted mean prediction :math:`\bar p_b` and
    frequency :math:`\bar y_b`,

    .. math:: \Big(\sum_b \frac{W_b}{W} |\bar p_b - \bar y_b|^r\Big)^{1/r}.

    It is biased upwards: a calibrated model has a positive ECE by chance, which `ChanceECE` estimates.
    Given more than two classes, it means `TopLabel` of itself.

    References
    ----------
    M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> ECE()(Predictions([0.25, 0.25, 0.75, 0.75], labels=[0, 0, 1, 1]))
    0.25
    """

    label = "ECE"
    meaning = "Expected calibration error: the gap between prediction and frequency, averaged over bins of equal width."
    bins: Binning = EqualWidth(15)
    norm: float = 1

    def about(self) -> Description:
        """Return the description that readers see."""
        found = super().about()
        if self == ECE():
            return replace(found, principal=True)
        if self.norm == np.inf:
            return replace(
                found, label="ECE, maximum", meaning="The largest gap of any bin, even of one with few rows."
            )
        if self.norm != 1:
            name = "root mean square" if self.norm == 2 else f"norm {as_given(self.norm)}"
            meaning = "As ECE, but gaps are raised to a power, so that large ones weigh more."
            return replace(found, label=f"ECE, {name}", meaning=meaning)
        if isinstance(self.bins, EqualWidth):
            return replace(found, label=f"ECE, {self.bins.n_bins} bins")
        return replace(
            found, label="ECE, equal mass", meaning="As ECE, but every bin holds the same share of the rows."
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_norm(self.norm, largest=True)

    def combine(self, total: FloatArray, mass: FloatArray, predicted: FloatArray, hits: FloatArray) -> FloatArray:
        """Return the norm of the gaps."""
        gap_sums = np.abs(predicted - hits)
        if self.norm == 1:
            return gap_sums.sum(axis=0) / total
        gaps = bin_ratio(gap_sums, mass)
        if self.norm == np.inf:
            return gaps.max(axis=0)
        return root((mass * gaps**self.norm).sum(axis=0) / total, self.norm)


@dataclass(frozen=True)
class ChanceECE(Metric):
    r"""The ECE that a perfectly calibrated model with these predictions would have by chance.

    Parameters
    ----------
    bins : Binning, default=EqualWidth(15)

    Notes
    -----
    If every label is drawn from its prediction, the residuals of bin :math:`b` sum to a variable with mean 0 and
    variance :math:`V_b = \sum_{i \in b} w_i^2 p_i (1 - p_i)`: each row is one draw, regardless of its weight. Its mean
    absolute value is near :math:`\sqrt{2 V_b / \pi}` where many rows matter, and never above
    :math:`A_b = \sum_{i \in b} 2 w_i p_i (1 - p_i)`, the sum of the rows' own mean absolute residuals. The value is

    .. math:: \frac1W \sum_b \min\big(\sqrt{2 V_b / \pi},\; A_b\big).

    The labels do not enter. `ConsistencyTest` draws the whole law instead of approximating its mean.

    Examples
    --------
    >>> p = Predictions([0.5] * 200, labels=[0, 1] * 100)
    >>> round(ChanceECE()(p), 4), ECE()(p)  # sqrt(2 * 50 / pi) / 200
    (0.0282, 0.0)
    """

    label = "ECE by chance"
    meaning = "The ECE that a perfectly calibrated model with the same predictions has on average."
    family = "binned"
    accepts = "binary"
    better = "none"
    measures = "chance"
    weights = "pairs"
    bins: Binning = EqualWidth(15)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_binning(self.bins, EqualWidth))

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Return the map from weights, (n, B), to B values."""
        view = self.view(predictions)
        cut = self.bins.cut_view(view)
        spread = bin_totals(cut, view.positive * (1 - view.positive))

        def evaluate(weights: FloatArray) -> FloatArray:
            weights = relative(weights)
            expected = np.minimum(np.sqrt(2 * spread(view.squares(weights)) / np.pi), 2 * spread(weights))
            return expected.sum(axis=0) / weights.sum(axis=0)

        return evaluate
