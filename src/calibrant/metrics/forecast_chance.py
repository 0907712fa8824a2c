"""What chance alone makes of measures of forecasts: targets, or their transforms, as calibrated forecasts have them."""

from collections.abc import Iterator

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.forecasts import Distribution, Forecasts, Quantiles, Samples
from calibrant.metrics.metric import Metric
from calibrant.resampling.redraws import redraw_targets


def draw_masses(weights: FloatArray, probabilities: FloatArray, n_redraws: int, rng: np.random.Generator) -> FloatArray:
    """Drop every row into one of c cells at random, B times, and return the weight of each cell, (B, c).

    Examples
    --------
    >>> masses = draw_masses(np.ones(4), np.array([0.5, 0.5]), 3, np.random.default_rng(0))
    >>> masses.sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    """
    n_cells = len(probabilities)
    if np.all(weights == weights[0]):
        return weights[0] * rng.multinomial(len(weights), probabilities, size=n_redraws)
    edges = np.cumsum(probabilities)[:-1]
    cells = (np.searchsorted(edges, rng.random(len(weights)), side="right") for _ in range(n_redraws))
    return np.array([np.bincount(cell, weights, n_cells) for cell in cells])


def has_uniform_transforms(law: Distribution) -> bool:
    """Whether the transforms of targets drawn from the laws are uniform: if there are no atoms."""
    if isinstance(law, Quantiles):
        return bool((np.diff(law.values, axis=1) > 0).all())
    return law.has_density


def exchanged(forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> Iterator[Forecasts]:
    """Yield ensembles whose target has changed places with a member drawn at random, or with itself.

    If the target is one more draw of what the m members were drawn from, all m + 1 orders are equally likely, and the
    results follow the same law as the forecasts themselves.
    """
    law, rows = forecasts.distribution, np.arange(forecasts.n_samples)
    if not isinstance(law, Samples):
        raise TypeError(f"members are exchanged with targets in Samples, but these are {law}.")
    for _ in range(n_redraws):
        chosen = rng.integers(0, law.n_draws + 1, forecasts.n_samples)
        swapped, member = chosen < law.n_draws, np.minimum(chosen, law.n_draws - 1)
        draws, targets = law.draws.copy(), forecasts.targets.copy()
        targets[swapped] = law.draws[rows, member][swapped]
        draws[rows[swapped], member[swapped]] = forecasts.targets[swapped]
        yield Forecasts._trusted(Samples._trusted(draws=draws), targets, forecasts.weights)  # noqa: SLF001 (checked)


def exchanged_values(metric: Metric, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray:
    """Return values of a metric, (B,), for ensembles with exchanged targets."""
    return np.array([metric.value(other) for other in exchanged(forecasts, n_redraws, rng)])


def redrawn_values(metric: Metric, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray:
    """Return values of a metric, (B,), for targets drawn from the forecasts."""
    evaluate = metric.prepare_labels(forecasts)
    return np.concatenate([evaluate(targets) for targets in redraw_targets(forecasts, n_redraws, rng)])
