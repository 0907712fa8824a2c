"""Metrics: frozen settings called on `Predictions`."""

import math
from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes
from calibrant.binning import EqualMass, EqualWidth, MedianVariance
from calibrant.metrics.binned import ECE, DebiasedECE
from calibrant.metrics.chance import ChanceECE
from calibrant.metrics.clinical import ICI, GapQuantile, ObservedExpectedRatio
from calibrant.metrics.corp import Discrimination, Miscalibration, Refinement
from calibrant.metrics.dirichlet import DirichletECE
from calibrant.metrics.kde import KdeECE
from calibrant.metrics.kernel import SKCE
from calibrant.metrics.kernel_metric import Affordable
from calibrant.metrics.kernel_roots import KCE, MMCE
from calibrant.metrics.lift import Classwise, PerPredictedClass, TopLabel
from calibrant.metrics.logistic import CoxIntercept, CoxSlope, InTheLarge
from calibrant.metrics.mean_embedding import UCME
from calibrant.metrics.metric import Metric
from calibrant.metrics.murphy import Reliability, Resolution, decompose
from calibrant.metrics.pooled import ECCE
from calibrant.metrics.scores import NLL, Accuracy, Brier, Score, SquaredError
from calibrant.metrics.selective import AUGRC, AURC, ExcessAURC
from calibrant.metrics.simplex import SimplexECE
from calibrant.metrics.smooth import SmoothECE
from calibrant.metrics.smoothers import IsotonicCurve, Loess
from calibrant.metrics.squared_gap import DebiasedSquaredGap, Root
from calibrant.metrics.sweep import SweepECE

if TYPE_CHECKING:
    from calibrant.metrics.costs import Costs, ExpectedCost, NetBenefit
    from calibrant.metrics.decomposition import segment_decomposition
    from calibrant.metrics.forecast_calibration import ENCE, QuantileCalibration
    from calibrant.metrics.forecast_intervals import IntervalCoverage, IntervalWidth, Sharpness
    from calibrant.metrics.forecast_scores import CRPS, IntervalScore, LogScore, PinballLoss
    from calibrant.metrics.forecast_table import FORECAST_METRICS

__all__ = [
    "AUGRC",
    "AURC",
    "CRPS",
    "ECCE",
    "ECE",
    "ENCE",
    "FORECAST_METRICS",
    "ICI",
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
    "Costs",
    "CoxIntercept",
    "CoxSlope",
    "DebiasedECE",
    "DebiasedSquaredGap",
    "DirichletECE",
    "Discrimination",
    "ExcessAURC",
    "ExpectedCost",
    "GapQuantile",
    "InTheLarge",
    "IntervalCoverage",
    "IntervalScore",
    "IntervalWidth",
    "IsotonicCurve",
    "KdeECE",
    "Loess",
    "LogScore",
    "Metric",
    "Miscalibration",
    "NetBenefit",
    "ObservedExpectedRatio",
    "PerPredictedClass",
    "PinballLoss",
    "QuantileCalibration",
    "Refinement",
    "Reliability",
    "Resolution",
    "Root",
    "Score",
    "Sharpness",
    "SimplexECE",
    "SmoothECE",
    "SquaredError",
    "SweepECE",
    "TopLabel",
    "decompose",
    "segment_decomposition",
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
    "ece-one-vs-rest": Classwise(ECE()),
    "ece-per-predicted-class": PerPredictedClass(ECE()),
    "ece-chance": ChanceECE(),
    "ece-simplex": SimplexECE(EqualWidth(10)),
    "ece-simplex-median": SimplexECE(MedianVariance(10)),
    "ece-sweep": SweepECE(),
    "smooth-ece": SmoothECE(),
    "rms-debiased": Root(DebiasedSquaredGap()),
    "rms-debiased-one-vs-rest": Root(Classwise(DebiasedSquaredGap())),
    "rms-debiased-per-predicted-class": Root(PerPredictedClass(DebiasedSquaredGap())),
    "ecce": ECCE(),
    "ecce-range": ECCE("range"),
    "miscalibration": Miscalibration(),
    "discrimination": Discrimination(),
    "refinement": Refinement(),
    "miscalibration-log": Miscalibration("log"),
    "discrimination-log": Discrimination("log"),
    "reliability": Reliability(),
    "resolution": Resolution(),
    "ici": ICI(),
    "e50": GapQuantile(0.5),
    "e90": GapQuantile(0.9),
    "emax": GapQuantile(1),
    "cox-slope": CoxSlope(),
    "cox-intercept": CoxIntercept(),
    "in-the-large": InTheLarge(),
    "oe-ratio": ObservedExpectedRatio(),
    "kde-ece": KdeECE(),
    "kde-ece-per-predicted-class": PerPredictedClass(KdeECE()),
    "kde-ece-one-vs-rest": Classwise(KdeECE()),
    "dirichlet-ece": DirichletECE(),
    "skce": SKCE(blocksize=Affordable()),
    "kce": KCE(blocksize=Affordable()),
    "mmce": MMCE(),
    "ucme": UCME(),
    "aurc": AURC(),
    "e-aurc": ExcessAURC(),
    "augrc": AUGRC(),
}
"""Every metric by its name on the command line and in reports."""

__getattr__ = attributes(
    __name__,
    {
        "Costs": "calibrant.metrics.costs",
        "ExpectedCost": "calibrant.metrics.costs",
        "NetBenefit": "calibrant.metrics.costs",
        "segment_decomposition": "calibrant.metrics.decomposition",
        "ENCE": "calibrant.metrics.forecast_calibration",
        "QuantileCalibration": "calibrant.metrics.forecast_calibration",
        "IntervalCoverage": "calibrant.metrics.forecast_intervals",
        "IntervalWidth": "calibrant.metrics.forecast_intervals",
        "Sharpness": "calibrant.metrics.forecast_intervals",
        "CRPS": "calibrant.metrics.forecast_scores",
        "IntervalScore": "calibrant.metrics.forecast_scores",
        "LogScore": "calibrant.metrics.forecast_scores",
        "PinballLoss": "calibrant.metrics.forecast_scores",
        "FORECAST_METRICS": "calibrant.metrics.forecast_table",
    },
)  # What no metric in the table takes.


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
