"""Predictions as a calibrator would make them, for rows that it has not seen."""

from typing import Any

import numpy as np

from calibrant._typing import Progress, Rng
from calibrant.advice.advise import recommend
from calibrant.advice.cross_fit import check_folds, cross_fit, draw_folds
from calibrant.advice.fixing import AUTO
from calibrant.calibrators import calibrator_name, parse
from calibrant.forecasts import Forecasts
from calibrant.results import Fix


def calibrate_held_out(
    predictions: Any,
    method: str = AUTO,
    *,
    n_folds: int = 5,
    progress: Progress | None = None,
    rng: Rng = None,
) -> tuple[Any, Fix]:
    """Calibrate every row by a calibrator that was fitted to other rows.

    Parameters
    ----------
    predictions : Predictions or Forecasts
        Of rows that the model was not trained on.
    method : str, default="auto"
        A name in `CALIBRATORS` (of forecasts, in `FORECAST_CALIBRATORS`), a composition such as "ts>irm", or "auto"
        for what `recommend` advises.
    n_folds : int, default=5
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None

    Returns
    -------
    Predictions or Forecasts
        The same rows; an honest "after" to compare with what was there before.
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
    if isinstance(predictions, Forecasts):
        from calibrant.advice.forecasts import hold_out_forecasts

        return hold_out_forecasts(predictions, method, n_folds=n_folds, progress=progress, rng=rng)
    check_folds(n_folds, predictions)
    seed = int(np.random.default_rng(rng).integers(2**63))  # Twice, so that the folds are those of the advice.
    advice = recommend(predictions, n_folds=n_folds, progress=progress, rng=seed) if method == AUTO else None
    name = calibrator_name(method) if advice is None else advice.name
    folds = draw_folds(predictions, n_folds, np.random.default_rng(seed))
    after, converged, _ = cross_fit(parse(name), predictions, folds, lambda: None)
    changed = np.average(after.predicted != predictions.predicted, weights=predictions.weights)
    return after, Fix(method=name, changed=float(changed), n_folds=n_folds, converged=converged, recommendation=advice)
