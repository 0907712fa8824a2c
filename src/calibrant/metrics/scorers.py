"""Metrics as scikit-learn scorers."""

from dataclasses import dataclass
from typing import Any

from calibrant.metrics import Metric
from calibrant.metrics.names import chosen_metric
from calibrant.predictions import Predictions


@dataclass(frozen=True)
class Scorer:
    """A metric in the form that scikit-learn's model selection calls: greater is better."""

    metric: Metric

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric of `estimator.predict_proba(X)`, with its sign turned where lower is better."""
        probs = estimator.predict_proba(X)
        value = self.metric(Predictions(probs, y, sample_weight, classes=estimator.classes_))
        return value if self.metric.better == "higher" else -value


def scorer(metric: str | Metric) -> Scorer:
    """Make a scikit-learn scorer of a metric, for `cross_val_score`, `GridSearchCV` and their kin.

    Parameters
    ----------
    metric : str or Metric
        A name in `METRICS`, or a metric with settings of your own.

    Returns
    -------
    Scorer
        Called as ``scorer(estimator, X, y, sample_weight=None)``. Where lower is better, it returns the negative.

    Examples
    --------
    >>> from calibrant.metrics import ECE
    >>> scorer("ece") == scorer(ECE())
    True
    """
    if isinstance(metric, str):
        metric = chosen_metric(metric)
    if not isinstance(metric, Metric):
        raise TypeError(f"metric must be a name in METRICS or a Metric, but is {metric!r}.")
    return Scorer(metric)
