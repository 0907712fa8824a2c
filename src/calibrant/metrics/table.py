"""Every metric by name."""

import math

from calibrant.binning import EqualMass, EqualWidth, MedianVariance
from calibrant.metrics.base.kernel import Affordable
from calibrant.metrics.base.metric import Metric
from calibrant.metrics.clinical import ICI, GapQuantile, ObservedExpectedRatio
from calibrant.metrics.debiased_ece import DebiasedECE
from calibrant.metrics.dirichlet_ece import DirichletECE
from calibrant.metrics.ecce import ECCE
from calibrant.metrics.ece import ECE, ChanceECE
from calibrant.metrics.kce import KCE, MMCE
from calibrant.metrics.kde_ece import KdeECE
from calibrant.metrics.lifts import Classwise, PerPredictedClass
from calibrant.metrics.logistic import CoxIntercept, CoxSlope, InTheLarge
from calibrant.metrics.score_parts import Discrimination, Miscalibration, Refinement, Reliability, Resolution
from calibrant.metrics.scores import NLL, Accuracy, Brier, SquaredError
from calibrant.metrics.selective import AUGRC, AURC, ExcessAURC
from calibrant.metrics.simplex_ece import SimplexECE
from calibrant.metrics.skce import SKCE
from calibrant.metrics.smooth_ece import SmoothECE
from calibrant.metrics.squared_gap import DebiasedSquaredGap, Root
from calibrant.metrics.sweep_ece import SweepECE
from calibrant.metrics.ucme import UCME

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
