"""Straight lines fitted to log-odds by logistic regression."""

import numpy as np

from calibrant._border.types import BoolArray, FloatArray
from calibrant._core.laws import expit
from calibrant._core.logistic import PENALTY, LogisticLoss, maximise_all
from calibrant.predictions import Predictions

EPSILON = 1e-12
"""Predictions outside [EPSILON, 1 - EPSILON] are moved to its ends, so that their log-odds are finite."""

CONSTANT = 1e-10
"""Predictions whose log-odds differ by less than this count as equal."""

LEAST_CURVATURE = 1000 * PENALTY
"""If the mean likelihood has less curvature in the slope than this, the penalty and not the data decides the slope.

The same holds for the curvature in the shift."""


def log_odds_of(view: Predictions) -> FloatArray:
    """Return the log-odds of class 1, bounded so that none is infinite."""
    bound = np.log1p(-EPSILON) - np.log(EPSILON)
    return (view.log_probs[:, 1] - view.log_probs[:, 0]).clip(-bound, bound)


def kept_log_odds(view: Predictions) -> FloatArray:
    """Return the log-odds of class 1, cached with the predictions."""
    return view.once("log-odds", lambda: log_odds_of(view), of_labels=False)


def count_clipped(view: Predictions) -> int:
    """Return how many predictions of rows with positive weight had to be moved."""
    # The factor allows for rounding of 1 - EPSILON, in the fifth digit of its distance from 1.
    return int(((view.probs.min(axis=1) < 0.999 * EPSILON) & (view.weights > 0)).sum())


def present(log_odds: FloatArray, hits: BoolArray, weights: FloatArray) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return the rows of positive weight, with shares that sum to 1."""
    share = weights / weights.max()
    present = share > 0
    if not present.all():
        log_odds, hits, share = log_odds[present], hits[present], share[present]
    return log_odds, hits, share / share.sum()


def present_rows(view: Predictions) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return log-odds, events and shares of the rows that have weight."""
    return present(kept_log_odds(view), view.labels == 1, view.weights)


def fitted_line(view: Predictions) -> tuple[float, float]:
    """Return intercept and slope at the data's own weights, cached with the predictions."""
    return view.once("line of log-odds", lambda: line_of(*present_rows(view)))


def shift_of(log_odds: FloatArray, hits: BoolArray, share: FloatArray) -> float:
    """Return the intercept at slope 1 for one set of outcomes; the shares sum to 1."""
    return float(maximise(log_odds, np.ones((1, len(log_odds))), hits, share, np.zeros(1))[0])


def fitted_shift(view: Predictions) -> float:
    """Return the intercept at slope 1 at the data's own weights, cached with the predictions."""
    return view.once("shift of log-odds", lambda: shift_of(*present_rows(view)))


def separated(x: FloatArray, hits: BoolArray) -> BoolArray:
    """Return, per column of outcomes (n, B), whether a threshold on x (n, 1) separates them or only one occurs.

    Outcomes that overlap only at the threshold itself count as separated: no finite slope maximises the likelihood.

    Examples
    --------
    >>> rising, mixed = [False, False, True, True], [False, True, False, True]
    >>> hits = np.column_stack([rising, mixed])
    >>> separated(np.array([[0.2], [0.4], [0.6], [0.8]]), hits).tolist()
    [True, False]
    >>> separated(np.array([[0.2], [0.4], [0.4], [0.8]]), hits).tolist()
    [True, True]
    """
    lowest = [np.where(rows, x, np.inf).min(axis=0) for rows in (hits, ~hits)]
    highest = [np.where(rows, x, -np.inf).max(axis=0) for rows in (hits, ~hits)]
    return np.asarray(np.maximum(*lowest) >= np.minimum(*highest))


def has_equal_predictions(view: Predictions) -> bool:
    """Return whether all predictions of rows with weight are equal, so that no slope is best."""
    return bool(np.ptp(kept_log_odds(view)[view.weights > 0]) < CONSTANT)


def is_separated(view: Predictions) -> bool:
    """Return whether no finite line is best: outcomes are separated or all equal, or all predictions are equal."""
    return view.once("separated outcomes", lambda: _is_separated(view))


def _is_separated(view: Predictions) -> bool:
    log_odds, hits, _ = present_rows(view)
    return has_equal_predictions(view) or bool(separated(log_odds[:, None], hits[:, None])[0])


def is_flat(view: Predictions) -> bool:
    """Return whether the likelihood hardly depends on the slope near its maximum, as when outcomes barely overlap."""
    return view.once("flat likelihood", lambda: _is_flat(view))


def _is_flat(view: Predictions) -> bool:
    _, information = score_terms(view, *fitted_line(view))
    if not information.sum() > 0:
        return True
    log_odds = kept_log_odds(view)
    centred = log_odds - float(information @ log_odds / information.sum())
    return float(information @ centred**2) <= LEAST_CURVATURE


def is_level_flat(view: Predictions) -> bool:
    """Return whether the likelihood hardly depends on the shift, as if all predictions are 0 or 1, and right."""
    return view.once("flat level", lambda: _is_level_flat(view))


def _is_level_flat(view: Predictions) -> bool:
    _, information = score_terms(view, fitted_shift(view), 1.0)
    return float(information.sum()) <= LEAST_CURVATURE


def has_no_best_line(view: Predictions) -> bool:
    """Return whether the data does not determine a slope."""
    return is_separated(view) or is_flat(view)


def score_terms(view: Predictions, intercept: float, slope: float) -> tuple[FloatArray, FloatArray]:
    """Return w (y - q) and w q (1 - q) for every row, with recalibrated probabilities q and weights w that sum to 1."""
    share = view.weights / view.weights.max()
    share = share / share.sum()
    odds = intercept + slope * kept_log_odds(view)
    fitted = expit(odds)
    return share * ((view.labels == 1) - fitted), share * fitted * expit(-odds)


def line_influences(view: Predictions) -> tuple[FloatArray, FloatArray]:
    """Return the influences of every row on intercept and slope."""
    scores, information = score_terms(view, *fitted_line(view))
    log_odds = kept_log_odds(view)
    centre = float(information @ log_odds / information.sum())
    centred = log_odds - centre
    slope = scores * centred / float(information @ centred**2)
    return scores / information.sum() - centre * slope, slope


def line_of(log_odds: FloatArray, hits: BoolArray, share: FloatArray) -> tuple[float, float]:
    """Return intercept and slope for one set of outcomes; the shares sum to 1."""
    centre = float(share @ log_odds)
    design, events = np.ones((2, len(log_odds))), share * hits
    centred = np.subtract(log_odds, centre, out=design[1])
    # From slope 0, where no outcome is certain, Newton's method goes straight to the maximum. There all probabilities
    # are 1/2, so that the first step is a linear regression.
    rise, spread = float(events @ centred), float((share * centred) @ centred)
    level = -centre + (float(events.sum()) - 0.5 + PENALTY * centre) / (0.25 + PENALTY)
    tilt = -1.0 + (rise + PENALTY) / (spread / 4 + PENALTY)
    loss = LogisticLoss(design, events, share, log_odds, penalty=PENALTY)
    level, tilt = loss.minimum(np.array([level, tilt])).x.tolist()
    return level - tilt * centre, 1 + tilt


def fitted_lines(log_odds: FloatArray, hits: BoolArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return intercepts and slopes of all columns, NaN where Newton's method needs more care."""
    centre = float(shares.mean(axis=1) @ log_odds)
    design, even = np.stack([np.ones(len(log_odds)), log_odds - centre]), np.array([-centre, -1.0])
    # Resampled rows have about the same line as the rows themselves, which is a good start; redrawn outcomes do not.
    known = hits.shape[1] == 1
    start = maximise(log_odds, design, hits[:, 0], shares.mean(axis=1), even) if known else np.zeros(2)
    found = maximise_all(log_odds, design, hits, shares, start)
    missed = np.isnan(found[0])
    if missed.any() and not known:
        shares = shares if shares.shape[1] == 1 else shares[:, missed]
        found[:, missed] = maximise_all(log_odds, design, hits[:, missed], shares, even)
    level, tilt = found
    return level - tilt * centre, 1 + tilt


def maximise(
    offset: FloatArray, design: FloatArray, hits: BoolArray, share: FloatArray, start: FloatArray
) -> FloatArray:
    """Return the coefficients of the design's rows, added to the offset, that maximise the likelihood."""
    loss = LogisticLoss(design, share * hits, share, offset, penalty=PENALTY)
    return loss.minimum(start).x
