"""Learning curves: quality of calibrators by the number of rows that they are fitted to."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, Progress, Rng
from calibrant.advice.cross_fit import fitted
from calibrant.calibrators import CALIBRATORS, Calibrator, calibrate
from calibrant.exceptions import InputError
from calibrant.metrics import Metric
from calibrant.metrics.names import chosen_metrics
from calibrant.predictions import Predictions, check_predictions
from calibrant.resampling.seeds import version_and_seed
from calibrant.results import LearningCurve, LearningPoint

LEAST_HELD_OUT = 50
"""Least number of held-out rows by which calibrators are judged."""


def learning_curve(
    calibrators: Sequence[str] | Mapping[str, Calibrator],
    predictions: Predictions,
    sizes: Sequence[int] | None = None,
    *,
    n_repeats: int = 10,
    metrics: str | Sequence[str] | Mapping[str, Metric] = ("nll", "brier"),
    progress: Progress | None = None,
    rng: Rng = None,
) -> LearningCurve:
    """Measure how many rows calibrators need.

    Parameters
    ----------
    calibrators : sequence of names, or mapping of names to calibrators
        Names are those of `CALIBRATORS` and compositions such as "ts>irm".
    predictions : Predictions
    sizes : sequence of int, optional
        Numbers of rows to fit to; by default 50, 100, 200 and so on, up to half of the rows.
    n_repeats : int, default=10
        Number of random divisions of the rows.
    metrics : name in METRICS, sequence of names, or mapping of names to metrics
    progress : callable, optional
        Called with (fits done, fits in all).
    rng : Generator, int or None

    Returns
    -------
    LearningCurve
        `to_frame` gives one row per calibrator, metric and size.

    Notes
    -----
    In each repeat the rows are shuffled. A calibration set consists of the first rows in this order, so that larger
    sets contain the smaller ones. The rows after the largest set are held out, and all calibrators are judged on them.
    The `change` of a point is the mean of the paired differences from the unchanged predictions. The repeats share
    rows, so their deviation is somewhat smaller than that of independent data sets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=400)
    >>> p = Predictions.from_logits(3 * np.log(truth / (1 - truth)), (rng.random(400) < truth).astype(int))
    >>> curve = learning_curve(["ts"], p, [20, 200], n_repeats=3, rng=0)
    >>> [point.change < 0 for point in curve.of("ts", "nll")]
    [True, True]
    """
    check_predictions(predictions)
    used = predictions if predictions.weights.all() else predictions.take(predictions.weights > 0)
    check_count(n_repeats, "n_repeats")
    named = CALIBRATORS.chosen(calibrators, "calibrators")
    if not named:
        raise InputError("calibrators must name at least one calibrator, but is empty.")
    chosen = chosen_metrics(metrics)
    if not chosen:
        raise InputError("metrics must name at least one metric, but is empty.")
    counts = _sizes(sizes, used.n_samples)
    generator = np.random.default_rng(rng)
    values = np.empty((n_repeats, len(named), len(chosen), len(counts)))
    before = np.empty((n_repeats, len(chosen)))
    fits = list(product(enumerate(named.values()), enumerate(counts)))
    for repeat in range(n_repeats):
        order = generator.permutation(used.n_samples)
        held_out = used.take(order[counts[-1] :])
        before[repeat] = [metric(held_out) for metric in chosen.values()]
        for done, ((i, calibrator), (j, size)) in enumerate(fits, repeat * len(fits) + 1):
            calibrated = calibrate(fitted(calibrator, used.take(order[:size])), held_out)
            values[repeat, i, :, j] = [metric(calibrated) for metric in chosen.values()]
            if progress is not None:
                progress(done, n_repeats * len(fits))
    return LearningCurve(
        calibrators=tuple(named),
        metrics=tuple(chosen),
        sizes=counts,
        n_repeats=n_repeats,
        n_held_out=used.n_samples - counts[-1],
        baseline=dict(zip(chosen, before.mean(axis=0).tolist(), strict=True)),
        points=tuple(
            learning_point(name, metric, size, values[:, i, m, j], before[:, m])
            for (i, name), (m, metric), (j, size) in product(enumerate(named), enumerate(chosen), enumerate(counts))
        ),
        settings=version_and_seed(rng),
    )


def learning_point(calibrator: str, metric: str, size: int, values: FloatArray, before: FloatArray) -> LearningPoint:
    """Summarise the values after several fits, and their changes from those before."""
    value, deviation = _summary(values)
    both = np.isinf(values) & np.isinf(before)  # Two infinite log losses do not differ.
    change, change_deviation = _summary(np.subtract(values, before, out=np.zeros_like(values), where=~both))
    return LearningPoint(
        calibrator=calibrator,
        metric=metric,
        size=size,
        value=value,
        deviation=deviation,
        change=change,
        change_deviation=change_deviation,
        n_infinite=int(np.isinf(values).sum()),
    )


def _summary(values: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is 0 for one value, and both are infinite if any value is."""
    infinite = values[np.isinf(values)]
    if len(infinite):
        return float(infinite[0]), float("inf")
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _sizes(given: Sequence[int] | None, n_rows: int) -> tuple[int, ...]:
    """Check the sizes, and return them in ascending order."""
    most = n_rows - LEAST_HELD_OUT
    if given is None:
        given = [50 * 2**i for i in range(n_rows.bit_length()) if 50 * 2**i <= min(n_rows // 2, most)]
        if not given:
            raise InputError(
                f"at least {2 * LEAST_HELD_OUT} rows are needed for a learning curve, but there are {n_rows}."
            )
    for size in given:
        check_count(size, "each of sizes")
    sizes = tuple(sorted({int(size) for size in given}))
    if not sizes or sizes[-1] > most:
        found = f"the largest is {sizes[-1]}" if sizes else "there is none"
        raise InputError(
            f"sizes must be from 1 to {most}, which leaves {LEAST_HELD_OUT} of the {n_rows} rows to judge by, but "
            f"{found}."
        )
    return sizes
