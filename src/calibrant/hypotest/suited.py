"""Which tests apply to which data, and tests of the table with other redraws and kernels."""

from dataclasses import fields, replace
from typing import Any

from calibrant.forecasts import Forecasts, Quantiles
from calibrant.hypotest.calibration_test import CalibrationTest
from calibrant.hypotest.consistency import ConsistencyTest
from calibrant.hypotest.table import TESTS
from calibrant.kernels import KERNELS, RadialKernel
from calibrant.kernels.algebra import JointKernel
from calibrant.kernels.discrepancy import Data, default_kernel
from calibrant.metrics import SKCE
from calibrant.metrics.forecasts.table import suited_metrics
from calibrant.results import TestResult
from calibrant.results.forecasts import MEASURED

OF_QUANTILES = ("omnibus", "consistency")
"""The tests that apply to columns of quantiles."""

RADIAL = tuple(name for name, kernel in KERNELS.items() if isinstance(kernel, RadialKernel))
"""The kernels on predictions that a test can be given by name."""


def unsuited(name: str, data: Data) -> str:
    """Explain why a test does not apply to this kind of data; empty if it does."""
    suited = _suited(data)
    if name in suited:
        return ""
    why = (
        "it needs whole distributions, but quantiles tell nothing about the values between and beyond them"
        if suited == OF_QUANTILES
        else "it tests predictions of classes, but these rows are forecasts"
    )
    return f"{why}. Tests for them: {', '.join(suited)}."


def _suited(data: Data) -> tuple[str, ...]:
    """Return the names of the tests that apply to this kind of data."""
    if not isinstance(data, Forecasts):
        return tuple(TESTS)
    if isinstance(data.distribution, Quantiles):
        return OF_QUANTILES
    return tuple(name for name, test in TESTS.items() if test.takes_forecasts)


def takes_kernel(test: CalibrationTest) -> bool:
    """Whether a test takes a kernel: its own, that of its estimator, or that of the metric it is given."""
    return any(hasattr(test, name) for name in ("kernel", "estimator", "metric"))


def configured(name: str, data: Data, n_resamples: int, kernel: str | None = None) -> CalibrationTest:
    """Return a row of TESTS with a number of redraws, and with a kernel on predictions by its name in KERNELS."""
    chosen: Any = TESTS[name]
    if isinstance(chosen, ConsistencyTest) and isinstance(data, Forecasts) and isinstance(data.distribution, Quantiles):
        # Quantiles are known only at their own levels, which this metric uses.
        return replace(chosen, metric=suited_metrics(data)["mace"], n_resamples=n_resamples)
    if isinstance(chosen, ConsistencyTest) and (isinstance(data, Forecasts) or kernel is not None):
        chosen = replace(chosen, metric=SKCE())
    settings = {field.name for field in fields(chosen)}
    if "n_resamples" in settings:
        chosen = replace(chosen, n_resamples=n_resamples)
    if kernel is None:
        return chosen
    joint = _joint(kernel, data)
    if "kernel" in settings:
        return replace(chosen, kernel=joint)
    part = "metric" if "metric" in settings else "estimator"
    return replace(chosen, **{part: replace(getattr(chosen, part), kernel=joint)}) if part in settings else chosen


def _joint(name: str, data: Data) -> JointKernel:
    """Return a kernel on predictions with the default one on targets."""
    default: Any = default_kernel(data).terms[0]
    chosen: Any = KERNELS[name]
    if isinstance(data, Forecasts):
        chosen = replace(chosen, distance=default.predictions.distance)
    return chosen @ default.targets


def measured(test: CalibrationTest, result: TestResult) -> str:
    """Return the name of the calibration error that a test estimates."""
    if MEASURED in result.details:
        return str(result.details[MEASURED])
    if hasattr(test, "kernel"):
        return "SKCE"
    metric = getattr(test, "metric", None)
    return metric.about().label if metric is not None else type(getattr(test, "estimator", test)).__name__
