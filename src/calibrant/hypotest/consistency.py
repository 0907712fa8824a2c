"""The exact test: redraw the labels from the predictions and look where the observed value falls."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant._border.settings import check_count, check_option
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant._core.quantiles import quantiles
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.hypotest.calibration_test import CalibrationTest, monte_carlo_pvalue
from calibrant.metrics import ECE
from calibrant.metrics.base.metric import Metric
from calibrant.predictions import Predictions
from calibrant.resampling.redraws import redrawn_values
from calibrant.results import Description, TestResult
from calibrant.results.words.metrics import why_without_value


@dataclass(frozen=True)
class ConsistencyTest(CalibrationTest):
    r"""Keep the predictions, redraw the labels from them, recompute the metric.

    Parameters
    ----------
    metric : Metric, default=ECE()
        Large values must speak against calibration. Forecasts need a metric for them, such as `SKCE`.
    n_resamples : int, default=999
        Number of redraws B.
    null : {"full", "top-label"}, default="full"
        "full": all probabilities of a row are right. "top-label": only the confidence in the predicted class is;
        whether that class is right is redrawn from the confidence, and the metric sees nothing else.

    Notes
    -----
    If the rows are independent and every label really is drawn from its row of probabilities, the observed value and
    the B redrawn ones are exchangeable, so :math:`p = (1 + \#\{m^*_b \ge m\}) / (B + 1)` is exact at every sample
    size. Conditions: independent rows; bins, lengthscales and other tuning chosen from predictions only; predictions
    not made by a calibrator fitted on the same labels. A metric that looks at the top label only has no power against
    errors among the other classes. Weights are kept fixed: each row counts as one independent draw, whatever its
    weight.

    With more than 4096 rows, binned metrics of two classes or of the top label are computed from the number of events
    in each of a few thousand cells of similar rows (`calibrant.resampling.event_counts`). These numbers are drawn from
    their exact law, without a draw per row.

    Examples
    --------
    >>> p = Predictions([0.9] * 40, labels=[0, 1] * 20)
    >>> ConsistencyTest(n_resamples=99)(p, rng=0).pvalue
    0.01
    """

    caution = "Exact for independent rows whose predictions were not fitted to these labels."
    cells = True
    metric: Metric = ECE()
    n_resamples: int = 999
    null: Literal["full", "top-label"] = "full"

    def about(self) -> Description:
        """Return the description that readers see."""
        measure = self.metric.about().label
        return replace(super().about(), label=f"Consistency ({measure})", meaning=f"Any gap that {measure} shows.")

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric):
            raise TypeError(f"metric must be a Metric such as ECE(), but is {self.metric!r}.")
        check_count(self.n_resamples, "n_resamples")
        check_option(self.null, "null", "full", "top-label")

    def run(self, data: Predictions | Forecasts, rng: Rng, progress: Progress | None) -> TestResult:
        """Redraw the labels and compare."""
        view = self._view(data)
        observed = self.metric.value(view)
        if np.isnan(observed):
            why = why_without_value(self.metric.describe(view)) or "the data do not determine one"
            raise InputError(f"{self.metric!r} has no value to compare with redraws: {why}. Test another metric.")
        compared, null = self._redraws(view, observed, np.random.default_rng(rng), progress)
        if np.isnan(null).any():
            raise InputError(
                f"{self.metric!r} must be a number for all labels, but is NaN for {int(np.isnan(null).sum())} of "
                f"{len(null)} redraws. Test another metric."
            )
        return TestResult(
            name=repr(self),
            statistic=observed,
            pvalue=monte_carlo_pvalue(compared, null),
            estimate=observed,
            null=null,
            details={
                "smallest_pvalue": 1 / (1 + self.n_resamples),
                "expected": float(null.mean()),
                "detectable": float(quantiles(null, 0.95)),
            },
        )

    def _view(self, data: Predictions | Forecasts) -> Predictions | Forecasts:
        if self.null == "full":
            return data
        if not isinstance(data, Predictions):
            raise InputError('null="top-label" is for class predictions, but got forecasts.')
        return data.top_label()

    def _redraws(
        self, data: Predictions | Forecasts, observed: float, rng: np.random.Generator, progress: Progress | None
    ) -> tuple[float, FloatArray]:
        """Return the value of the observed labels and those of the redraws, all computed in the same way.

        A metric of the confidence needs only whether the predicted class is right; the confidence is the probability of
        that.
        """
        data = self.metric.view(data) if isinstance(data, Predictions) else data
        if isinstance(data, Predictions) and data.n_classes == 2:
            counted = self.metric.prepare_counts(data)
            if counted is not None:
                (own,) = counted.evaluate(counted.cells.count(data.labels[:, None]))
                return float(own), counted.redrawn(self.n_resamples, rng, progress)
        return observed, redrawn_values(self.metric.prepare_labels(data), data, self.n_resamples, rng, progress)
