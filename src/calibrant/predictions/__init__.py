"""The container of predicted class probabilities and observed labels; two arrays in its place."""

from calibrant.predictions.container import Classifier, Predictions, check_predictions
from calibrant.predictions.rows import row_blocks

__all__ = ["Classifier", "Predictions", "check_predictions", "row_blocks"]
