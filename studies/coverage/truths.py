"""True values, from the laws instead of data: the labels are integrated out, the predictions summed over."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from studies.coverage.cells import ALL_BETAS, ALL_SHAPES, World

N_ROWS = 2**20
"""Predictions of a world: quantiles of its law for two classes, draws for more."""

N_PARTS = 16
"""Parts of the rows, whose scatter gives the error of the value over all."""

N_BATCHES, BATCH_ROWS = 192, 256
"""Rows whose pairs give the kernel calibration error."""

LENGTHSCALES = tuple(2.0 ** (step / 2) for step in range(2, -26, -1))
"""Of the kernel, from 2 down by the root of 2: the kernel of one is the square of that of the last but one."""

LENGTHSCALE = 0.25
"""One of them, where it does not depend on the sample."""

COARSE_BINS, FINE_BINS = 15, 1000
"""Bins of the metrics, and bins that stand for the limit of ever narrower ones."""


class Truth(NamedTuple):
    """A true value and the standard error of its computation."""

    value: float
    error: float


class Rows(NamedTuple):
    """What two models predict, and the true probabilities of the labels."""

    probs: FloatArray
    truth: FloatArray
    second: FloatArray


def true_values(world: World, n_rows: int = N_ROWS, n_batches: int = N_BATCHES) -> dict[str, Truth]:
    """Return every quantity of the tables."""
    rng = np.random.default_rng(list(ALL_SHAPES).index(world.shape))
    rows = _rows(world, n_rows, rng)
    parts = [Rows(*(array[part::N_PARTS] for array in rows)) for part in range(N_PARTS)]
    found = {}
    for name, quantity in QUANTITIES.items():
        error = np.std([quantity(part) for part in parts], ddof=1) / np.sqrt(N_PARTS)
        found[name] = Truth(quantity(rows), float(error))
    return found | _skce(world, n_batches, rng)


def _rows(world: World, n: int, rng: np.random.Generator) -> Rows:
    if world.shape in ALL_BETAS:
        from scipy.special import betaincinv

        (a, b), share = ALL_BETAS[world.shape], (np.arange(n) + 0.5) / n
        # Both from their own law: 1 - p would be rounded.
        probs = np.column_stack([betaincinv(b, a, share[::-1]), betaincinv(a, b, share)])
    else:
        probs = ALL_SHAPES[world.shape](rng, n)
    return Rows(probs, world.truth(probs), world.second(probs, rng))


def _log_loss(probs: FloatArray, truth: FloatArray) -> float:
    from scipy.special import xlogy

    return float(-np.sum(xlogy(truth, probs)) / len(probs))


def _brier(probs: FloatArray, truth: FloatArray) -> float:
    return float(1 + np.mean(np.sum(probs**2 - 2 * probs * truth, axis=1)))


def _accuracy(rows: Rows) -> float:
    return float(np.mean(rows.truth[np.arange(len(rows.probs)), rows.probs.argmax(axis=1)]))


class _View(NamedTuple):
    """Predicted and true probability of an event."""

    predicted: FloatArray
    true: FloatArray


def _event(rows: Rows) -> _View:
    """Return what a binary metric looks at: class 1 of two, or the most probable of more."""
    if rows.probs.shape[1] == 2:
        return _View(rows.probs[:, 1], rows.truth[:, 1])
    top = (np.arange(len(rows.probs)), rows.probs.argmax(axis=1))
    return _View(rows.probs[top], rows.truth[top])


def _equal_width(view: _View) -> IntArray:
    return np.maximum(np.ceil(COARSE_BINS * view.predicted).astype(np.int64) - 1, 0)


def _equal_mass(view: _View, n_bins: int = COARSE_BINS) -> IntArray:
    rank = np.empty(len(view.predicted), dtype=np.int64)
    rank[np.argsort(view.predicted, kind="stable")] = np.arange(len(rank))
    return rank * n_bins // len(rank)


def _mean_gap(view: _View, index: IntArray) -> float:
    """Return the mean over bins of the absolute gap."""
    return float(np.abs(np.bincount(index, view.true - view.predicted)).sum() / len(index))


def _mean_squared_gap(view: _View, index: IntArray) -> float:
    """Return the mean over bins of the squared gap."""
    mass = np.bincount(index)
    sums = np.bincount(index, view.true - view.predicted)[mass > 0]
    return float(np.sum(sums**2 / mass[mass > 0]) / len(index))


def _root_mean_square(rows: Rows) -> float:
    return float(np.sqrt(_mean_squared_gap(view := _event(rows), _equal_mass(view))))


def _one_vs_rest(rows: Rows) -> float:
    views = [_View(*pair) for pair in zip(rows.probs.T, rows.truth.T, strict=True)]
    return float(np.sqrt(np.mean([_mean_squared_gap(view, _equal_mass(view)) for view in views])))


def _per_predicted_class(rows: Rows) -> float:
    predicted = rows.probs.argmax(axis=1)
    total = 0.0
    for c in range(rows.probs.shape[1]):
        view = _View(rows.probs[predicted == c, c], rows.truth[predicted == c, c])
        total += len(view.true) * _mean_squared_gap(view, _equal_mass(view)) if len(view.true) else 0.0
    return float(np.sqrt(total / len(predicted)))


def _log_odds(view: _View) -> FloatArray:
    certain = 1e-12  # `CoxSlope` knows no log-odds beyond this either.
    return np.asarray(np.log(view.predicted.clip(certain)) - np.log((1 - view.predicted).clip(certain)))


def _line(rows: Rows) -> FloatArray:
    """Return intercept and slope of the best logistic recalibration, by Newton's method."""
    view = _event(rows)
    odds = _log_odds(view)
    design = np.stack([np.ones(len(odds)), odds])
    share = float(view.true.mean())
    point = np.array([np.log(share / (1 - share)), 0.0])
    for _ in range(30):
        fitted = 1 / (1 + np.exp(-(point @ design)))
        step = np.linalg.solve((design * fitted * (1 - fitted)) @ design.T, design @ (view.true - fitted))
        point = point + step
        if np.abs(step).max() < 1e-12:
            break
    return point


def _in_the_large(rows: Rows) -> float:
    """Return the shift of the log-odds that makes the mean right."""
    from scipy.optimize import brentq
    from scipy.special import expit

    view = _event(rows)
    odds = _log_odds(view)
    return float(brentq(lambda shift: float(np.mean(expit(odds + shift) - view.true)), -30.0, 30.0, xtol=1e-10))


def _observed_over_expected(rows: Rows) -> float:
    view = _event(rows)
    return float(view.true.sum() / view.predicted.sum())


def _ece(rows: Rows) -> float:
    return _mean_gap(view := _event(rows), _equal_width(view))


def _limit_of_ece(rows: Rows) -> float:
    return _mean_gap(view := _event(rows), _equal_mass(view, FINE_BINS))


QUANTITIES: dict[str, Callable[[Rows], float]] = {
    "nll": lambda rows: _log_loss(rows.probs, rows.truth),
    "brier": lambda rows: _brier(rows.probs, rows.truth),
    "accuracy": _accuracy,
    "ece": _ece,
    "kde-ece": _limit_of_ece,
    "rms": _root_mean_square,
    "rms-one-vs-rest": _one_vs_rest,
    "rms-per-predicted-class": _per_predicted_class,
    "cox-slope": lambda rows: float(_line(rows)[1]),
    "cox-intercept": lambda rows: float(_line(rows)[0]),
    "in-the-large": _in_the_large,
    "oe-ratio": _observed_over_expected,
    "nll difference": lambda rows: _log_loss(rows.second, rows.truth) - _log_loss(rows.probs, rows.truth),
    "brier difference": lambda rows: _brier(rows.second, rows.truth) - _brier(rows.probs, rows.truth),
    "cox-slope difference": lambda rows: 1 - float(_line(rows)[1]),
    "rms difference": lambda rows: -_root_mean_square(rows),
    "ece difference": lambda rows: -_ece(rows),
    "kde-ece difference": lambda rows: -_limit_of_ece(rows),
}
"""Quantities by name; "rms" are roots of mean squared gaps over 15 bins of equal mass.

The second model has no gaps, and slope 1.
"""


def skce_at(lengthscale: float) -> str:
    """Return the name of the kernel calibration error with this lengthscale."""
    return f"skce at {lengthscale:.4g}"


SKCE_NAMES = tuple(map(skce_at, LENGTHSCALES))

SKCE_DIFFERENCE = "skce difference"
"""With the fixed lengthscale."""

ALL_QUANTITIES = (*QUANTITIES, *SKCE_NAMES, SKCE_DIFFERENCE)
"""Names of the true values, in the order of their files."""


def _skce(world: World, n_batches: int, rng: np.random.Generator) -> dict[str, Truth]:
    """Return the kernel calibration errors, with the exponential kernel of total variation."""
    batches = np.array([_batch_skce(world, ALL_SHAPES[world.shape](rng, BATCH_ROWS)) for _ in range(n_batches)])
    errors = batches.std(axis=0, ddof=1) / np.sqrt(n_batches)
    pairs = zip(batches.mean(axis=0).tolist(), errors.tolist(), strict=True)
    found = {name: Truth(*pair) for name, pair in zip(SKCE_NAMES, pairs, strict=True)}
    fixed = found[skce_at(LENGTHSCALE)]
    return found | {SKCE_DIFFERENCE: Truth(-fixed.value, fixed.error)}


def _batch_skce(world: World, probs: FloatArray) -> list[float]:
    """Return the mean over pairs of different rows, for every lengthscale."""
    gaps = world.truth(probs) - probs
    products = gaps @ gaps.T
    np.fill_diagonal(products, 0.0)
    distances = sum(np.abs(column[:, None] - column) for column in probs.T) / 2
    kernels = [np.exp(-distances / scale) for scale in LENGTHSCALES[:2]]
    values = []
    for step in range(len(LENGTHSCALES)):
        kernel = kernels[step % 2]
        total = float(np.einsum("ij,ij", kernel, products))  # Without threads, unlike a product of vectors.
        values.append(total / (len(probs) * (len(probs) - 1)))
        kernel *= kernel
        kernel[kernel < 1e-100] = 0.0  # Else the next square would be slow.
    return values


def skce_between(lengthscales: FloatArray, truths: Mapping[str, Truth]) -> FloatArray:
    """Return the kernel calibration error at any lengthscales, from those that are known."""
    from scipy.interpolate import PchipInterpolator

    known = np.array([truths[name].value for name in SKCE_NAMES])
    steps = -2 * np.log2(np.clip(lengthscales, LENGTHSCALES[-1], LENGTHSCALES[0]))
    return np.asarray(PchipInterpolator(-2 * np.log2(LENGTHSCALES), known)(steps))
