"""A fitted calibrator in one call: the recommended one, or one by name."""

from typing import Any

from calibrant._border.types import Rng
from calibrant.advice.advise import recommend
from calibrant.calibrators import parse
from calibrant.forecasts import Forecasts
from calibrant.predictions import check_predictions
from calibrant.predictions.two_arrays import as_data

AUTO = "auto"
"""The name that stands for what `recommend` advises."""


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

    Forecasts are fixed, too: `fix(forecasts).apply(new_distribution)`.

    Parameters
    ----------
    data : array-like of shape (n,), Predictions or Forecasts
        With `y_prob`, the labels. Of rows that the model was not trained on.
    y_prob : array-like of shape (n, K) or (n,), optional
        Probabilities, if labels are given: `fix(y_true, y_prob)`.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given.
    method : str, default="auto"
        A name in CALIBRATORS, a composition such as "ts>irm", or "auto" for what `calibrant.recommend` advises, which
        is `Identity` if the predictions are best left as they are. For forecasts, a name in FORECAST_CALIBRATORS.
    keep_argmax : bool, default=False
        Whether the advice must keep the predicted class of every row.
    positive : optional
        The label whose probability `y_prob` is, if that is one column; by default the second of the sorted labels.
    rng : Generator, int or None
        For the folds and samples behind the advice.

    Returns
    -------
    Calibrator, or ForecastCalibrator for forecasts
        Fitted to all rows. Judge it on other rows than these.

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
    predictions = as_data(data, y_prob, sample_weight, positive)
    if isinstance(predictions, Forecasts):
        return _fix_forecasts(predictions, method, keep_argmax, rng)
    check_predictions(predictions, "data")
    if method == AUTO:
        return recommend(predictions, keep_argmax, rng=rng).calibrator
    return parse(method).fit(predictions)


def _fix_forecasts(forecasts: Forecasts, method: str, keep_argmax: bool, rng: Rng) -> Any:
    if method == AUTO:
        return recommend(forecasts, keep_argmax, rng=rng).calibrator
    from calibrant.calibrators.forecasts import parse_forecast

    return parse_forecast(method).fit(forecasts)
