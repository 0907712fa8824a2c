from calibrant import (
    binning as binning,
    calibrators as calibrators,
    counts as counts,
    curves as curves,
    decisions as decisions,
    exceptions as exceptions,
    export as export,
    forecasts as forecasts,
    groups as groups,
    hypotest as hypotest,
    intervals as intervals,
    io as io,
    kernels as kernels,
    lab as lab,
    metrics as metrics,
    plots as plots,
    report as report,
    results as results,
    roc as roc,
    scale as scale,
    trees as trees,
)
from calibrant.advice import fix as fix, recommend as recommend
from calibrant.advice.learning import learning_curve as learning_curve
from calibrant.assessment.comparison import compare as compare
from calibrant.assessment.assessing import assess as assess
from calibrant.assessment.forecasts import assess_forecasts as assess_forecasts
from calibrant.assessment.showing import show as show
from calibrant.curves import ReliabilityDisplay as ReliabilityDisplay, reliability_curve as reliability_curve
from calibrant.exceptions import DataWarning as DataWarning, InputError as InputError
from calibrant.forecasts.container import Forecasts as Forecasts
from calibrant.forecasts import (
    Laplace as Laplace,
    Mixture as Mixture,
    MvNormal as MvNormal,
    Normal as Normal,
    Quantiles as Quantiles,
    Recalibrated as Recalibrated,
    Samples as Samples,
    Student as Student,
)
from calibrant.hypotest.table import test as test
from calibrant.intervals import interval as interval
from calibrant.io import read_forecasts as read_forecasts, read_predictions as read_predictions
from calibrant.metrics.measuring import measure as measure, scorer as scorer
from calibrant.predictions import Predictions as Predictions
from calibrant.report import render_html as render_html
from calibrant.results import as_record as as_record, to_frame as to_frame

__version__: str
