"""The container of predicted class probabilities and observed labels."""

from calibrant.predictions.container import Classifier, Predictions, check_predictions
from calibrant.predictions.rows import effective_rows, row_blocks

__all__ = ["Classifier", "Predictions", "check_predictions", "effective_rows", "row_blocks"]
