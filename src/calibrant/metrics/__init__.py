"""Metrics: frozen settings called on `Predictions`."""

import math

from calibrant.binning import EqualMass
from calibrant.metrics.base import Metric
from calibrant.metrics.binned import ECE, ChanceECE, DebiasedECE
from calibrant.metrics.lift import Classwise, PerPredictedClass, TopLabel
from calibrant.metrics.scores import NLL, Accuracy, Brier, Score, SquaredError

__all__ = [
    "ECE",
    "METRICS",
    "NLL",
    "Accuracy",
    "Brier",
    "ChanceECE",
    "Classwise",
    "DebiasedECE",
    "Metric",
    "PerPredictedClass",
    "Score",
    "SquaredError",
    "TopLabel",
]

METRICS: dict[str, Metric] = {
    "accuracy": Accuracy(),
    "nll": NLL(),
    "brier": Brier(),
    "squared-error": SquaredError(),
    "ece": ECE(),
    "ece-equal-mass": ECE(bins=EqualMass(15)),
    "ece-l2": ECE(norm=2),
    "ece-max": ECE(norm=math.inf),
    "ece-debiased": DebiasedECE(),
    "ece-classwise": Classwise(ECE()),
    "ece-per-predicted-class": PerPredictedClass(ECE()),
    "ece-chance": ChanceECE(),
}
"""Every metric by its name on the command line and in reports."""
