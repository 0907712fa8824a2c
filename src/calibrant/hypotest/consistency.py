"""The exact test: redraw the labels from the predictions and look where the observed value falls."""

from dataclasses import dataclass

import numpy as np

from calibrant._checks import check_count
from calibrant._convert import InputError
from calibrant._typing import Progress, Rng
from calibrant.hypotest.base import CalibrationTest
from calibrant.metrics import ECE
from calibrant.metrics.base import Metric
from calibrant.predictions import Predictions
from calibrant.resampling import redraw_labels
from calibrant.results import TestResult


@dataclass(frozen=True)
class ConsistencyTest(CalibrationTest):
    r"""Keep the predictions, redraw the labels from them, recompute the metric.

    Parameters
    ----------
    metric : Metric, default=ECE()
        Large values must speak against calibration.
    n_resamples : int, default=999
        Number of redraws B.

    Notes
    -----
    If the rows are independent and every label really is drawn from its row of probabilities, the observed value and
    the B redrawn ones are exchangeable, so :math:`p = (1 + \#\{m^*_b \ge m\}) / (B + 1)` is exact at every sample
    size. The hypothesis is the full one: all probabilities of a row, not only the largest, are right. A metric that
    looks at the top label only has no power against errors among the other classes. Weights are kept fixed: each row
    counts as one independent draw, whatever its weight.

    Examples
    --------
    >>> p = Predictions([0.9] * 40, labels=[0, 1] * 20)
    >>> ConsistencyTest(n_resamples=99)(p, rng=0).pvalue
    0.01
    """

    metric: Metric = ECE()
    n_resamples: int = 999

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric):
            raise TypeError(f"metric must be a Metric such as ECE(), but is {self.metric!r}.")
        check_count(self.n_resamples, "n_resamples")

    def __call__(self, predictions: Predictions, rng: Rng = None, *, progress: Progress | None = None) -> TestResult:
        """Run the test."""
        evaluate = self.metric.prepare_labels(predictions)
        observed = float(evaluate(predictions.labels[:, None])[0])
        blocks = redraw_labels(predictions, self.n_resamples, np.random.default_rng(rng), progress=progress)
        null = np.concatenate([evaluate(labels) for labels in blocks])
        if np.isnan(observed) or np.isnan(null).any():
            raise InputError(f"{self.metric!r} is not a number for {int(np.isnan(null).sum())} of the redraws.")
        # A redraw that equals the observed value up to rounding is a tie, and ties count.
        reached = null >= observed - 1e-12 * max(1.0, abs(observed))
        return TestResult(
            name=repr(self),
            statistic=observed,
            pvalue=float((1 + reached.sum()) / (1 + self.n_resamples)),
            estimate=observed,
            null=null,
            details={"smallest_pvalue": 1 / (1 + self.n_resamples), "expected": float(null.mean())},
        )
