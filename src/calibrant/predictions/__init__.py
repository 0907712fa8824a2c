"""The container of predicted class probabilities and observed labels."""

from calibrant.predictions.container import Classifier, Predictions, check_predictions
from calibrant.predictions.rows import row_blocks

__all__ = ["Classifier", "Predictions", "check_predictions", "row_blocks"]
