"""Several models on the same rows: values, intervals, and paired differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from calibrant import __version__
from calibrant._checks import check_count, check_level
from calibrant._typing import FloatArray, Progress, Rng
from calibrant.bootstrap import Bootstrap, group_rows
from calibrant.compare.inputs import checked_baseline, checked_tuning, chosen_metrics
from calibrant.hypotest import holm
from calibrant.intervals import difference_limits, known_interval, paired_difference
from calibrant.intervals.differences import Pair
from calibrant.metrics import Metric
from calibrant.predictions import Predictions
from calibrant.results import Compared, Comparison, Difference, Interval

DEFAULT_METRICS = ("accuracy", "nll", "brier", "ece", "kde-ece", "kde-ece-per-predicted-class", "kde-ece-one-vs-rest")
"""What `compare` computes unless told otherwise, by their names in METRICS."""

Cell = tuple[str, str]
"""The names of a model and of a metric."""


def compare(  # noqa: PLR0913 (each is one decision of the user)
    models: Mapping[str, Predictions],
    metrics: Mapping[str, Metric] | Sequence[str] = DEFAULT_METRICS,
    *,
    baseline: str | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    clusters: Any = None,
    strata: Any = None,
    by: Any = None,
    tuning: Mapping[str, Predictions] | None = None,
    intervals: bool = True,
    progress: Progress | None = None,
    rng: Rng = None,
) -> Comparison:
    r"""Compare models that predict the same rows.

    Parameters
    ----------
    models : mapping of str to Predictions
        With the same labels and weights, row by row.
    metrics : mapping of str to Metric, or sequence of names in METRICS
    baseline : str, optional
        The model that the others are compared with; the first, if not given.
    n_resamples : int, default=1000
        Bootstrap samples of the rows, shared by all models and metrics.
    level : float, default=0.95
        Of all intervals.
    clusters : array-like of shape (n,), optional
        Rows with the same value are drawn together.
    strata : array-like of shape (n,), optional
        The number of rows of each value is kept.
    by : array-like of shape (n,), optional
        A group for each row; the models are compared in each group as well.
    tuning : mapping of str to Predictions, optional
        Predictions of the same models on other rows, such as a calibration set: bandwidths are chosen on these, in
        every group too. Without them a model's bandwidths are chosen on the rows that are compared.
    intervals : bool, default=True
        Whether each value gets confidence limits of its own, by `calibrant.interval`, where a valid method is known.
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None

    Returns
    -------
    Comparison

    Notes
    -----
    A bootstrap sample is a vector of counts that multiplies the weights of the rows. Bins, bandwidths and lengthscales
    are chosen once, on all rows; bandwidths on those of `tuning`, except that of a class which none of these is
    predicted as, for a metric of the rows predicted as each class. Values and differences on the samples give
    `same_sign` and `resampled`. The limits and the p-value of a difference
    :math:`d = m(\text{model}) - m(\text{baseline})` depend on the metric:

    - Finite scores: the studentised bootstrap of the mean difference of the rows.
    - Calibration errors that chance makes positive: the bias of chance is larger for the better calibrated model, so
      that percentiles of the difference miss the true one. The limits are those of the difference of the debiased mean
      squared calibration errors over the bins of the metric (15 of equal width if it has none); `quantity` says so.
    - Others: percentiles, and :math:`p = 2 (1 + \min(\#\{d_b \le 0\}, \#\{d_b \ge 0\})) / (B + 1)`, at most 1. So for
      infinite log losses.

    How often they contain the true difference is simulated in docs/coverage.md. If neither model is expected to be
    wrong in 15 rows and is so in four (nor is in 50), or neither fills the bins, or fewer than 20 rows differ in their
    score, or there are fewer than 30 clusters, nothing is known to cover: then there are no limits, `reason` says why,
    the p-value is 1, and the difference is not significant. So for calibration errors of rows in clusters.

    Examples
    --------
    >>> vague = Predictions([0.6, 0.4, 0.4, 0.6] * 10, labels=[1, 1, 0, 0] * 10)
    >>> sharp = Predictions([0.9, 0.8, 0.2, 0.1] * 10, labels=[1, 1, 0, 0] * 10)
    >>> result = compare({"vague": vague, "sharp": sharp}, ["brier"], n_resamples=99, rng=0)
    >>> result.entry("sharp", "brier").difference.is_significant
    True
    """
    bootstrap = Bootstrap(n_resamples, clusters, strata)
    plan = _Plan(
        chosen_metrics(metrics),
        checked_baseline(models, baseline),
        bootstrap,
        level,
        checked_tuning(models, tuning),
        intervals,
    )
    parts = {} if by is None else group_rows(by, models[plan.baseline].n_samples)
    generator = np.random.default_rng(rng)

    def part(position: int) -> Progress | None:
        return None if progress is None else lambda done, of: progress(position * of + done, of * (1 + len(parts)))

    whole = plan.run(models, generator, part(0))
    groups = {
        name: plan.take(rows).run({model: p.take(rows) for model, p in models.items()}, generator, part(1 + i))
        for i, (name, rows) in enumerate(parts.items())
    }
    settings = {"version": __version__, "seed": rng if isinstance(rng, int) else None}
    return replace(whole, groups=groups, settings=settings)


@dataclass(frozen=True)
class _Plan:
    """What is computed, whatever the rows."""

    metrics: Mapping[str, Metric]
    baseline: str
    bootstrap: Bootstrap
    level: float
    tuning: Mapping[str, Predictions]
    intervals: bool

    def __post_init__(self) -> None:
        check_count(self.bootstrap.n_resamples, "n_resamples")
        check_level(self.level)

    def take(self, rows: Any) -> "_Plan":
        """Return the plan for these rows only."""
        return replace(self, bootstrap=self.bootstrap.take(rows))

    def run(self, models: Mapping[str, Predictions], rng: np.random.Generator, progress: Progress | None) -> Comparison:
        """Compare the models."""
        # The same bootstrap samples again, for what needs more than values: equal models get equal intervals.
        seed = int(rng.integers(2**63))
        fitted = self._fit(models)
        values, replicates = self._replicate(models, fitted, np.random.default_rng(seed), progress)
        differences = self._differences(models, values, replicates, np.random.default_rng(seed))
        entries = tuple(
            Compared(
                model=model,
                metric=key,
                better=metric.better,
                value=values[model, key],
                interval=self._interval(p, fitted[model, key], values[model, key], np.random.default_rng(seed)),
                difference=differences.get((model, key)),
            )
            for (model, p), (key, metric) in product(models.items(), self.metrics.items())
        )
        return Comparison(
            models=tuple(models),
            metrics=tuple(self.metrics),
            baseline=self.baseline,
            n_samples=models[self.baseline].n_samples,
            n_resamples=self.bootstrap.n_resamples,
            level=self.level,
            entries=entries,
        )

    def _fit(self, models: Mapping[str, Predictions]) -> dict[Cell, Metric]:
        """Return every metric with the bandwidths of every model."""
        return {
            (model, key): metric.fit_bandwidth(self.tuning.get(model, p)).fit_bandwidth(p)
            for (model, p), (key, metric) in product(models.items(), self.metrics.items())
        }

    def _interval(self, p: Predictions, metric: Metric, value: float, rng: np.random.Generator) -> Interval | None:
        return known_interval(p, metric, value, self.level, self.bootstrap, rng) if self.intervals else None

    def _replicate(
        self,
        models: Mapping[str, Predictions],
        metrics: Mapping[Cell, Metric],
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> tuple[dict[Cell, float], dict[Cell, FloatArray]]:
        """Return every metric of every model on the rows and on bootstrap samples that all of them share."""
        weights = models[self.baseline].weights[:, None]
        evaluators = {(model, key): metric.prepare(models[model]) for (model, key), metric in metrics.items()}
        values = {cell: float(evaluate(weights)[0]) for cell, evaluate in evaluators.items()}
        blocks: dict[Cell, list[FloatArray]] = {cell: [] for cell in evaluators}
        total, done = self.bootstrap.n_resamples * len(evaluators), 0
        for counts in self.bootstrap.counts(len(weights), rng):
            drawn = np.multiply(counts, weights, out=counts)
            for cell, evaluate in evaluators.items():
                blocks[cell].append(evaluate(drawn))
                done += counts.shape[1]
                if progress is not None:
                    progress(done, total)
        return values, {cell: np.concatenate(parts) for cell, parts in blocks.items()}

    def _differences(
        self,
        models: Mapping[str, Predictions],
        values: Mapping[Cell, float],
        replicates: Mapping[Cell, FloatArray],
        rng: np.random.Generator,
    ) -> dict[Cell, Difference]:
        """Return the paired difference of every other model to the baseline, where it is a number."""
        found, pairs = {}, {}
        for model, key in values:
            value, base = values[model, key], values[self.baseline, key]
            if model != self.baseline and not value == base == np.inf:
                drawn = replicates[model, key], replicates[self.baseline, key]
                found[model, key] = paired_difference(value - base, *drawn, self.level)
                pairs[model, key] = Pair(self.metrics[key], models[self.baseline], models[model])
        for cell, limits in difference_limits(pairs, self.level, self.bootstrap, rng).items():
            found[cell] = replace(found[cell], **limits._asdict(), is_significant=limits.exclude_zero)
        known = {cell: difference.pvalue for cell, difference in found.items() if difference.method != "none"}
        adjusted = holm(known) if known else {}
        return {cell: replace(difference, adjusted=adjusted.get(cell, 1.0)) for cell, difference in found.items()}
