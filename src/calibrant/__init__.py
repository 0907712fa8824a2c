"""Measure, test, fix and show the calibration of predicted probabilities.

With labels and probabilities, in the order of scikit-learn::

    calibrant.measure(y_true, y_prob, metrics=("ece", "brier"))  # numbers
    calibrant.test(y_true, y_prob)                               # could it be chance?
    calibrant.fix(y_true, y_prob).predict_proba(new)             # the recommended calibrator, fitted
    calibrant.show(y_true, y_prob, out="report.html")            # one page about all of it

`assess` gives the verdict in words, `interval` confidence limits, `compare` several models, `recommend` advice, and
`ReliabilityDisplay` a figure. `Predictions` holds probabilities, labels and weights, checked once, and everything takes
it in place of two arrays; `Forecasts` holds predictive distributions. Names of what can be chosen are in
`calibrant.metrics.METRICS`, `calibrant.hypotest.TESTS` and `calibrant.calibrators.CALIBRATORS`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from calibrant import (
        binning,
        calibrators,
        counts,
        curves,
        decisions,
        exceptions,
        export,
        forecasts,
        groups,
        hypotest,
        intervals,
        io,
        kernels,
        lab,
        metrics,
        plots,
        report,
        results,
        roc,
        scale,
        trees,
    )
    from calibrant.advice import fix, recommend
    from calibrant.advice.learning import learning_curve
    from calibrant.assessment.comparison import compare
    from calibrant.assessment.core import assess
    from calibrant.assessment.forecasts import assess_forecasts
    from calibrant.assessment.showing import show
    from calibrant.curves import ReliabilityDisplay, reliability_curve
    from calibrant.exceptions import DataWarning, InputError
    from calibrant.forecasts import (
        Forecasts,
        Laplace,
        Mixture,
        MvNormal,
        Normal,
        Quantiles,
        Recalibrated,
        Samples,
        Student,
    )
    from calibrant.hypotest.testing import test
    from calibrant.intervals import interval
    from calibrant.io import read_forecasts, read_predictions
    from calibrant.metrics.measuring import measure
    from calibrant.metrics.scorers import scorer
    from calibrant.predictions import Predictions
    from calibrant.report import render_html
    from calibrant.results import as_record, to_frame

_HOMES = {
    "DataWarning": "exceptions",
    "Forecasts": "forecasts",
    "InputError": "exceptions",
    "Laplace": "forecasts",
    "Mixture": "forecasts",
    "MvNormal": "forecasts",
    "Normal": "forecasts",
    "Predictions": "predictions",
    "Quantiles": "forecasts",
    "Recalibrated": "forecasts",
    "ReliabilityDisplay": "curves",
    "Samples": "forecasts",
    "Student": "forecasts",
    "as_record": "results",
    "assess": "assessment.core",
    "assess_forecasts": "assessment.forecasts",
    "compare": "assessment.comparison",
    "fix": "advice",
    "interval": "intervals",
    "learning_curve": "advice.learning",
    "measure": "metrics.measuring",
    "notebook_html": "report.notebook",
    "read_forecasts": "io",
    "read_predictions": "io",
    "recommend": "advice",
    "reliability_curve": "curves",
    "render_html": "report",
    "scorer": "metrics.scorers",
    "show": "assessment.showing",
    "test": "hypotest.testing",
    "to_frame": "results",
}

__all__ = [
    "DataWarning",
    "Forecasts",
    "InputError",
    "Laplace",
    "Mixture",
    "MvNormal",
    "Normal",
    "Predictions",
    "Quantiles",
    "Recalibrated",
    "ReliabilityDisplay",
    "Samples",
    "Student",
    "as_record",
    "assess",
    "assess_forecasts",
    "binning",
    "calibrators",
    "compare",
    "counts",
    "curves",
    "decisions",
    "exceptions",
    "export",
    "fix",
    "forecasts",
    "groups",
    "hypotest",
    "interval",
    "intervals",
    "io",
    "kernels",
    "lab",
    "learning_curve",
    "measure",
    "metrics",
    "plots",
    "read_forecasts",
    "read_predictions",
    "recommend",
    "reliability_curve",
    "render_html",
    "report",
    "results",
    "roc",
    "scale",
    "scorer",
    "show",
    "test",
    "to_frame",
    "trees",
]


_MODULES = frozenset(__all__) - frozenset(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import calibrant` stays light."""
    if name in _MODULES:
        return import_module(f"calibrant.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = getattr(import_module(f"calibrant.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, "__version__"])
