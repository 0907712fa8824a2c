"""Measure, test, fix and show the calibration of predicted probabilities."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from calibrant import plots
    from calibrant._checks import DataWarning
    from calibrant._convert import InputError
    from calibrant.assess import assess
    from calibrant.assess_forecasts import assess_forecasts
    from calibrant.compare import compare
    from calibrant.curves import reliability_curve
    from calibrant.forecasts import Forecasts, Laplace, Mixture, MvNormal, Normal, Samples
    from calibrant.intervals import interval
    from calibrant.io import read_forecasts, read_predictions
    from calibrant.learning import learning_curve
    from calibrant.predictions import Predictions
    from calibrant.recommend import recommend
    from calibrant.report import render_html
    from calibrant.results import as_record, to_frame
    from calibrant.scorers import scorer

_HOMES = {
    "DataWarning": "_checks",
    "Forecasts": "forecasts",
    "InputError": "_convert",
    "Laplace": "forecasts",
    "Mixture": "forecasts",
    "MvNormal": "forecasts",
    "Normal": "forecasts",
    "Predictions": "predictions",
    "Samples": "forecasts",
    "as_record": "results",
    "assess": "assess",
    "assess_forecasts": "assess_forecasts",
    "compare": "compare",
    "interval": "intervals",
    "learning_curve": "learning",
    "read_forecasts": "io",
    "read_predictions": "io",
    "recommend": "recommend",
    "reliability_curve": "curves",
    "render_html": "report",
    "scorer": "scorers",
    "to_frame": "results",
}

_MODULES = ("plots",)

__all__ = [
    "DataWarning",
    "Forecasts",
    "InputError",
    "Laplace",
    "Mixture",
    "MvNormal",
    "Normal",
    "Predictions",
    "Samples",
    "as_record",
    "assess",
    "assess_forecasts",
    "compare",
    "interval",
    "learning_curve",
    "plots",
    "read_forecasts",
    "read_predictions",
    "recommend",
    "reliability_curve",
    "render_html",
    "scorer",
    "to_frame",
]


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


class _Package(ModuleType):
    """The package, in which a function stays what it is although a module has its name, as that of `assess` has."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):  # Importing a module would put it in place.
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
