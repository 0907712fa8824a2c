"""Confidence limits of one metric of one model, by a method that is valid for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._convert import InputError
from calibrant._typing import Rng
from calibrant.bootstrap import Bootstrap
from calibrant.intervals import debiased, kernel, resampled, scores
from calibrant.intervals.base import Method
from calibrant.metrics import KCE, SKCE, Accuracy, Metric, Score, SimplexECE
from calibrant.predictions import Predictions
from calibrant.resampling import redraw_labels
from calibrant.results import Interval

METHODS: Mapping[str, Method] = {
    "bootstrap-t": scores.bootstrap_t,
    "wilson": scores.wilson,
    "bca": resampled.bca,
    "percentile": resampled.percentile,
    "debiased": debiased.debiased,
    "law": kernel.law,
}
"""Every method by its name; each is given data, metric, level, bootstrap and generator."""


MOST_REDRAWS = 399
"""Redraws of the labels for the range of a calibration error under calibration, which is there to look at."""


FEWEST_OUTCOMES = 10
"""So many rows of the rarer outcome must be expected for limits of the calibration slope and its like."""

MANY_OUTCOMES = 50
"""With so many that happened, what was expected does not matter."""


def interval(
    predictions: Any,
    metric: Metric,
    method: str = "auto",
    *,
    level: float = 0.95,
    bootstrap: Bootstrap | None = None,
    rng: Rng = None,
) -> Interval:
    """Return the value of a metric with confidence limits.

    Parameters
    ----------
    predictions : Predictions or Forecasts
    metric : Metric
    method : {"auto", "bootstrap-t", "wilson", "bca", "debiased", "law", "percentile"}, default="auto"
        "auto" chooses by the metric, see Notes.
    level : float, default=0.95
    bootstrap : Bootstrap, default=Bootstrap(999)
        Number of resamples, clusters and strata.
    rng : Generator, int or None

    Returns
    -------
    Interval

    Notes
    -----
    - Means over rows (log loss, Brier score): the studentised bootstrap, with a standard error that the predictions
      have a part in, so that it holds where few rows are wrong. Accuracy: Wilson's interval.
    - Calibration errors that chance makes positive (ECE, KDE-ECE and their relatives): limits of the debiased
      root-mean-square error over the metric's own bins, or over 15 bins of equal width if it has none, which hold with
      and without miscalibration; beside them the mean and the range of the metric itself if the model were calibrated.
      A percentile interval would miss the true value 0 of a calibrated model always.
    - Unbiased SKCE: its own law as a U-statistic.
    - Other numbers, such as the calibration slope: BCa, bootstrap quantiles corrected for bias and skewness. Refused if
      fewer than 10 rows of the rarer outcome are expected from the predictions, and fewer than 50 are there.

    How often each contains the true value is simulated in docs/coverage.md.

    Examples
    --------
    >>> from calibrant.metrics import Accuracy
    >>> p = Predictions([0.9] * 10, labels=[1] * 8 + [0] * 2)
    >>> limits = interval(p, Accuracy())
    >>> limits.value, round(limits.low, 3), round(limits.high, 3)  # Wilson's interval of 8 in 10
    (0.8, 0.49, 0.943)
    """
    name = method_for(metric, predictions) if method == "auto" else method
    if name is None:
        raise InputError(_refusal(metric))
    if name not in METHODS:
        raise InputError(f'method must be "auto" or one of {", ".join(METHODS)}, but is {method!r}.')
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1, but is {level!r}.")
    plan = Plan(name, level, bootstrap or Bootstrap(999))
    return plan.interval(predictions, metric, metric(predictions), np.random.default_rng(rng))


@dataclass(frozen=True)
class Plan:
    """A method with its settings."""

    method: str
    level: float
    bootstrap: Bootstrap

    def interval(self, predictions: Any, metric: Metric, value: float, rng: np.random.Generator) -> Interval:
        """Return the limits beside a value that is known already."""
        limits = METHODS[self.method](predictions, metric, self.level, self.bootstrap, rng)
        expected, null = None, None
        if self.method == "debiased":
            n_resamples = min(self.bootstrap.n_resamples, MOST_REDRAWS)
            expected, null = _under_calibration(predictions, metric, self.level, n_resamples, rng)
        return Interval(
            name=repr(metric),
            value=value,
            low=limits.low,
            high=limits.high,
            level=self.level,
            method=self.method,
            quantity=limits.quantity,
            expected=expected,
            null=null,
        )


def method_for(metric: Metric, data: Any, bootstrap: Bootstrap | None = None) -> str | None:
    """Return the name of the method that covers for this metric on these data, or None if none is known."""
    name = _method_for_rows(metric, data)
    in_clusters = bootstrap is not None and bootstrap.clusters is not None
    return None if in_clusters and name in ("debiased", "law") else name


def _method_for_rows(metric: Metric, data: Any) -> str | None:
    if isinstance(metric, Accuracy):
        return "wilson"
    if isinstance(metric, Score):
        return "bootstrap-t"
    if isinstance(metric, (SKCE, KCE)):
        return "law" if kernel.is_known(metric, data) else None
    if metric.family == "kernel" or isinstance(metric, SimplexECE):
        return None
    if metric.better == "none":
        return "bca" if _has_both_outcomes(metric, data) else None
    return "debiased" if metric.measures == "calibration" and isinstance(data, Predictions) else None


def _has_both_outcomes(metric: Metric, data: Any) -> bool:
    """Whether there are enough rows of the rarer outcome.

    What is expected decides, and not what happened unless that is plenty: limits that are given only if by chance there
    were many of a rare outcome would miss too often.
    """
    if metric.measures != "calibration":
        return True
    view = metric.view(data)
    shares = view.weights / view.weights.sum()
    rows = 1 / float(shares @ shares)
    expected, happened = float(shares @ view.positive), float(shares @ view.labels)
    fewest, fewest_there = (round(rows * min(share, 1 - share), 6) for share in (expected, happened))
    return fewest >= FEWEST_OUTCOMES or fewest_there >= MANY_OUTCOMES


def _refusal(metric: Metric) -> str:
    if metric.better == "none":
        return (
            f"limits of {metric!r} are known to cover if at least {FEWEST_OUTCOMES} rows of the rarer outcome are "
            f"expected from the predictions, or {MANY_OUTCOMES} are there, but there are fewer. More rows are needed."
        )
    return (
        f"{metric!r} has no interval that is known to cover. Compare two models by compare, or test with "
        "ConsistencyTest."
    )


def _under_calibration(
    predictions: Predictions, metric: Metric, level: float, n_resamples: int, rng: np.random.Generator
) -> tuple[float, tuple[float, float]]:
    """Return mean and range of the metric over labels drawn from the predictions."""
    evaluate = metric.prepare_labels(predictions)
    draws = np.concatenate([evaluate(labels) for labels in redraw_labels(predictions, n_resamples, rng)])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(draws.mean()), (float(low), float(high))
