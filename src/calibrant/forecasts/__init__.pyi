from calibrant.forecasts.distribution import Distribution as Distribution
from calibrant.forecasts.container import Forecasts as Forecasts
from calibrant.forecasts.convolution import Profile as Profile
from calibrant.forecasts.joined import join as join
from calibrant.forecasts.location_scale import Laplace as Laplace
from calibrant.forecasts.mixture import Mixture as Mixture
from calibrant.forecasts.mvnormal import MvNormal as MvNormal
from calibrant.forecasts.location_scale import Normal as Normal
from calibrant.forecasts.recalibrated import ProbabilityMap as ProbabilityMap
from calibrant.forecasts.quantile_columns import Quantiles as Quantiles
from calibrant.forecasts.recalibrated import Recalibrated as Recalibrated
from calibrant.forecasts.sampled import MonteCarlo as MonteCarlo
from calibrant.forecasts.samples import Samples as Samples
from calibrant.forecasts.student import Student as Student
from calibrant.forecasts.container import (
    default_lengthscale as default_lengthscale,
    target_deviation as target_deviation,
    target_discrepancy as target_discrepancy,
    target_kernel as target_kernel,
)
from calibrant.forecasts.transform import pit as pit
