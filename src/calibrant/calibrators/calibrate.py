"""Predictions and forecasts with a calibrator applied."""

from typing import TYPE_CHECKING, overload

from calibrant._border.types import FloatArray
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.inputs import check_has_logits, check_order
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from calibrant.calibrators.forecasts import ForecastCalibrator


@overload
def calibrate(calibrator: Calibrator, predictions: Predictions) -> Predictions: ...


@overload
def calibrate(calibrator: "ForecastCalibrator", predictions: Forecasts) -> Forecasts: ...


def calibrate(
    calibrator: "Calibrator | ForecastCalibrator", predictions: Predictions | Forecasts
) -> Predictions | Forecasts:
    """Return predictions with calibrated probabilities, or forecasts with calibrated distributions.

    Parameters
    ----------
    calibrator : Calibrator or ForecastCalibrator
        Fitted to rows other than these.
    predictions : Predictions or Forecasts

    Examples
    --------
    >>> from calibrant.calibrators import Identity
    >>> p = Predictions([0.2, 0.7], labels=[0, 1])
    >>> calibrate(Identity().fit(p.probs, p.labels), p).positive.round(3).tolist()
    [0.2, 0.7]
    """
    check_is_fitted(calibrator)
    if isinstance(predictions, Forecasts) or not isinstance(calibrator, Calibrator):
        return _calibrate_forecasts(calibrator, predictions)
    check_order(predictions.classes, calibrator.classes_.tolist(), "classes of predictions")
    check_has_logits(calibrator)
    return calibrate_logits(calibrator, predictions.log_probs, predictions)


def _calibrate_forecasts(calibrator: "Calibrator | ForecastCalibrator", forecasts: object) -> Forecasts:
    if isinstance(calibrator, Calibrator) or not isinstance(forecasts, Forecasts):
        raise TypeError(
            f"Predictions need a calibrator of calibrant.calibrators, and Forecasts one of "
            f"calibrant.calibrators.forecasts, but got {type(calibrator).__name__} and {type(forecasts).__name__}."
        )
    return calibrator.calibrate(forecasts)


def calibrate_logits(calibrator: Calibrator, logits: FloatArray, predictions: Predictions) -> Predictions:
    """Return the predictions with the calibrator's output for checked logits, in the order of its classes."""
    probs, log_probs = calibrator.calibrated(predictions.probs, logits)
    return Predictions._trusted(  # noqa: SLF001 (rows are normalised by construction)
        probs, predictions.labels, predictions.weights, predictions.classes, log_probs
    )
