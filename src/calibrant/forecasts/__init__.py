"""Predictive distributions with observed targets, and what kernel methods need from them."""

from typing import TYPE_CHECKING

from calibrant._border.lazy import attributes

if TYPE_CHECKING:
    from calibrant.forecasts.base import Distribution
    from calibrant.forecasts.container import Forecasts
    from calibrant.forecasts.convolution import Profile
    from calibrant.forecasts.joined import join
    from calibrant.forecasts.laplace import Laplace
    from calibrant.forecasts.mixture import Mixture
    from calibrant.forecasts.mvnormal import MvNormal
    from calibrant.forecasts.normal import Normal
    from calibrant.forecasts.probability_map import ProbabilityMap
    from calibrant.forecasts.quantile_columns import Quantiles
    from calibrant.forecasts.recalibrated import Recalibrated
    from calibrant.forecasts.sampled import MonteCarlo
    from calibrant.forecasts.samples import Samples
    from calibrant.forecasts.student import Student
    from calibrant.forecasts.targets import default_lengthscale, target_deviation, target_discrepancy, target_kernel
    from calibrant.forecasts.transform import pit

__all__ = [
    "Distribution",
    "Forecasts",
    "Laplace",
    "Mixture",
    "MonteCarlo",
    "MvNormal",
    "Normal",
    "ProbabilityMap",
    "Profile",
    "Quantiles",
    "Recalibrated",
    "Samples",
    "Student",
    "default_lengthscale",
    "join",
    "pit",
    "target_deviation",
    "target_discrepancy",
    "target_kernel",
]

__getattr__ = attributes(
    __name__,
    {
        "Distribution": "calibrant.forecasts.base",
        "Forecasts": "calibrant.forecasts.container",
        "Profile": "calibrant.forecasts.convolution",
        "join": "calibrant.forecasts.joined",
        "Laplace": "calibrant.forecasts.laplace",
        "Mixture": "calibrant.forecasts.mixture",
        "MvNormal": "calibrant.forecasts.mvnormal",
        "Normal": "calibrant.forecasts.normal",
        "ProbabilityMap": "calibrant.forecasts.probability_map",
        "Quantiles": "calibrant.forecasts.quantile_columns",
        "Recalibrated": "calibrant.forecasts.recalibrated",
        "MonteCarlo": "calibrant.forecasts.sampled",
        "Samples": "calibrant.forecasts.samples",
        "Student": "calibrant.forecasts.student",
        "default_lengthscale": "calibrant.forecasts.targets",
        "target_deviation": "calibrant.forecasts.targets",
        "target_discrepancy": "calibrant.forecasts.targets",
        "target_kernel": "calibrant.forecasts.targets",
        "pit": "calibrant.forecasts.transform",
    },
)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
