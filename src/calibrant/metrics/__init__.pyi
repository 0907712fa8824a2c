from calibrant.metrics.ece import ECE as ECE
from calibrant.metrics.ece import ChanceECE as ChanceECE
from calibrant.metrics.clinical import (
    GapQuantile as GapQuantile,
    ICI as ICI,
    ObservedExpectedRatio as ObservedExpectedRatio,
)
from calibrant.metrics.score_parts import (
    Discrimination as Discrimination,
    Miscalibration as Miscalibration,
    Refinement as Refinement,
)
from calibrant.metrics.costs import Costs as Costs, ExpectedCost as ExpectedCost, NetBenefit as NetBenefit
from calibrant.metrics.debiased_ece import DebiasedECE as DebiasedECE
from calibrant.metrics.decomposition import segment_decomposition as segment_decomposition
from calibrant.metrics.dirichlet_ece import DirichletECE as DirichletECE
from calibrant.metrics.forecasts.calibration import ENCE as ENCE, QuantileCalibration as QuantileCalibration
from calibrant.metrics.forecasts.intervals import (
    IntervalCoverage as IntervalCoverage,
    IntervalWidth as IntervalWidth,
    Sharpness as Sharpness,
)
from calibrant.metrics.forecasts.scores import (
    CRPS as CRPS,
    IntervalScore as IntervalScore,
    LogScore as LogScore,
    PinballLoss as PinballLoss,
)
from calibrant.metrics.forecasts.table import FORECAST_METRICS as FORECAST_METRICS
from calibrant.metrics.kde_ece import KdeECE as KdeECE
from calibrant.metrics.skce import SKCE as SKCE
from calibrant.metrics.base.kernel import Affordable as Affordable
from calibrant.metrics.kce import KCE as KCE, MMCE as MMCE
from calibrant.metrics.lifts import Classwise as Classwise, TopLabel as TopLabel
from calibrant.metrics.lifts import PerPredictedClass as PerPredictedClass
from calibrant.metrics.logistic import CoxIntercept as CoxIntercept, CoxSlope as CoxSlope, InTheLarge as InTheLarge
from calibrant.metrics.ucme import UCME as UCME
from calibrant.metrics.base.metric import Metric as Metric
from calibrant.metrics.decomposition import decompose as decompose
from calibrant.metrics.score_parts import Reliability as Reliability, Resolution as Resolution
from calibrant.metrics.ecce import ECCE as ECCE
from calibrant.metrics.scores import (
    Accuracy as Accuracy,
    Brier as Brier,
    NLL as NLL,
    Score as Score,
    SquaredError as SquaredError,
)
from calibrant.metrics.selective import AUGRC as AUGRC, AURC as AURC, ExcessAURC as ExcessAURC
from calibrant.metrics.simplex_ece import SimplexECE as SimplexECE
from calibrant.metrics.smooth_ece import SmoothECE as SmoothECE
from calibrant.smoothing.smoothers import IsotonicCurve as IsotonicCurve, Loess as Loess
from calibrant.metrics.squared_gap import DebiasedSquaredGap as DebiasedSquaredGap, Root as Root
from calibrant.metrics.sweep_ece import SweepECE as SweepECE
from calibrant.metrics.table import METRICS as METRICS
