"""Values, intervals and paired differences of several models on some rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from calibrant._border.settings import check_count, check_level
from calibrant._border.types import Evaluator, FloatArray, Progress, RowIndex
from calibrant.hypotest import holm
from calibrant.intervals.differences import (
    NO_VALUE,
    DifferenceLimits,
    Pair,
    around,
    difference_limits,
    percentiles,
    unknown_difference,
)
from calibrant.intervals.methods import known_interval
from calibrant.metrics import Metric
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Compared, Comparison, Difference

Cell = tuple[str, str]
"""The names of a model and of a metric."""


@dataclass(frozen=True)
class ModelComparison:
    """The settings of a comparison, which `run` applies to the predictions of several models."""

    metrics: Mapping[str, Metric]
    baseline: str
    bootstrap: Bootstrap
    level: float
    tuning: Mapping[str, Predictions]
    intervals: bool
    ranges: bool
    rule: str
    bandwidth: str

    def __post_init__(self) -> None:
        check_count(self.bootstrap.n_resamples, "n_resamples")
        check_level(self.level)

    def take(self, rows: RowIndex) -> "ModelComparison":
        """Return the same for these rows only."""
        return replace(self, bootstrap=self.bootstrap.take(rows))

    def run(self, models: Mapping[str, Predictions], rng: np.random.Generator, progress: Progress | None) -> Comparison:
        """Compare the models."""
        # Intervals and differences use the same bootstrap samples, so that equal models get equal intervals.
        seed = int(rng.integers(2**63))
        shared = self._shared(models)
        fitted = self._fit(models, shared)
        evaluators = {(model, key): metric.prepare(models[model]) for (model, key), metric in fitted.items()}
        weights = models[self.baseline].weights[:, None]
        values = {
            cell: float(evaluate(weights)[0]) if fitted[cell].has_value(models[cell[0]]) else math.nan
            for cell, evaluate in evaluators.items()
        }

        def tell(steps: float) -> None:  # One for the difference of each value, and one for its interval.
            if progress is not None:
                progress(int(steps), 2 * len(values))

        differences = self._differences(models, values, evaluators, seed, tell)
        null: Literal["draw"] | None = "draw" if self.ranges else None
        entries = []
        for (model, p), (key, metric) in product(models.items(), self.metrics.items()):
            value, rng = values[model, key], np.random.default_rng(seed)
            found = None
            if self.intervals:
                found = known_interval(p, fitted[model, key], value, self.level, self.bootstrap, rng, null)
            entries.append(
                Compared(
                    model=model,
                    metric=key,
                    better=metric.better,
                    value=value,
                    interval=found,
                    difference=differences.get((model, key)),
                )
            )
            tell(len(values) + len(entries))
        return Comparison(
            models=tuple(models),
            metrics=tuple(self.metrics),
            baseline=self.baseline,
            n_samples=models[self.baseline].n_samples,
            n_resamples=self.bootstrap.n_resamples,
            level=self.level,
            entries=tuple(entries),
            rule=self.rule,
            about={key: metric.about() for key, metric in self.metrics.items()},
            one_bandwidth=tuple(key for key, metric in shared.items() if metric is not self.metrics[key]),
        )

    def _fit(self, models: Mapping[str, Predictions], shared: Mapping[str, Metric]) -> dict[Cell, Metric]:
        """Return every metric of every model, with its bandwidths."""
        # The second fit chooses only those of classes that no row of the first was predicted as.
        return {
            (model, key): metric.fit_bandwidth(self.tuning.get(model, p)).fit_bandwidth(p)
            for (model, p), (key, metric) in product(models.items(), shared.items())
        }

    def _shared(self, models: Mapping[str, Predictions]) -> Mapping[str, Metric]:
        """Return the metrics with the bandwidths of the baseline, unless each model has its own."""
        if self.bandwidth != "baseline":
            return self.metrics
        base = self.tuning.get(self.baseline, models[self.baseline])
        return {key: metric.fit_bandwidth(base) for key, metric in self.metrics.items()}

    def _differences(
        self,
        models: Mapping[str, Predictions],
        values: Mapping[Cell, float],
        evaluators: Mapping[Cell, Evaluator],
        seed: int,
        tell: Callable[[float], None],
    ) -> dict[Cell, Difference]:
        """Return the paired difference of every other model from the baseline, unless both are infinite."""
        changes = {
            (model, key): value - values[self.baseline, key]
            for (model, key), value in values.items()
            if model != self.baseline and not value == values[self.baseline, key] == np.inf
        }
        known = {cell: unknown_difference(NO_VALUE) for cell, change in changes.items() if math.isnan(change)}
        if self.rule == "valid":
            pairs = {
                (model, key): Pair(self.metrics[key], models[self.baseline], models[model])
                for model, key in changes
                if (model, key) not in known
            }
            known |= difference_limits(pairs, self.level, self.bootstrap)
        left = [cell for cell in changes if cell not in known]
        weights = models[self.baseline].weights
        drawn = self._percentiles(left, evaluators, weights, np.random.default_rng(seed), tell)
        for cell, limits in drawn.items():
            known[cell] = limits if self.rule == "percentile" else around(limits, changes[cell])
        return results_of(changes, known)

    def _percentiles(
        self,
        cells: Sequence[Cell],
        evaluators: Mapping[Cell, Evaluator],
        weights: FloatArray,
        rng: np.random.Generator,
        tell: Callable[[float], None],
    ) -> dict[Cell, DifferenceLimits]:
        """Return percentiles of differences over bootstrap samples that all models and metrics share."""
        needed = dict.fromkeys(pair for model, key in cells for pair in ((self.baseline, key), (model, key)))
        blocks: dict[Cell, list[FloatArray]] = {cell: [] for cell in needed}
        done = 0
        for counts in self.bootstrap.counts(len(weights), rng) if cells else ():
            drawn = np.multiply(counts, weights[:, None], out=counts)
            for cell, parts in blocks.items():
                parts.append(evaluators[cell](drawn))
                done += counts.shape[1]
                tell(len(evaluators) * done / (len(blocks) * self.bootstrap.n_resamples))
        values = {cell: np.concatenate(parts) for cell, parts in blocks.items()}
        return {cell: percentiles(values[cell], values[self.baseline, cell[1]], self.level) for cell in cells}


def results_of(changes: Mapping[Cell, float], known: Mapping[Cell, DifferenceLimits]) -> dict[Cell, Difference]:
    """Return differences with their limits, and p-values adjusted for the number of differences with limits."""
    pvalues = {cell: known[cell].pvalue for cell in changes if known[cell].method != "none"}
    adjusted = holm(pvalues) if pvalues else {}
    return {
        cell: Difference(
            value=change,
            **known[cell]._asdict(),
            adjusted=adjusted.get(cell, 1.0),
            is_significant=known[cell].exclude_zero,
        )
        for cell, change in changes.items()
    }
