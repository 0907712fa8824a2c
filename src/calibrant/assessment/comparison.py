"""Several models on the same rows: values, intervals, and paired differences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant._border.settings import check_option
from calibrant._border.types import Progress, Rng
from calibrant.assessment.forecasts.comparison import compare_forecasts
from calibrant.assessment.model_differences import ModelComparison
from calibrant.assessment.work import rows_by_group
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.metrics import Metric
from calibrant.metrics.measuring import suited_names
from calibrant.metrics.names import chosen_metrics
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import takes_labels_first
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.resampling.seeds import version_and_seed
from calibrant.results import Comparison

DEFAULT_METRICS = (
    "accuracy",
    "nll",
    "brier",
    "rms-debiased",
    "rms-debiased-one-vs-rest",
    "ece",
    "kde-ece",
    "kde-ece-per-predicted-class",
    "kde-ece-one-vs-rest",
)
"""Names in METRICS that `compare` computes by default; for two classes without averages over classes."""

RULES = ("valid", "percentile")
"""How differences may be judged."""

BANDWIDTHS = ("baseline", "own")
"""Whose bandwidths a metric may have."""


@takes_labels_first
def compare(  # noqa: PLR0913 (each is one decision of the user)
    models: Mapping[str, Any],
    metrics: Mapping[str, Metric] | Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    clusters: object = None,
    strata: object = None,
    by: object = None,
    tuning: Mapping[str, Predictions] | None = None,
    intervals: bool = True,
    ranges: bool = True,
    differences: Literal["valid", "percentile"] = "valid",
    bandwidth: Literal["baseline", "own"] = "baseline",
    progress: Progress | None = None,
    rng: Rng = None,
) -> Comparison:
    r"""Compare models that predict the same rows.

    Parameters
    ----------
    models : mapping of str to Predictions, or to Forecasts
        Models with the same labels and weights, row by row. Or labels, followed by a mapping of str to probabilities
        and optionally `sample_weight`: `compare(y_true, {"a": q, "b": r})`. Forecasts are compared by
        `compare_forecasts`, which of the following uses only `metrics`, `baseline`, `by`, `intervals`, `progress` and
        `rng`.
    metrics : mapping of str to Metric, or sequence of names in METRICS (of forecasts, in FORECAST_METRICS), optional
        By default scores and calibration errors, see `DEFAULT_METRICS`.
    baseline : str, optional
        The model that the others are compared with; by default the first.
    n_resamples : int, default=1000
        Bootstrap samples of the rows, shared by all models and metrics, for limits that have no formula.
    level : float, default=0.95
        Level of all intervals.
    clusters : array-like of shape (n,), optional
        Rows with the same value are drawn together.
    strata : array-like of shape (n,), optional
        The number of rows of each value is kept.
    by : array-like of shape (n,), optional
        The group of each row; the models are compared in each group as well.
    tuning : mapping of str to Predictions, optional
        Predictions of the same models on other rows, such as a calibration set: bandwidths are chosen on these, in
        every group too. Without them bandwidths are chosen on the rows that are compared.
    intervals : bool, default=True
        Whether each value gets its own confidence limits, by `calibrant.interval`, where a valid method is known.
    ranges : bool, default=True
        Whether calibration errors get their mean and range by chance, from redrawn labels. This takes most of the time
        of a comparison.
    differences : {"valid", "percentile"}, default="valid"
        How differences are judged: by a method that is known to cover, or by percentiles of the difference over the
        bootstrap samples, for every metric, regardless of their coverage.
    bandwidth : {"baseline", "own"}, default="baseline"
        Whether all models share the bandwidths chosen on the baseline's predictions, or each model has its own.
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None

    Returns
    -------
    Comparison

    Notes
    -----
    A bootstrap sample is a vector of counts that multiplies the weights of the rows. Bins, bandwidths and lengthscales
    are chosen once, on all rows. Bandwidths are chosen on the rows of `tuning`, if given; metrics per predicted class
    use the compared rows for a class that no row of `tuning` is predicted as. The limits and the p-value of a
    difference :math:`d = m(\text{model}) - m(\text{baseline})` depend on the metric:

    - Finite scores: Student's law of the mean difference of the rows, corrected for skewness.
    - Accuracy, if fewer than 20 rows differ, or none: Tango's score interval and McNemar's p-value (`PairedShares`).
    - Debiased root-mean-square errors: the p-value is that of the difference of their squares; the limits combine those
      of both models.
    - Other calibration errors that chance makes positive, such as ECE: none. The bias by chance is larger for the
      better calibrated model, so it does not cancel.
    - Others, and infinite log losses: percentiles, and
      :math:`p = 2 (1 + \min(\#\{d_b \le 0\}, \#\{d_b \ge 0\})) / (B + 1)`, at most 1.

    How often they contain the true difference is simulated in docs/coverage.md. No limits are known to cover

    - if neither model has 15 wrong rows expected and 4 observed, or 50 observed;
    - if neither model fills the bins of a debiased error, or rows come in clusters, for which such errors have none;
    - if fewer than 20 rows, or none, differ in a score other than accuracy, or the limits would have no width;
    - if there are fewer than 30 clusters;
    - if weights are so unequal that fewer than 20 rows determine the variance.

    Then there are no limits, `reason` says why, the p-value is 1, and the difference is not significant.

    With ``differences="percentile"`` all limits are percentiles, and a difference is significant if they exclude 0.
    For calibration errors chance shifts them, even to one side of the value; see docs/coverage.md for how rarely they
    then contain the true difference.

    Examples
    --------
    >>> vague = Predictions([0.6, 0.4, 0.4, 0.6] * 10, labels=[1, 1, 0, 0] * 10)
    >>> sharp = Predictions([0.9, 0.8, 0.2, 0.1] * 10, labels=[1, 1, 0, 0] * 10)
    >>> result = compare({"vague": vague, "sharp": sharp}, ["brier"], n_resamples=99, rng=0)
    >>> result.entry("sharp", "brier").difference.is_significant
    True
    >>> y_true, y_prob = [1, 0] * 10, {"vague": [0.6, 0.4] * 10, "sharp": [0.9, 0.1] * 10}
    >>> round(compare(y_true, y_prob, ["brier"]).entry("sharp", "brier").value, 2)
    0.02
    """
    if isinstance(models, Mapping) and any(isinstance(one, Forecasts) for one in models.values()):
        asked = None if metrics is None else [*metrics]
        return compare_forecasts(
            models, asked, baseline=baseline, by=by, intervals=intervals, progress=progress, rng=rng
        )
    check_option(differences, "differences", *RULES)
    check_option(bandwidth, "bandwidth", *BANDWIDTHS)
    base = _checked_baseline(models, baseline)
    usual = suited_names(DEFAULT_METRICS, models[base].n_classes)
    comparison = ModelComparison(
        metrics=chosen_metrics(usual if metrics is None else metrics),
        baseline=base,
        bootstrap=Bootstrap(n_resamples, clusters, strata),
        level=level,
        tuning=_checked_tuning(models, tuning),
        intervals=intervals,
        ranges=ranges,
        rule=differences,
        bandwidth=bandwidth,
    )
    parts = rows_by_group(by, models[base])
    generator = np.random.default_rng(rng)

    def part(position: int) -> Progress | None:
        return None if progress is None else lambda done, of: progress(position * of + done, of * (1 + len(parts)))

    whole = comparison.run(models, generator, part(0))
    groups = {
        name: comparison.take(rows).run({model: p.take(rows) for model, p in models.items()}, generator, part(1 + i))
        for i, (name, rows) in enumerate(parts.items())
    }
    settings = version_and_seed(rng)
    return replace(whole, groups=groups, settings=settings)


def _checked_baseline(models: Mapping[str, Predictions], baseline: str | None) -> str:
    """Return the name of the baseline, by default the first; refuse models that do not predict the same rows."""
    if not isinstance(models, Mapping):
        raise TypeError(f"models must be a mapping of names to Predictions, but is of type {type(models).__name__}.")
    if not models:
        raise InputError("models must hold at least one set of predictions, but it is empty.")
    baseline = next(iter(models)) if baseline is None else baseline
    if baseline not in models:
        raise InputError(f"baseline must be one of {', '.join(map(repr, models))}, but is {baseline!r}.")
    for name, p in models.items():
        check_predictions(p, f"model {name!r}")
        _check_rows(baseline, models[baseline], name, p)
    return baseline


def _checked_tuning(
    models: Mapping[str, Predictions], tuning: Mapping[str, Predictions] | None
) -> Mapping[str, Predictions]:
    """Return the predictions to tune on, empty if none are given; refuse those of other models."""
    if tuning is None:
        return {}
    if set(tuning) != set(models):
        raise InputError(f"tuning must have the names of the models, {[*models]}, but has {[*tuning]}.")
    for name, p in models.items():
        if tuning[name].classes != p.classes:
            raise InputError(
                f"tuning of {name!r} must have the classes of its predictions, but they are {tuning[name].classes} and "
                f"{p.classes}."
            )
    return tuning


def _check_rows(name: str, first: Predictions, other_name: str, other: Predictions) -> None:
    names = f"models {name!r} and {other_name!r}"
    if first.n_samples != other.n_samples:
        raise InputError(f"{names} must predict the same rows, but have {first.n_samples} and {other.n_samples}.")
    if first.classes != other.classes:
        raise InputError(f"{names} must have the same classes, but have {first.classes} and {other.classes}.")
    for what in ("labels", "weights"):
        differs = np.flatnonzero(getattr(first, what) != getattr(other, what))
        if len(differs):
            raise InputError(
                f"{names} must have the same {what} in the same order, but {len(differs)} rows differ; the first is "
                f"row {differs[0]}. Put the rows in the same order first."
            )
