"""Values computed on this machine, compared with certified ones."""

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant import calibrators, hypotest, metrics
from calibrant._border.types import Progress
from calibrant.binning import EqualMass
from calibrant.forecasts import Forecasts, Normal
from calibrant.kernels import Euclidean, ExponentialKernel, GaussianKernel, TotalVariation, Wasserstein, WhiteKernel
from calibrant.predictions import Predictions
from calibrant.results import CheckedValue
from calibrant.roc import auc

if TYPE_CHECKING:
    from calibrant.calibrators import Calibrator
    from calibrant.hypotest.calibration_test import BinaryTest
    from calibrant.metrics.base.metric import Metric
    from calibrant.smoothing.kernel_regression import KernelName

EXACT, APPROXIMATE, OPTIMISED = 12, 9, 8
"""Required digits: of sums, of fast kernel sums on a line, and of results of an optimiser."""

MOST_DIGITS = 17.0
"""Agreement beyond this cannot be seen in double precision."""


def certified_values(progress: Progress | None = None) -> tuple[CheckedValue, ...]:
    r"""Compute every certified value on this machine, and count the digits that agree.

    Parameters
    ----------
    progress : callable, optional
        Called with (values done, total).

    Returns
    -------
    tuple of CheckedValue

    Notes
    -----
    The values were computed from their definitions to 30 digits by `certification.certify`, which shares no code
    with the methods checked here. The number of digits that agree is :math:`-\log_{10} |x - c| / |c|`. One value is
    computed from rows that are repeated until compiled code is used.

    Examples
    --------
    >>> all(value.passed for value in certified_values())
    True
    """
    expected = certificate()["values"]
    checked = []
    for done, (name, (compute, required)) in enumerate(CHECKS.items()):
        checked.append(_compare(name, expected[name], compute(), required))
        if progress is not None:
            progress(done + 1, len(CHECKS))
    return tuple(checked)


@cache
def certificate() -> Mapping[str, Any]:
    """Return the shipped data and answers."""
    return json.loads((files("calibrant.cli.work") / "certified.json").read_text(encoding="utf-8"))


def _compare(name: str, certified: str, found: float, required: int) -> CheckedValue:
    with localcontext() as context:
        context.prec = 60
        answer = Decimal(certified)
        error = abs(Decimal(found) - answer) / (abs(answer) or 1) if math.isfinite(found) else Decimal(1)
    digits = MOST_DIGITS if error == 0 else min(MOST_DIGITS, max(0.0, -float(error.log10())))
    return CheckedValue(name=name, certified=certified, found=found, digits=digits, required=required)


@cache
def event() -> Predictions:
    """Return the predictions of an event."""
    data = certificate()["data"]["event"]
    return Predictions(np.array(data["parts"]) / certificate()["unit"], data["labels"])


@cache
def classes() -> Predictions:
    """Return the predictions of three classes."""
    data = certificate()["data"]["classes"]
    return Predictions(np.array(data["parts"]) / certificate()["unit"], data["labels"])


@cache
def copies() -> Predictions:
    """Return the predictions of three classes, repeated until compiled code sums their pairs."""
    return classes().take(np.tile(np.arange(classes().n_samples), 100))


@cache
def forecasts() -> Forecasts:
    """Return the normal forecasts."""
    data = {key: np.array(value) / certificate()["unit"] for key, value in certificate()["data"]["forecasts"].items()}
    return Forecasts(Normal(data["mean"], data["sd"]), data["target"])


def _measured(metric: "Metric", data: Callable[[], object]) -> Callable[[], float]:
    return lambda: float(metric(data()))


def _tested(test: "BinaryTest", field: str) -> Callable[[], float]:
    """Return the statistic or the p-value in closed form, even with so few events that labels would be redrawn."""
    return lambda: float(getattr(test.examine(event(), event().weights), field))


def _fitted(make: "Callable[[], Calibrator]", field: str, data: Callable[[], Predictions]) -> Callable[[], float]:
    return lambda: float(getattr(make().fit(data().log_probs, data().labels), field))


def _kde(kernel: "KernelName", bandwidth: float) -> tuple[Callable[[], float], int]:
    return _measured(metrics.KdeECE(kernel, bandwidth), event), APPROXIMATE


CHECKS: dict[str, tuple[Callable[[], float], int]] = {
    **{
        f"event/{name}": (_measured(metrics.METRICS[name], event), EXACT)
        for name in (
            *("accuracy", "nll", "brier", "squared-error", "ece", "ece-max", "ece-l2", "ecce", "ecce-range"),
            *("miscalibration", "discrimination", "miscalibration-log", "oe-ratio", "mmce"),
        )
    },
    **{
        f"event/{name}": (_measured(metrics.METRICS[name], event), OPTIMISED)
        for name in ("cox-slope", "cox-intercept", "in-the-large")
    },
    "event/ece-equal-mass-8": (_measured(metrics.ECE(EqualMass(8)), event), EXACT),
    "event/kde-ece-gaussian": _kde("gaussian", 1 / 16),
    "event/kde-ece-triweight": _kde("triweight", 1 / 4),
    "event/kde-ece-epanechnikov": _kde("epanechnikov", 1 / 4),
    **{
        f"event/skce-{name}": (
            _measured(metrics.SKCE(ExponentialKernel(TotalVariation(), 0.25) @ WhiteKernel(), unbiased), event),
            EXACT,
        )
        for name, unbiased in (("unbiased", True), ("biased", False))
    },
    **{
        f"event/{name}{ending}": (_tested(test, field), digits)
        for name, test, digits in (
            ("spiegelhalter", hypotest.SpiegelhalterTest(), EXACT),
            ("hosmer-lemeshow", hypotest.HosmerLemeshowTest(8), EXACT),
            ("cox", hypotest.CoxTest(), OPTIMISED),
        )
        for ending, field in (("", "statistic"), ("-pvalue", "pvalue"))
    },
    "event/ecce-pvalue": (_tested(hypotest.ECCETest(), "pvalue"), EXACT),
    "event/auc": (lambda: auc(event().positive, event().labels), EXACT),
    "event/temperature": (_fitted(lambda: calibrators.TemperatureScaling("logits"), "temperature_", event), OPTIMISED),
    "event/platt-slope": (_fitted(lambda: calibrators.PlattScaling(scores="logits"), "slope_", event), OPTIMISED),
    **{
        f"event/beta-{name}": (
            _fitted(lambda: calibrators.BetaCalibration(scores="logits"), f"{name}_", event),
            OPTIMISED,
        )
        for name in "abc"
    },
    **{
        f"classes/{name}": (_measured(metrics.METRICS[name], classes), EXACT)
        for name in ("accuracy", "nll", "brier", "ece", "ece-one-vs-rest", "ece-per-predicted-class")
    },
    "classes/skce-exponential-total-variation": (
        _measured(metrics.SKCE(ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel()), classes),
        EXACT,
    ),
    "classes/skce-gaussian-euclidean": (
        _measured(metrics.SKCE(GaussianKernel(Euclidean(), 0.5) @ WhiteKernel()), classes),
        EXACT,
    ),
    **{
        f"classes/skce-biased{ending}": (
            _measured(metrics.SKCE(ExponentialKernel(TotalVariation(), 0.5) @ WhiteKernel(), unbiased=False), data),
            EXACT,
        )
        for ending, data in (("", classes), ("-copies", copies))
    },
    "classes/temperature": (
        _fitted(lambda: calibrators.TemperatureScaling("logits"), "temperature_", classes),
        OPTIMISED,
    ),
    **{
        f"forecasts/{name}": (_measured(metrics.FORECAST_METRICS[name], forecasts), EXACT)
        for name in ("crps", "log-score", "interval-score", "interval-coverage")
    },
    "forecasts/skce": (
        _measured(metrics.SKCE(ExponentialKernel(Wasserstein(), 1.0) @ GaussianKernel(Euclidean(), 1.0)), forecasts),
        EXACT,
    ),
}
"""The computation of every certified value, and the number of digits that must agree."""
