"""Metrics: frozen settings called on `Predictions`."""

import math

from calibrant.binning import EqualMass, EqualWidth, MedianVariance
from calibrant.metrics.base import Metric
from calibrant.metrics.binned import ECE, ChanceECE, DebiasedECE
from calibrant.metrics.kernel import KCE, SKCE, Affordable
from calibrant.metrics.lift import Classwise, PerPredictedClass, TopLabel
from calibrant.metrics.mean_embedding import UCME
from calibrant.metrics.mmce import MMCE
from calibrant.metrics.scores import NLL, Accuracy, Brier, Score, SquaredError
from calibrant.metrics.simplex import SimplexECE

__all__ = [
    "ECE",
    "KCE",
    "METRICS",
    "MMCE",
    "NLL",
    "SKCE",
    "UCME",
    "Accuracy",
    "Affordable",
    "Brier",
    "ChanceECE",
    "Classwise",
    "DebiasedECE",
    "Metric",
    "PerPredictedClass",
    "Score",
    "SimplexECE",
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
    "ece-simplex": SimplexECE(EqualWidth(10)),
    "ece-simplex-median": SimplexECE(MedianVariance(10)),
    "skce": SKCE(blocksize=Affordable()),
    "kce": KCE(blocksize=Affordable()),
    "mmce": MMCE(),
    "ucme": UCME(),
}
"""Every metric by its name on the command line and in reports."""
