"""A fitted calibrator in one call, and predictions calibrated by fits to other rows."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import Progress, Rng
from calibrant.advice.advise import recommend
from calibrant.advice.cross_fit import GROUPS, check_folds, cross_fit, cross_fit_groups, draw_folds
from calibrant.calibrators import calibrator_name, parse
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.resampling.seeds import as_seed
from calibrant.results import Fix

Data = TypeVar("Data", Predictions, Forecasts)

AUTO = "auto"
"""The method that `recommend` advises."""


def calibrate_held_out(
    predictions: Data,
    method: str = AUTO,
    *,
    features: object = None,
    n_folds: int = 5,
    progress: Progress | None = None,
    rng: Rng = None,
) -> tuple[Data, Fix]:
    """Calibrate every row by a calibrator that was fitted to other rows.

    Parameters
    ----------
    predictions : Predictions or Forecasts
        Predictions for rows that the model was not trained on.
    method : str, default="auto"
        A name in `CALIBRATORS` (for forecasts, in `FORECAST_CALIBRATORS`), a composition such as "ts>irm", or "auto"
        for what `recommend` advises. With features also "groups", for `calibrant.groups.GroupBoosting`.
    features : data frame, mapping of names to arrays, or array of shape (n, d), optional
        Features of the same rows: the advice may then be the fix of groups.
    n_folds : int, default=5
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None

    Returns
    -------
    Predictions or Forecasts
        The same rows after calibration, for an honest comparison with those before.
    Fix

    Examples
    --------
    >>> from calibrant import Predictions
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=500)
    >>> over_confident = Predictions.from_logits(3 * np.log(truth / (1 - truth)), rng.random(500) < truth)
    >>> after, how = calibrate_held_out(over_confident, "platt", rng=0)
    >>> how.method, after.n_samples
    ('platt', 500)
    """
    if isinstance(predictions, Forecasts) and features is not None:
        raise TypeError("features are for classes, but these are Forecasts.")
    check_folds(n_folds, predictions)
    # One seed for advice and folds; an int is used as it is, so that both are those of recommend with that seed.
    seed = as_seed(rng)
    advice = None
    if method == AUTO:
        advice = recommend(predictions, features=features, n_folds=n_folds, progress=progress, rng=seed)
        method = advice.name
    generator = np.random.default_rng(seed)
    if isinstance(predictions, Forecasts):
        from calibrant.advice.forecasts import cross_fit_forecasts, draw_forecast_folds
        from calibrant.calibrators.forecasts import FORECAST_CALIBRATORS, forecast_calibrator_name

        method = forecast_calibrator_name(method)
        folds = draw_forecast_folds(predictions.n_samples, n_folds, generator)
        after = cross_fit_forecasts(FORECAST_CALIBRATORS[method](), predictions, folds).forecasts
        return after, Fix(method=method, changed=None, n_folds=n_folds, converged=True, recommendation=advice)
    method = method if method == GROUPS else calibrator_name(method)
    folds = draw_folds(predictions, n_folds, generator)
    if method == GROUPS:
        found = cross_fit_groups(_table(features, predictions), predictions, folds)
    else:
        found = cross_fit(parse(method), predictions, folds, lambda: None)
    changed = np.average(found.predictions.predicted != predictions.predicted, weights=predictions.weights)
    how = Fix(method=method, changed=float(changed), n_folds=n_folds, converged=found.converged, recommendation=advice)
    return found.predictions, how


def _table(features: object, predictions: Predictions) -> dict[str, NDArray[np.generic]]:
    """Return the columns of features, or refuse if there are none."""
    from calibrant.groups.columns import as_table

    if features is None:
        raise InputError('method="groups" needs the columns that define groups, but features is None. Pass features=.')
    return as_table(features, predictions.n_samples)


def fix(
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    method: str = AUTO,
    keep_argmax: bool = False,
    positive: object = None,
    rng: Rng = None,
) -> Any:
    """Fit a calibrator to predictions, for use on new ones: `fix(y_true, y_prob).predict_proba(new)`.

    For forecasts: `fix(forecasts).apply(new_distribution)`.

    Parameters
    ----------
    data : array-like of shape (n,), Predictions or Forecasts
        With `y_prob`, the labels. Rows must not be those that the model was trained on.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities, if labels are given: `fix(y_true, y_prob)`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given.
    method : str, default="auto"
        A name in CALIBRATORS, a composition such as "ts>irm", or "auto" for what `calibrant.recommend` advises, which
        is `Identity` if the predictions are best left as they are. For forecasts, a name in FORECAST_CALIBRATORS.
    keep_argmax : bool, default=False
        Whether "auto" must keep the predicted class of every row.
    positive : optional
        The label whose probability `y_prob` is, if that is one column; by default the second of the sorted labels.
    rng : Generator, int or None
        For the folds and samples of "auto".

    Returns
    -------
    Calibrator, or ForecastCalibrator for forecasts
        Fitted to all rows. Judge it on other rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(0.05, 0.95, 2000)
    >>> y_true, y_prob = rng.random(2000) < truth, truth**3 / (truth**3 + (1 - truth) ** 3)
    >>> fixed = fix(y_true, y_prob, method="ts")
    >>> print(fixed)
    TemperatureScaling(), fitted: temperature_ 3.064
    >>> fixed.predict_proba([0.9])[0].round(1).tolist()
    [0.3, 0.7]
    """
    given = as_data(data, y_prob, sample_weight, positive)
    if not isinstance(given, Forecasts):
        check_predictions(given, "data")
    if method == AUTO:
        return recommend(given, keep_argmax, rng=rng).calibrator
    if isinstance(given, Forecasts):
        from calibrant.calibrators.forecasts import parse_forecast

        return parse_forecast(method).fit(given)
    return parse(method).fit(given)
