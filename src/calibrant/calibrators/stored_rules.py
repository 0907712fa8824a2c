"""What must hold for the learnt attributes of a calibrator that comes from a file."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from calibrant._typing import FloatArray
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.guard import LaplaceGuard
from calibrant.calibrators.order_preserving import OrderPreserving
from calibrant.calibrators.raw_logits import LARGEST_LOGIT, RAW_LOGITS, uses_raw_logits
from calibrant.exceptions import InputError


class Rule(NamedTuple):
    """A statement about learnt attributes."""

    names: tuple[str, ...]
    holds: Callable[..., Any]
    words: str


def _vector(value: Any) -> FloatArray:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.float64:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def _positive(value: Any) -> bool:
    return bool(0 < _number(value) < np.inf)


def _not_negative(*values: Any) -> bool:
    return all(0 <= _number(value) < np.inf for value in values)


def _finite(*values: Any) -> bool:
    return all(np.isfinite(_number(value)) for value in values)


def _rising(*arrays: Any) -> bool:
    return all(np.all(a[1:] >= a[:-1]) for a in map(_vector, arrays))


def _probabilities(*arrays: Any) -> bool:
    return all(len(a) > 0 and a.min() >= 0 and a.max() <= 1 for a in map(_vector, arrays))


def _shares(weights: Any) -> bool:
    return _probabilities(weights) and abs(float(weights.sum()) - 1) < 1e-9


def _same_length(*arrays: Any) -> bool:
    return len({len(_vector(a)) for a in arrays}) == 1


def _one_more(longer: Any, shorter: Any) -> bool:
    return len(_vector(longer)) == len(_vector(shorter)) + 1


def _affine(coef: Any, intercept: Any) -> bool:
    k = len(_vector(intercept))
    return coef.shape in ((k,), (k, k)) and bool(np.isfinite(coef).all() and np.isfinite(intercept).all())


def _lists_match(members: Any, weights: Any) -> bool:
    return isinstance(members, list) and len(members) == len(_vector(weights))


def _columns(names: Any, classes: Any) -> bool:
    return names.dtype.kind == "U" and names.shape in ((1,), classes.shape) and len(set(names.tolist())) == len(names)


def _all_calibrators(members: Any) -> bool:
    return isinstance(members, list) and len(members) > 0 and all(isinstance(m, Calibrator) for m in members)


def _all_maps_of_lines(layers: Any) -> bool:
    return _all_calibrators(layers) and all(
        isinstance(layer, OrderPreserving) and layer.family == "diag" and not uses_raw_logits(layer) for layer in layers
    )


def _falls_without_end(knots: Any) -> bool:
    return bool(len(_vector(knots)) > 1 and knots[0] == 0 and knots[-1] == -np.inf and np.all(knots[1:] < knots[:-1]))


def _rises_strictly(values: Any) -> bool:
    return bool(len(_vector(values)) > 0 and np.isfinite(values).all() and np.all(np.diff(values) > 0))


def _all_finite(*arrays: Any) -> bool:
    return all(np.isfinite(_vector(a)).all() for a in arrays)


def _pieces(family: Any, knots: Any, slopes: Any) -> bool:
    n_pieces = len(_vector(knots)) - 1
    return n_pieces > 0 and len(_vector(slopes)) == (2 * n_pieces if family == "oi" else n_pieces)


def _starts_raw(scores: Any, stages: Any) -> bool:
    """Whether the first of the stages, and no other, takes raw logits if the whole does."""
    return [uses_raw_logits(stage) for stage in stages] == [scores == RAW_LOGITS] + [False] * (len(stages) - 1)


def _ranks_raw(scores: Any, members: Any) -> bool:
    return scores != RAW_LOGITS or all(member.scores == "raw" for member in members)


def _knots(family: Any, segments: Any, knots: Any, scores: Any) -> bool:
    """Whether knots go from 0 to the last rank, or from the top down to minus infinity, in at most so many steps."""
    raw_top = scores == RAW_LOGITS and family == "diag" and abs(knots[0]) <= LARGEST_LOGIT
    if not (raw_top or knots[0] == 0) or len(_vector(knots)) - 1 > segments:
        return False
    if family == "oi":
        return bool(np.isfinite(knots).all() and np.array_equal(knots, np.round(knots)) and np.all(np.diff(knots) > 0))
    return family == "diag" and bool(knots[-1] == -np.inf and np.all(knots[1:] < knots[:-1]))


_REPORT = (
    Rule(("converged_",), lambda v: isinstance(v, bool), "must be true or false"),
    Rule(("gradient_norm_",), _not_negative, "must not be negative"),
    Rule(("feature_names_in_", "classes_"), _columns, "must be distinct names, one per column"),
    Rule(("n_iter_",), lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0, "must be a count"),
)
"""What holds for every optimiser that reports how it went, and for names of columns."""

_MIXTURE = (
    Rule(("calibrators_",), _all_calibrators, "must be calibrators"),
    Rule(("weights_",), _shares, "must be shares that sum to 1"),
    Rule(("calibrators_", "weights_"), _lists_match, "must be of the same length"),
)
_AFFINE = (Rule(("coef_", "intercept_"), _affine, "must be finite, with one row per class"),)
_TEMPERATURE = Rule(("temperature_",), _positive, "must be a positive number")
_STEPS = "must be probabilities"
_ASCENDING = "must not fall"

RULES: dict[str, tuple[Rule, ...]] = {
    "TemperatureScaling": (_TEMPERATURE,),
    "EnsembleTemperatureScaling": (
        _TEMPERATURE,
        Rule(("weights_",), lambda w: _shares(w) and len(w) == 3, "must be three shares that sum to 1"),
    ),
    "LaplaceGuard": (Rule(("share_",), lambda v: 0 <= _number(v) <= 1, "must be a share"),),
    "VectorScaling": _AFFINE,
    "MatrixScaling": _AFFINE,
    "DirichletCalibration": _AFFINE,
    "StructuredScaling": (
        Rule(
            ("zeros_",),
            lambda v: isinstance(v, LaplaceGuard),
            "must be a LaplaceGuard. A file without it is of an earlier version, whose map was another one: fit again",
        ),
        *_AFFINE,
    ),
    "PlattScaling": (Rule(("slope_", "intercept_"), _finite, "must be finite"),),
    "QuadraticScaling": (
        Rule(("coef_",), lambda c: len(_vector(c)) == 3 and np.isfinite(c).all(), "must be three finite numbers"),
        Rule(("range_",), lambda r: len(_vector(r)) == 2 and np.isfinite(r).all() and _rising(r), "must be a range"),
    ),
    "BetaCalibration": (
        Rule(("a_", "b_"), _not_negative, "must not be negative"),
        Rule(("c_",), _finite, "must be finite"),
    ),
    "IsotonicCalibration": (
        Rule(("scores_", "probabilities_"), _same_length, "must be of the same length"),
        Rule(("probabilities_",), _probabilities, _STEPS),
        Rule(("scores_", "probabilities_"), _rising, _ASCENDING),
    ),
    "ROCConvexHull": (
        Rule(("lower_", "upper_", "probabilities_"), _same_length, "must be of the same length"),
        Rule(("probabilities_",), _probabilities, _STEPS),
        Rule(("lower_", "upper_", "probabilities_"), _rising, _ASCENDING),
    ),
    "HistogramBinning": (
        Rule(("edges_", "probabilities_"), _one_more, "must be one edge more than bins"),
        Rule(("probabilities_",), _probabilities, _STEPS),
        Rule(("edges_",), _rising, _ASCENDING),
    ),
    "BBQ": (
        Rule(("probabilities_", "edges_"), _one_more, "must be one step more than edges"),
        Rule(("probabilities_",), _probabilities, _STEPS),
        Rule(("edges_",), _rising, _ASCENDING),
    ),
    "VennAbers": (
        Rule(("lower_scores_", "lower_"), _same_length, "must be of the same length"),
        Rule(("upper_scores_", "upper_"), _same_length, "must be of the same length"),
        Rule(("lower_", "upper_"), _probabilities, _STEPS),
        Rule(("lower_scores_", "lower_", "upper_scores_", "upper_"), _rising, _ASCENDING),
    ),
    "SplineCalibration": (
        Rule(("knots_", "values_"), _same_length, "must be of the same length"),
        Rule(("knots_",), lambda k: np.all(np.diff(_vector(k)) > 0), "must rise"),
        Rule(("values_",), lambda v: np.isfinite(_vector(v)).all(), "must be finite"),
    ),
    "Ensemble": _MIXTURE,
    "StackedCalibration": (
        Rule(("zeros_",), lambda v: isinstance(v, LaplaceGuard), "must be a LaplaceGuard"),
        *_MIXTURE,
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
        Rule(("guard_",), lambda v: isinstance(v, LaplaceGuard), "must be a LaplaceGuard"),
        Rule(("knots_", "slopes_"), _one_more, "must be one knot more than slopes"),
        Rule(("knots_",), _falls_without_end, "must fall from 0 to minus infinity"),
        Rule(("row_knots_", "row_factors_"), _same_length, "must be of the same length"),
        Rule(("row_knots_",), _rises_strictly, "must rise"),
        Rule(("slopes_", "row_factors_"), _all_finite, "must be finite"),
        *_AFFINE,
    ),
    "DeepOrderPreserving": (Rule(("layers_",), _all_maps_of_lines, "must be fitted maps of the family diag"),),
    "OrderPreserving": (
        _TEMPERATURE,
        Rule(("slopes_",), lambda s: _vector(s).min() > 0 and s.max() < np.inf, "must be positive"),
        Rule(("family", "knots_", "slopes_"), _pieces, "must be pieces that meet at the knots"),
        Rule(("family", "segments", "knots_", "scores"), _knots, "must be knots from the top of a row to its bottom"),
    ),
}
"""Rules by class; those that are not here have nothing but numbers of any size."""


def check_learnt(calibrator: Calibrator) -> None:
    """Refuse learnt attributes that no fit can give, here and in the calibrators inside."""
    for name, value in vars(calibrator).items():
        _check_no_nan(type(calibrator).__name__, name, value)
    for inner in _inner(calibrator):
        check_learnt(inner)
    # With more than two classes, the maps of a calibrator of two classes are in the lift.
    is_lifted = hasattr(calibrator, "lifted_")
    for rule in RULES.get(type(calibrator).__name__, ()):
        if not is_lifted or any(hasattr(calibrator, name) for name in rule.names):
            _check_rule(calibrator, rule)
    for rule in _REPORT:
        if hasattr(calibrator, rule.names[0]):
            _check_rule(calibrator, rule)


def _check_no_nan(owner: str, name: str, value: Any) -> None:
    is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    if is_float and np.isnan(value).any():
        raise InputError(f"{name} of {owner} must not hold NaN, but does.")


def _inner(calibrator: Calibrator) -> Iterator[Calibrator]:
    """Yield the fitted calibrators inside."""
    for name, value in vars(calibrator).items():
        if name.endswith("_"):
            entries = value if isinstance(value, list) else [value]
            yield from (entry for entry in entries if isinstance(entry, Calibrator))


def _check_rule(calibrator: Calibrator, rule: Rule) -> None:
    name = type(calibrator).__name__
    try:
        sound = bool(rule.holds(*(getattr(calibrator, attribute) for attribute in rule.names)))
    except (AttributeError, TypeError, ValueError, IndexError):
        sound = False
    if not sound:
        raise InputError(f"{' and '.join(rule.names)} of {name} {rule.words}.")
