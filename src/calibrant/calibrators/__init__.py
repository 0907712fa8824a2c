"""Calibrators: scikit-learn estimators from scores to calibrated probabilities."""

from functools import partial
from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes
from calibrant.calibrators.bbq import BBQ
from calibrant.calibrators.beta import BetaCalibration
from calibrant.calibrators.binary import OneVsRest
from calibrant.calibrators.calibrate import calibrate
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.compose import Compose, composed, parse
from calibrant.calibrators.deep_order_preserving import DeepOrderPreserving
from calibrant.calibrators.ensemble import Ensemble
from calibrant.calibrators.ets import EnsembleTemperatureScaling
from calibrant.calibrators.guard import LaplaceGuard
from calibrant.calibrators.histogram import HistogramBinning
from calibrant.calibrators.hull import ROCConvexHull
from calibrant.calibrators.identity import Identity, Uniform
from calibrant.calibrators.isotonic import IsotonicCalibration
from calibrant.calibrators.joint import JointScaling
from calibrant.calibrators.lift import Pooled, irm, irova
from calibrant.calibrators.matrix import DirichletCalibration, MatrixScaling, VectorScaling
from calibrant.calibrators.names import CALIBRATORS, calibrator_name
from calibrant.calibrators.order_preserving import OrderPreserving
from calibrant.calibrators.platt import PlattScaling, QuadraticScaling
from calibrant.calibrators.prior_shift import PriorShift
from calibrant.calibrators.spline import SplineCalibration
from calibrant.calibrators.stack import StackedCalibration
from calibrant.calibrators.structured import StructuredScaling
from calibrant.calibrators.temperature import TemperatureScaling
from calibrant.calibrators.venn_abers import VennAbers

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
