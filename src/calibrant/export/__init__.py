"""Fitted calibrators for other runtimes: PyTorch modules and ONNX models."""

from typing import TYPE_CHECKING

from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary import BinaryCalibrator
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.raw_logits import uses_raw_logits

if TYPE_CHECKING:
    from calibrant.export.torch_module import CalibrationModule

__all__ = ["to_onnx", "to_torch"]


def to_torch(calibrator: Calibrator) -> "CalibrationModule":
    """Return a fitted calibrator as a PyTorch module.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted. Of a `CalibratedModel`, pass the `calibrator_`.

    Returns
    -------
    torch.nn.Module
        Takes a tensor of what the calibrator's `scores` says, of shape (n, K), also for two classes; raw scores have
        shape (n,). Returns calibrated probabilities, (n, K), in double precision. Rows of probabilities are divided by
        their sum, other checks are not made.

    Notes
    -----
    The results are those of `predict_proba` up to rounding. Where a map jumps, as histograms and Venn-Abers do, a score
    that lies on the jump up to rounding can fall on either side.
    """
    try:
        from calibrant.export.torch_module import CalibrationModule
    except ImportError as error:
        raise ImportError('to_torch needs PyTorch: pip install "calibrant[torch]".') from error
    return CalibrationModule(_program(calibrator)).eval()


def to_onnx(calibrator: Calibrator) -> bytes:
    """Return a fitted calibrator as an ONNX model.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted. Of a `CalibratedModel`, pass the `calibrator_`.

    Returns
    -------
    bytes
        A model with the input "scores" and the output "probabilities", both in double precision: what `to_torch` says
        of both holds here too. Write it to a file with the extension .onnx.
    """
    try:
        from calibrant.export.onnx_model import as_onnx
    except ImportError as error:
        raise ImportError('to_onnx needs onnx: pip install "calibrant[onnx]".') from error
    return as_onnx(_program(calibrator), len(calibrator.classes_), is_raw=calibrator.scores == "raw")


def _program(calibrator: Calibrator) -> ops.Program:
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
