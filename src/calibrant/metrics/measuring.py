"""Several metrics of the same predictions, by name, and metrics as scikit-learn scorers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calibrant.forecasts import Forecasts
from calibrant.metrics.base.metric import Metric
from calibrant.metrics.names import chosen_metric, chosen_metrics
from calibrant.metrics.table import METRICS
from calibrant.predictions import Classifier, Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import Measures
from calibrant.results.estimate import OF_CLASSES


def principal_metrics(n_classes: int) -> list[str]:
    """Return the names of the metrics that are shown by default."""
    return suited_names([name for name, metric in METRICS.items() if metric.about().principal], n_classes)


def suited_names(names: Sequence[str], n_classes: int) -> list[str]:
    """Return the names; if there are two classes, without metrics that would repeat another one.

    Examples
    --------
    >>> suited_names(["ece", "ece-one-vs-rest"], n_classes=2)
    ['ece']
    """
    return [name for name in names if n_classes > 2 or not name.endswith(OF_CLASSES)]


def measure(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    metrics: str | Sequence[str] | Mapping[str, Metric] | None = None,
    positive: object = None,
) -> Measures:
    """Measure predictions with any metrics.

    Parameters
    ----------
    data : array-like of shape (n,), Predictions or Forecasts
        With `y_prob`, the labels.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities, if labels are given: `measure(y_true, y_prob)`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given.
    metrics : name in METRICS, sequence of names, or mapping of str to Metric, optional
        By default those that `calibrant evaluate` shows; for forecasts, all of FORECAST_METRICS that suit them.
    positive : optional
        The label whose probability `y_prob` gives, if it is one column; by default the second of the sorted labels.

    Returns
    -------
    Measures
        A mapping of names to values. Confidence limits are given by `calibrant.interval`.

    Examples
    --------
    >>> measure([0, 1, 1, 1], [0.25, 0.5, 0.75, 1.0], metrics=("accuracy", "brier"))
    Measures of 4 rows
      accuracy  0.75
      brier     0.1875
      (brier is summed over the classes: for two classes it is twice the score of scikit-learn)
    >>> measure([0, 1], [0.5, 1.0], metrics="brier")["brier"]
    0.25
    """
    given = as_data(data, y_prob, sample_weight, positive)
    known = given if isinstance(given, Forecasts) else check_predictions(given, "data")
    if isinstance(known, Forecasts):
        from calibrant.metrics.forecasts.table import FORECAST_METRICS, suited_metrics

        usual = suited_metrics(known)
        chosen = usual if metrics is None else chosen_metrics(metrics, {**FORECAST_METRICS, **usual})
    else:
        usual = {name: METRICS[name] for name in principal_metrics(known.n_classes)}
        possible = {name: metric for name, metric in usual.items() if metric.least_rows <= known.n_samples}
        chosen = possible if metrics is None else chosen_metrics(metrics)
    estimates = {name: metric.estimate(known) for name, metric in chosen.items()}
    return Measures(n_samples=known.n_samples, estimates=estimates)


@dataclass(frozen=True)
class Scorer:
    """A metric in the form that scikit-learn's model selection calls: greater is better."""

    metric: Metric

    def __call__(self, estimator: Classifier, X: object, y: object, sample_weight: object = None) -> float:
        """Return the metric of `estimator.predict_proba(X)`, with its sign changed where lower is better."""
        probs = estimator.predict_proba(X)
        value = self.metric(Predictions(probs, y, sample_weight, classes=estimator.classes_))
        return value if self.metric.better == "higher" else -value


def scorer(metric: str | Metric) -> Scorer:
    """Make a scikit-learn scorer of a metric, for `cross_val_score`, `GridSearchCV` and the like.

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
