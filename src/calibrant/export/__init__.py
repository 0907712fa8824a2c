"""Export fitted calibrators to other runtimes, as PyTorch modules and ONNX models."""

from typing import TYPE_CHECKING

from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import BinaryCalibrator
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.inputs import RAW_LOGITS

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
        Its input is a tensor of what the calibrator's `scores` states, of shape (n, K), also for two classes; raw
        scores have shape (n,). Its output is calibrated probabilities, (n, K), in double precision. Rows of
        probabilities are normalised; there are no other checks.

    Notes
    -----
    The results are those of `predict_proba` up to rounding. At the jumps of a discontinuous map, such as a histogram or
    Venn-Abers, rounding decides to which side a score belongs.
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
        A model with the input "scores" and the output "probabilities", both in double precision, with the shapes and
        the meaning that `to_torch` documents. Write it to a file with the extension .onnx.
    """
    try:
        from calibrant.export.onnx_model import as_onnx
    except ImportError as error:
        raise ImportError('to_onnx needs onnx: pip install "calibrant[onnx]".') from error
    return as_onnx(_program(calibrator), len(calibrator.classes_), is_raw=calibrator.scores == "raw")


def _program(calibrator: Calibrator) -> ops.Program:
    """Return the operations of `predict_proba`, from scores (n, K), or raw ones (n,), to probabilities (n, K)."""
    if not isinstance(calibrator, Calibrator):
        raise TypeError(
            f"calibrator must be a calibrator, but is {calibrator!r:.80}. Of a CalibratedModel, export its calibrator_."
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
    """Return the input of the outermost map: log-probabilities, or unchanged raw logits."""
    if calibrator.scores == RAW_LOGITS:
        return scores
    return ops.log_softmax(scores) if calibrator.scores == "logits" else (scores / scores.total()).log()
