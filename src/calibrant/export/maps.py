"""The maps of calibrators, from log-probabilities to log-probabilities, as operations."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from calibrant.calibrators import (
    affine,
    compose,
    deep_order_preserving,
    ensemble,
    ets,
    guard,
    joint,
    lift,
    matrix,
    order_preserving,
    scaling,
    stack,
    structured,
    temperature,
    vector,
)
from calibrant.calibrators.binary import SCORE_DECIMALS, BinaryCalibrator
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.raw_logits import uses_raw_logits
from calibrant.exceptions import InputError
from calibrant.export.lines import LINES
from calibrant.export.program import Program, Value, log_add_exp, log_softmax, softmax, softplus

Build = TypeVar("Build", bound=Callable[..., Value])

_FLOOR = -1e9
"""Stands for -inf where differences are taken, and is replaced by it again afterwards."""


def as_program(calibrator: Calibrator) -> Program:
    """Return the operations of `predict_proba`: of scores (n, K), or (n,) if they are raw, to probabilities (n, K)."""
    if not isinstance(calibrator, Calibrator):
        raise TypeError(
            f"calibrator must be a calibrator, but is {calibrator!r:.80}. Of a CalibratedModel, export calibrator_."
        )
    check_is_fitted(calibrator)
    program = Program()
    scores = program.add("input")
    if calibrator.scores == "raw":
        result = _of_log_odds(_line(calibrator, scores.columns([0])))
    else:
        result = _map(calibrator, _inputs(calibrator, scores), len(calibrator.classes_))
    softmax(result)
    return program


def _inputs(calibrator: Calibrator, scores: Value) -> Value:
    """Return what the outermost map takes: log-probabilities, or raw logits as they are."""
    if uses_raw_logits(calibrator):
        return scores
    return log_softmax(scores) if calibrator.scores == "logits" else (scores / scores.total()).log()


def _map(c: Calibrator, x: Value, k: int) -> Value:
    """Return what `_apply` returns of log-probabilities of k classes."""
    if isinstance(c, BinaryCalibrator):
        if k > 2:
            return _map(c.lifted_, x, k)
        return _of_log_odds(_line(c, x.columns([1]) - x.columns([0])))
    return _known(MAPS, c)(c, x, k)


def _line(c: Calibrator, x: Value) -> Value:
    return _known(LINES, c)(c, x)


def _known(table: Mapping[type, Build], c: Calibrator) -> Build:
    """Return what builds the map of a calibrator, if there is one."""
    found = table.get(type(c))
    if found is None:
        raise InputError(f"{type(c).__name__} cannot be exported. Those that can are {_exportable()}.")
    return found


def _exportable() -> str:
    return ", ".join(sorted(c.__name__ for c in (*MAPS, *LINES)))


def _of_log_odds(log_odds: Value) -> Value:
    return (-softplus(log_odds)).beside(-softplus(-log_odds))


def _identity(_c: scaling.Identity, x: Value, _k: int) -> Value:
    return x


def _uniform(_c: Calibrator, x: Value, _k: int) -> Value:
    return x.equals(x).choose(0.0, 0.0)


def _temperature(c: temperature.TemperatureScaling | ets.EnsembleTemperatureScaling, x: Value, _k: int) -> Value:
    return x / c.temperature_


def _affine(c: vector.VectorScaling | matrix.MatrixScaling | matrix.DirichletCalibration, x: Value, _k: int) -> Value:
    return _multiplied(c, x if uses_raw_logits(c) else x.at_least(scaling.SMALLEST_LOG_PROB))


def _multiplied(c: affine.AffineScaling | structured.StructuredScaling | joint.JointScaling, x: Value) -> Value:
    scaled = x * c.coef_ if c.coef_.ndim == 1 else x.times_matrix(c.coef_.T)
    return scaled + c.intercept_


def _guard(c: guard.LaplaceGuard, x: Value, k: int) -> Value:
    return (x.exp() * (1.0 - c.share_) + c.share_ / k).log() if c.share_ else x


def _structured(c: structured.StructuredScaling, x: Value, k: int) -> Value:
    tempered = _temperature(c.temperature_scaling_, _guard(c.zeros_, x, k), k)
    top = tempered.largest()
    log_sum = top + (tempered - top).exp().total().log()
    guarded = _guard(c.guard_, tempered - log_sum, k).at_least(scaling.SMALLEST_LOG_PROB)
    return _multiplied(c, guarded + log_sum)


def _mixture(weights: Iterable[float], members: Iterable[Callable[[], Value]]) -> Value:
    terms = [member() + float(np.log(w)) for w, member in zip(weights, members, strict=True) if w > 0]
    return reduce(log_add_exp, terms)


def _ets(c: ets.EnsembleTemperatureScaling, x: Value, k: int) -> Value:
    members = (
        lambda: log_softmax(_temperature(c, x, k)),
        lambda: x,
        lambda: _uniform(c, x, k) - float(np.log(k)),
    )
    return _mixture(c.weights_, members)


def _ensemble(c: ensemble.Ensemble | stack.StackedCalibration, x: Value, k: int) -> Value:
    return _mixture(c.weights_, [lambda m=m: log_softmax(_map(m, x, k)) for m in c.calibrators_])  # type: ignore[misc]


def _stack(c: stack.StackedCalibration, x: Value, k: int) -> Value:
    return _map(c.map_, _ensemble(c, _guard(c.zeros_, x, k), k), k)


def _compose(c: compose.Compose, x: Value, k: int) -> Value:
    for stage in c.stages_:
        x = log_softmax(_map(stage, x, k))
    return x


def _joint(c: joint.JointScaling, x: Value, k: int) -> Value:
    scores = _guard(c.guard_, x, k).at_least(scaling.SMALLEST_LOG_PROB)
    knots, slopes = c.knots_.tolist(), c.slopes_.tolist()
    falls = [(-scores.clip(knots[m + 1], knots[m]) + knots[m]) * slope for m, slope in enumerate(slopes)]
    means = scores.total() * (1.0 / k)
    steps = np.diff(c.row_factors_) / np.diff(c.row_knots_)
    factor = means * 0.0 + float(c.row_factors_[0])
    for low, high, step in zip(c.row_knots_[:-1].tolist(), c.row_knots_[1:].tolist(), steps.tolist(), strict=True):
        factor = factor + (means.clip(low, high) - low) * step
    return _multiplied(c, scores) + scores * factor - reduce(Value.__add__, falls)


def _deep_order_preserving(c: deep_order_preserving.DeepOrderPreserving, x: Value, k: int) -> Value:
    for layer in c.layers_:
        x = log_softmax(_order_preserving(layer, x, k))
    return x


def _order_preserving(c: order_preserving.OrderPreserving, x: Value, k: int) -> Value:
    floored = x.at_least(_FLOOR)
    g = len(c.knots_) - 1
    slopes = c.slopes_.reshape(-1, g)
    if c.family == "diag":
        knots: list[Any] = c.knots_.tolist()
        own: list[Any] = slopes[0].tolist()
    else:
        ascending = floored.along(floored.argsort())
        knots = [ascending.columns([k - 1 - int(rank)]) for rank in c.knots_]
        confidence = knots[0].exp()
        own = [confidence * (slopes[1, m] - slopes[0, m]) + slopes[0, m] for m in range(g)]
    # Nothing lies above the first knot but raw logits, for which the first segment continues.
    tops = [np.inf, *knots[1:]] if uses_raw_logits(c) else knots
    falls = [(-floored.clip(knots[m + 1], tops[m]) + knots[m]) * own[m] for m in range(g)]
    return x.equals(-np.inf).choose(-np.inf, -reduce(Value.__add__, falls))


def _class_scores(x: Value, score: str, k: int) -> Value:
    if score == "logit":
        return log_softmax(x).rounded(SCORE_DECIMALS)
    if score == "margin":
        ascending = x.along(x.argsort())
        best, second = ascending.columns([k - 1]), ascending.columns([k - 2])
        return (x - x.equals(best).choose(second, best)).rounded(SCORE_DECIMALS)
    probs = x.exp()
    is_top = x.is_first_largest(k)
    rest = is_top.choose(is_top.choose(0.0, probs).total().log(), (-probs.at_most(0.5)).log1p())
    return (x - rest).rounded(SCORE_DECIMALS)


def _one_vs_rest(c: lift.OneVsRest, x: Value, k: int) -> Value:
    is_raw = uses_raw_logits(c)
    scores = x if is_raw else _class_scores(x, c.score, k)
    columns = [-softplus(-_line(inner, scores.columns([j]))) for j, inner in enumerate(c.calibrators_)]
    shares = log_softmax(x) if is_raw else x
    return log_add_exp(columns[0].beside(*columns[1:]), shares + float(np.log(lift.SMALLEST_SHARE)))


def _pooled(c: lift.Pooled, x: Value, k: int) -> Value:
    shared = -softplus(-_line(c.calibrator_, _class_scores(x, "probability", k)))
    return _keep_order(log_add_exp(shared, x + float(np.log(lift.SMALLEST_SHARE))), x, k)


def _keep_order(values: Value, originals: Value, k: int) -> Value:
    """Raise values until they are ordered as the originals are, as `lift.keep_order` does."""
    order = originals.argsort()
    ascending = originals.along(order)
    later, earlier, backwards = range(1, k), range(k - 1), range(k - 1, -1, -1)
    rises = (ascending.columns(earlier) < ascending.columns(later)).choose(1.0, 0.0)
    climb = rises.after(0.0, 1).running_sum() * lift.SMALLEST_GAP
    raised = (values.along(order) - climb).running_max(k)
    # Of ties, the last has seen all of them; read backwards, it is the first.
    ends = rises.columns(range(k - 2, -1, -1)).after(1.0, 1)
    last = -(ends.equals(1.0).choose(-raised.columns(backwards), -np.inf).running_max(k).columns(backwards))
    return (last + climb).along(order.argsort())


MAPS: dict[type, Callable[[Any, Value, int], Value]] = {
    scaling.Identity: _identity,
    ensemble.Uniform: _uniform,
    temperature.TemperatureScaling: _temperature,
    vector.VectorScaling: _affine,
    matrix.MatrixScaling: _affine,
    matrix.DirichletCalibration: _affine,
    structured.StructuredScaling: _structured,
    guard.LaplaceGuard: _guard,
    ets.EnsembleTemperatureScaling: _ets,
    ensemble.Ensemble: _ensemble,
    stack.StackedCalibration: _stack,
    compose.Compose: _compose,
    lift.OneVsRest: _one_vs_rest,
    lift.Pooled: _pooled,
    order_preserving.OrderPreserving: _order_preserving,
    joint.JointScaling: _joint,
    deep_order_preserving.DeepOrderPreserving: _deep_order_preserving,
}
"""For every other calibrator, a function of it, of log-probabilities and of the number of classes: its `_apply`."""
