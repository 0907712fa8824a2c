"""The binned calibration error by chance alone."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from calibrant._border.types import Evaluator, FloatArray
from calibrant.binning import Binning, EqualWidth
from calibrant.curves import bin_totals
from calibrant.metrics.binned import as_binning
from calibrant.metrics.metric import Metric, relative
from calibrant.predictions import Predictions
from calibrant.results import Description


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
    >>> from calibrant.metrics import ECE
    >>> p = Predictions([0.5] * 200, labels=[0, 1] * 100)
    >>> round(ChanceECE()(p), 4), ECE()(p)  # sqrt(2 * 50 / pi) / 200
    (0.0282, 0.0)
    """

    family = "binned"
    accepts = "binary"
    better: ClassVar[Literal["lower", "higher", "none"]] = "none"
    measures = "chance"
    weights: ClassVar[Literal["frequency", "pairs"]] = "pairs"
    bins: Binning = EqualWidth(15)

    def about(self) -> Description:
        """Return how it is presented."""
        return self._presented(
            "ECE by chance",
            "The ECE that a perfectly calibrated model with the same predictions has on average.",
        )

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
