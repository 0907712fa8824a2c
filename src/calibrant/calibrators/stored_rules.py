"""What must hold for a calibrator that comes from a file: what it has learnt, and its output for scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import Estimator
from calibrant.calibrators.guard import LaplaceGuard
from calibrant.calibrators.order_preserving import OrderPreserving
from calibrant.calibrators.raw_logits import LARGEST_LOGIT, RAW_LOGITS, uses_raw_logits
from calibrant.calibrators.scaling import Identity
from calibrant.exceptions import InputError


class Rule(NamedTuple):
    """A statement about learnt attributes."""

    names: tuple[str, ...]
    holds: Callable[..., object]
    words: str


def vector(value: object) -> FloatArray:
    """Return a value that must be an array of numbers of one dimension."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.float64:
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def positive(value: object) -> bool:
    """Whether it is a positive number."""
    return bool(0 < _number(value) < np.inf)


def not_negative(*values: object) -> bool:
    """Whether they are numbers of at least 0."""
    return all(0 <= _number(value) < np.inf for value in values)


def finite(*values: object) -> bool:
    """Whether they are finite numbers."""
    return all(np.isfinite(_number(value)) for value in values)


def _rising(values: object) -> bool:
    numbers = vector(values)
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def _probabilities(values: object) -> bool:
    numbers = vector(values)
    return len(numbers) > 0 and bool(numbers.min() >= 0 and numbers.max() <= 1)


def _shares(weights: object, n: int | None = None) -> bool:
    shares = vector(weights)
    return _probabilities(shares) and abs(float(shares.sum()) - 1) < 1e-9 and len(shares) == (n or len(shares))


def _steps(*arrays: FloatArray, more: int = 0, rising: bool = True) -> bool:
    """Whether the last array is a step function over the others, which have `more` entries more."""
    *places, values = arrays
    in_order = all(_rising(p) and len(p) == len(values) + more for p in places)
    return in_order and _probabilities(values) and (not rising or _rising(values))


def _affine(coef: FloatArray, intercept: FloatArray) -> bool:
    k = len(vector(intercept))
    return coef.shape in ((k,), (k, k)) and bool(np.isfinite(coef).all() and np.isfinite(intercept).all())


def _curve(knots: FloatArray, values: FloatArray) -> bool:
    same_length = len(vector(knots)) == len(vector(values))
    return same_length and bool(np.all(np.diff(knots) > 0) and np.isfinite(values).all())


def _columns(names: NDArray[np.generic], classes: NDArray[np.generic]) -> bool:
    return names.dtype.kind == "U" and names.shape in ((1,), classes.shape) and len(set(names.tolist())) == len(names)


def _all_calibrators(members: object) -> bool:
    return isinstance(members, list) and len(members) > 0 and all(isinstance(m, Calibrator) for m in members)


def _all_maps_of_lines(layers: Sequence[object]) -> bool:
    return _all_calibrators(layers) and all(
        isinstance(layer, OrderPreserving) and layer.family == "diag" and not uses_raw_logits(layer) for layer in layers
    )


def _falling_line(knots: FloatArray, slopes: FloatArray) -> bool:
    falls = knots[0] == 0 and knots[-1] == -np.inf and np.all(vector(knots)[1:] < knots[:-1])
    return bool(falls and len(knots) == len(vector(slopes)) + 1 and np.isfinite(slopes).all())


def _mixture(members: Sequence[object], weights: object) -> bool:
    return _all_calibrators(members) and _shares(weights, len(members))


def _segments(family: object, knots: object, slopes: object) -> bool:
    n_segments = len(vector(knots)) - 1
    return n_segments > 0 and len(vector(slopes)) == (2 * n_segments if family == "oi" else n_segments)


def _starts_raw(scores: object, stages: Sequence[Calibrator]) -> bool:
    """Whether the first of the stages, and no other, takes raw logits if the whole does."""
    return [uses_raw_logits(stage) for stage in stages] == [scores == RAW_LOGITS] + [False] * (len(stages) - 1)


def _ranks_raw(scores: object, members: Sequence[Calibrator]) -> bool:
    return scores != RAW_LOGITS or all(member.scores == "raw" for member in members)


def _knots(family: object, segments: int, knots: FloatArray, scores: object) -> bool:
    """Whether knots go from 0 to the last rank, or from the top down to minus infinity, in at most `segments` steps."""
    raw_top = scores == RAW_LOGITS and family == "diag" and abs(knots[0]) <= LARGEST_LOGIT
    if not (raw_top or knots[0] == 0) or len(vector(knots)) - 1 > segments:
        return False
    if family == "oi":
        return bool(np.isfinite(knots).all() and np.array_equal(knots, np.round(knots)) and np.all(np.diff(knots) > 0))
    return family == "diag" and bool(knots[-1] == -np.inf and np.all(knots[1:] < knots[:-1]))


_REPORT = (
    Rule(("converged_",), lambda v: isinstance(v, bool), "must be true or false"),
    Rule(("gradient_norm_",), not_negative, "must not be negative"),
    Rule(("feature_names_in_", "classes_"), _columns, "must be distinct names, one per column"),
    Rule(("n_iter_",), lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0, "must be a count"),
)
"""What holds for every optimiser that reports how it went, and for names of columns."""

_GUARD = Rule(("zeros_",), lambda v: isinstance(v, LaplaceGuard), "must be a LaplaceGuard")
_NEW_GUARD = _GUARD._replace(
    words="must be a LaplaceGuard. A file without it is from an earlier version, whose map was different: fit again"
)
_MIXTURE = Rule(("calibrators_", "weights_"), _mixture, "must be calibrators, with shares that sum to 1")
_AFFINE = Rule(("coef_", "intercept_"), _affine, "must be finite, with one row per class")
_TEMPERATURE = Rule(("temperature_",), positive, "must be a positive number")
_RISING_STEPS = "must be of the same length and must not fall, and the last must hold probabilities"
_STEPS = "must be edges that do not fall, and one probability per bin"

RULES: dict[str, tuple[Rule, ...]] = {
    "TemperatureScaling": (_TEMPERATURE,),
    "EnsembleTemperatureScaling": (
        _TEMPERATURE,
        Rule(("weights_",), partial(_shares, n=3), "must be three shares that sum to 1"),
    ),
    "LaplaceGuard": (Rule(("share_",), lambda v: 0 <= _number(v) <= 1, "must be a share"),),
    "PriorShift": (
        Rule(("trained_rate_",), lambda v: _shares(v) and v.min() > 0, "must be shares above 0 that sum to 1"),
        Rule(("base_rate_",), lambda v: _shares(v) and v.min() > 0, "must be shares above 0 that sum to 1"),
    ),
    "VectorScaling": (_AFFINE,),
    "MatrixScaling": (_AFFINE,),
    "DirichletCalibration": (_AFFINE,),
    "StructuredScaling": (_NEW_GUARD, _AFFINE),
    "PlattScaling": (Rule(("slope_", "intercept_"), finite, "must be finite"),),
    "QuadraticScaling": (
        Rule(("coef_",), lambda c: len(vector(c)) == 3 and np.isfinite(c).all(), "must be three finite numbers"),
        Rule(("range_",), lambda r: len(vector(r)) == 2 and np.isfinite(r).all() and _rising(r), "must be a range"),
    ),
    "BetaCalibration": (
        Rule(("a_", "b_"), not_negative, "must not be negative"),
        Rule(("c_",), finite, "must be finite"),
    ),
    "IsotonicCalibration": (Rule(("scores_", "probabilities_"), _steps, _RISING_STEPS),),
    "ROCConvexHull": (Rule(("lower_", "upper_", "probabilities_"), _steps, _RISING_STEPS),),
    "HistogramBinning": (Rule(("edges_", "probabilities_"), partial(_steps, more=1, rising=False), _STEPS),),
    "BBQ": (Rule(("edges_", "probabilities_"), partial(_steps, more=-1, rising=False), _STEPS),),
    "VennAbers": (
        Rule(("lower_scores_", "lower_"), _steps, _RISING_STEPS),
        Rule(("upper_scores_", "upper_"), _steps, _RISING_STEPS),
    ),
    "SplineCalibration": (Rule(("knots_", "values_"), _curve, "must be rising knots, with a finite value each"),),
    "Ensemble": (_MIXTURE,),
    "StackedCalibration": (
        _GUARD,
        _MIXTURE,
        Rule(("map_",), lambda m: isinstance(m, (Identity, OrderPreserving)), "must be an increasing map"),
    ),
    "Compose": (
        Rule(("stages_",), _all_calibrators, "must be calibrators"),
        Rule(("scores", "stages_"), _starts_raw, "must agree on raw logits: those of the whole are those of the first"),
    ),
    "OneVsRest": (
        Rule(("calibrators_",), _all_calibrators, "must be calibrators"),
        Rule(("scores", "calibrators_"), _ranks_raw, "must agree: raw logits are raw scores of every class"),
    ),
    "JointScaling": (
        _GUARD._replace(names=("guard_",)),
        Rule(("knots_", "slopes_"), _falling_line, "must be knots from 0 to minus infinity, with finite slopes"),
        Rule(("row_knots_", "row_factors_"), _curve, "must be rising knots, with a finite value each"),
        _AFFINE,
    ),
    "DeepOrderPreserving": (Rule(("layers_",), _all_maps_of_lines, "must be fitted maps of the family diag"),),
    "OrderPreserving": (
        _TEMPERATURE,
        Rule(("slopes_",), lambda s: vector(s).min() > 0 and s.max() < np.inf, "must be positive"),
        Rule(("family", "knots_", "slopes_"), _segments, "must be segments that meet at the knots"),
        Rule(("family", "segments", "knots_", "scores"), _knots, "must be knots from the top of a row to its bottom"),
    ),
}
"""Rules by class; classes that are not listed hold only numbers of any size."""


def check_learnt(calibrator: Estimator, rules: Mapping[str, tuple[Rule, ...]]) -> None:
    """Refuse learnt attributes that no fit can give, here and in the calibrators inside, by the rules of classes."""
    for name, value in vars(calibrator).items():
        is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
        if is_float and np.isnan(value).any():
            raise InputError(f"{name} of {type(calibrator).__name__} must not hold NaN, but does.")
    for inner in _inner(calibrator):
        check_learnt(inner, rules)
    # With more than two classes, the maps of a calibrator of two classes are in the lift.
    is_lifted = hasattr(calibrator, "lifted_")
    for rule in rules.get(type(calibrator).__name__, ()):
        if not is_lifted or any(hasattr(calibrator, name) for name in rule.names):
            _check_rule(calibrator, rule)
    for rule in _REPORT:
        if hasattr(calibrator, rule.names[0]):
            _check_rule(calibrator, rule)


def _inner(calibrator: Estimator) -> Iterator[Estimator]:
    """Yield the fitted calibrators inside."""
    for name, value in vars(calibrator).items():
        if name.endswith("_"):
            entries = value if isinstance(value, list) else [value]
            yield from (entry for entry in entries if isinstance(entry, Estimator))


def _check_rule(calibrator: Estimator, rule: Rule) -> None:
    name = type(calibrator).__name__
    try:
        sound = bool(rule.holds(*(getattr(calibrator, attribute) for attribute in rule.names)))
    except (AttributeError, TypeError, ValueError, IndexError):
        sound = False
    if not sound:
        raise InputError(f"{' and '.join(rule.names)} of {name} {rule.words}.")


def check_usable(calibrator: Calibrator) -> None:
    """Refuse a calibrator that does not turn scores into probabilities of its classes."""
    classes = getattr(calibrator, "classes_", None)
    name = type(calibrator).__name__
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not 2 <= len(classes) == len(np.unique(classes)):
        raise InputError(f"{name} must have at least two different classes.")
    try:
        with np.errstate(all="ignore"):
            probs = calibrator.predict_proba(_trial_scores(calibrator, len(classes)))
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be used: {str(error)[:200]}") from error
    if probs.shape[1:] != (len(classes),) or not np.all(np.abs(probs.sum(axis=1) - 1) < 1e-9):
        raise InputError(f"{name} does not give {len(classes)} probabilities that sum to 1.")


def _trial_scores(calibrator: Calibrator, k: int) -> FloatArray:
    """Return some rows to try: uniform, certain, and in between."""
    if calibrator.scores == "raw":
        return np.linspace(-3.0, 3.0, 7)
    if uses_raw_logits(calibrator):
        return np.vstack([np.zeros((1, k)), 9.0 * np.eye(min(k, 100), k) - 5.0])
    certain = np.eye(k)[sorted({0, 1, k // 2, k - 1})] if k < 10**4 else np.empty((0, k))
    probs = np.vstack([np.full((1, k), 1 / k), certain, 0.5 * certain + 0.5 / k])
    return np.log(probs) if calibrator.scores == "logits" else probs
