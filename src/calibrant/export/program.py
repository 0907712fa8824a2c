"""A fitted calibrator as the list of operations of its `predict_proba`."""

from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary import BinaryCalibrator
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.raw_logits import uses_raw_logits


def as_program(calibrator: Calibrator) -> ops.Program:
    """Return the operations of `predict_proba`: of scores (n, K), or (n,) if they are raw, to probabilities (n, K)."""
    if not isinstance(calibrator, Calibrator):
        raise TypeError(
            f"calibrator must be a calibrator, but is {calibrator!r:.80}. Of a CalibratedModel, export calibrator_."
        )
    check_is_fitted(calibrator)
    program = ops.Program()
    scores = program.add("input")
    if isinstance(calibrator, BinaryCalibrator) and calibrator.scores == "raw":
        result = ops.of_log_odds(calibrator.line_operations(scores.columns([0])))
    else:
        result = calibrator.operations(_inputs(calibrator, scores), len(calibrator.classes_))
    ops.softmax(result)
    return program


def _inputs(calibrator: Calibrator, scores: ops.Value) -> ops.Value:
    """Return what the outermost map takes: log-probabilities, or raw logits as they are."""
    if uses_raw_logits(calibrator):
        return scores
    return ops.log_softmax(scores) if calibrator.scores == "logits" else (scores / scores.total()).log()
