"""Calibrators: scikit-learn estimators from scores to calibrated probabilities.

The methods are in `binary` (functions of one score), `multiclass` (maps of all classes of a row), `combinations`
(calibrators made of others) and `forecasts` (calibrators of predictive distributions). Likelihoods and their searches
are in `fitting`. The modules beside these packages hold what all methods share: the base classes, the checks of scores,
the table of names, files, operations for export, and `CalibratedModel`.
"""

from functools import partial
from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes
from calibrant.calibrators.binary.beta import BetaCalibration
from calibrant.calibrators.binary.binary_calibrator import OneVsRest
from calibrant.calibrators.binary.binning import BBQ, HistogramBinning
from calibrant.calibrators.binary.hull import ROCConvexHull
from calibrant.calibrators.binary.isotonic import IsotonicCalibration
from calibrant.calibrators.binary.platt import PlattScaling, QuadraticScaling
from calibrant.calibrators.binary.pooled import Pooled, irm, irova
from calibrant.calibrators.binary.spline import SplineCalibration
from calibrant.calibrators.binary.venn_abers import VennAbers
from calibrant.calibrators.calibrate import calibrate
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.combinations.compose import Compose, composed, parse
from calibrant.calibrators.combinations.ensemble import Ensemble
from calibrant.calibrators.combinations.stack import StackedCalibration
from calibrant.calibrators.multiclass.affine import DirichletCalibration, MatrixScaling, VectorScaling
from calibrant.calibrators.multiclass.deep_order_preserving import DeepOrderPreserving
from calibrant.calibrators.multiclass.ets import EnsembleTemperatureScaling
from calibrant.calibrators.multiclass.fixed import Identity, LaplaceGuard, Uniform
from calibrant.calibrators.multiclass.joint import JointScaling
from calibrant.calibrators.multiclass.order_preserving import OrderPreserving
from calibrant.calibrators.multiclass.prior_shift import PriorShift
from calibrant.calibrators.multiclass.structured import StructuredScaling
from calibrant.calibrators.multiclass.temperature import TemperatureScaling
from calibrant.calibrators.names import CALIBRATORS, calibrator_name

if TYPE_CHECKING:
    from calibrant.calibrators.model import CalibratedModel
    from calibrant.calibrators.store import load, save

__all__ = [
    "BBQ",
    "CALIBRATORS",
    "BetaCalibration",
    "CalibratedModel",
    "Calibrator",
    "Compose",
    "DeepOrderPreserving",
    "DirichletCalibration",
    "Ensemble",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "Identity",
    "IsotonicCalibration",
    "JointScaling",
    "LaplaceGuard",
    "MatrixScaling",
    "OneVsRest",
    "OrderPreserving",
    "PlattScaling",
    "Pooled",
    "PriorShift",
    "QuadraticScaling",
    "ROCConvexHull",
    "SplineCalibration",
    "StackedCalibration",
    "StructuredScaling",
    "TemperatureScaling",
    "Uniform",
    "VectorScaling",
    "VennAbers",
    "calibrate",
    "calibrator_name",
    "load",
    "parse",
    "save",
]

CALIBRATORS.fill(
    {
        "identity": Identity,
        "ts": TemperatureScaling,
        "vs": VectorScaling,
        "ms": MatrixScaling,
        "dirichlet": DirichletCalibration,
        "svs": partial(StructuredScaling, structure="vector"),
        "sms": partial(StructuredScaling, structure="matrix"),
        "sms-light": partial(StructuredScaling, structure="matrix", diagonal=0.1, off_diagonal=0.1, intercept=0.1),
        "joint": JointScaling,
        "guard": LaplaceGuard,
        "guard-light": partial(LaplaceGuard, rows=0.01),
        "platt": PlattScaling,
        "quadratic": QuadraticScaling,
        "beta": BetaCalibration,
        "histogram": HistogramBinning,
        "bbq": BBQ,
        "isotonic": IsotonicCalibration,
        "centred-isotonic": partial(IsotonicCalibration, centred=True),
        "rocch": ROCConvexHull,
        "irm": irm,
        "irova": irova,
        "venn-abers": VennAbers,
        "spline": SplineCalibration,
        "ets": EnsembleTemperatureScaling,
        "iop-diag": partial(OrderPreserving, family="diag"),
        "iop-oi": partial(OrderPreserving, family="oi"),
        "iop-deep": DeepOrderPreserving,
        "stack": partial(StackedCalibration, keep_argmax=False),
        "stack-order": partial(StackedCalibration, keep_argmax=True),
    },
    composed,
)

# Imported on first use: these need scikit-learn, or every class of this package.
__getattr__ = attributes(
    __name__,
    {
        "CalibratedModel": "calibrant.calibrators.model",
        "load": "calibrant.calibrators.store",
        "save": "calibrant.calibrators.store",
    },
)
