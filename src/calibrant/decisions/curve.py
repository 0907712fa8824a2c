"""Decision curves: net benefit at many thresholds, with bands."""

import numpy as np

from calibrant._border.settings import check_count, check_level
from calibrant._border.types import FloatArray, Rng
from calibrant.decisions.cells import Cells, Means
from calibrant.exceptions import InputError
from calibrant.metrics.costs import check_threshold
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import CurveBand, DecisionCurve, DecisionDifference

N_THRESHOLDS = 99


def even_thresholds(end: float) -> FloatArray:
    """Return 99 equidistant thresholds, the last of which is `end`.

    Examples
    --------
    >>> even_thresholds(0.99)[[0, 1, -1]].round(6).tolist()
    [0.01, 0.02, 0.99]
    """
    return np.linspace(end / N_THRESHOLDS, end, N_THRESHOLDS)


def decision_curve(  # noqa: PLR0913 (each is one decision of the user)
    data: object,
    y_prob: object = None,
    sample_weight: object = None,
    *,
    thresholds: object = None,
    prevalence: float | None = None,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: Rng = None,
) -> DecisionCurve:
    r"""Return the net benefit of acting at or above a threshold, for many thresholds.

    Parameters
    ----------
    data : Predictions of two classes, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n,) or (n, 2), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    thresholds : array-like of shape (m,), optional
        Above 0 and below 1; by default 99, up to five times the prevalence but at most 0.99.
    prevalence : float, optional
        The share of the event where decisions are made, if it is known and differs from that of the rows, as in a
        case-control study. The probabilities stay as they are; `calibrant.calibrators.PriorShift` corrects them.
    level : float, default=0.95
    n_resamples : int, default=2000
        Number of draws for the joint band.
    rng : Generator, int or None

    Returns
    -------
    DecisionCurve

    Notes
    -----
    Rows with :math:`p \ge t` are acted on. With the share :math:`\pi` of the event and o = t / (1 - t),

    .. math:: \mathrm{NB}(t) = \mathrm{TP} - o \, \mathrm{FP}, \qquad
              \mathrm{NB}_\mathrm{all}(t) = \pi - o (1 - \pi), \qquad
              L(t) = 2 (t \, \mathrm{FP} + (1 - t) \, \mathrm{FN}) = 2 (1 - t) (\pi - \mathrm{NB}(t)),

    all per row. Net benefits at different thresholds cannot be compared; differences of L can.

    Each is a mean over rows. Pointwise limits are by Student's law, corrected for skewness; the difference to acting
    on all is paired by rows. The joint band uses the quantile of the largest studentised deviation over all thresholds,
    by a multiplier bootstrap. Limits are infinite where too few rows contribute; where just enough do,
    the limit next to 0 is moved towards it. With a known prevalence, TP is the
    prevalence times the sensitivity, and the two outcomes vary separately.

    Thresholds chosen because the curve is best there look better than they are.

    References
    ----------
    A. Vickers, E. Elkin, "Decision curve analysis", Medical Decision Making 26 (2006). R. Pfeiffer, M. Gail,
    "Estimating the decision curve and its precision", Biometrical Journal 62 (2020).

    Examples
    --------
    >>> p = Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> curve = decision_curve(p, thresholds=[0.2, 0.5], rng=0)
    >>> curve.net_benefit.value.tolist(), curve.treat_all.tolist(), curve.loss.tolist()
    ([0.4375, 0.25], [0.375, 0.0], [0.1, 0.25])
    """
    predictions = binary_predictions(data, y_prob, sample_weight)
    check_settings(prevalence, level, n_resamples)
    t = _usual_thresholds(predictions, prevalence) if thresholds is None else as_thresholds(thresholds)
    cells, generator = Cells.of([predictions], t, prevalence), np.random.default_rng(rng)
    acts, worth = cells.acts(len(t)), _worth(cells, t)
    benefit, over_all = cells.means(acts * worth), cells.means((acts - 1) * worth)
    pi = cells.prevalence
    return DecisionCurve(
        thresholds=t,
        net_benefit=band(benefit, level, n_resamples, generator),
        over_all=band(over_all, level, n_resamples, generator),
        treat_all=pi - t / (1 - t) * (1 - pi),
        loss=cells.moments[0] @ _losses(cells, acts, t),
        standardised=benefit.value / pi if pi > 0 else np.zeros(len(t)),
        avoided=over_all.value * (1 - t) / t,
        prevalence=pi,
        known_prevalence=prevalence is not None,
        event=str(predictions.classes[1]),
        level=level,
        n_samples=cells.n_rows,
        n_events=int(((predictions.labels == 1) & (predictions.weights > 0)).sum()),
    )


def decision_difference(
    before: Predictions,
    after: Predictions,
    *,
    thresholds: object = None,
    prevalence: float | None = None,
    level: float = 0.95,
    n_resamples: int = 2000,
    rng: Rng = None,
) -> DecisionDifference:
    """Return the gain in net benefit by other predictions for the same rows, for many thresholds, paired by rows.

    Parameters
    ----------
    before, after : Predictions of two classes
        Predictions for the same rows in the same order. After a fix, pass predictions by fits to other rows, as made by
        `calibrant.advice.calibrate_held_out`: a fix looks too good on the rows it was fitted to.
    thresholds, prevalence, level, n_resamples, rng
        As for `decision_curve`.

    Returns
    -------
    DecisionDifference

    Examples
    --------
    >>> before = Predictions([0.9, 0.3, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> after = Predictions([0.9, 0.1, 0.1, 0.4], labels=[1, 0, 0, 1])
    >>> decision_difference(before, after, thresholds=[0.2], rng=0).net_benefit.value.tolist()  # 1/4 * 1/4
    [0.0625]
    """
    check_settings(prevalence, level, n_resamples)
    check_same_rows(before, after)
    t = _usual_thresholds(before, prevalence) if thresholds is None else as_thresholds(thresholds)
    cells, generator = Cells.of([before, after], t, prevalence), np.random.default_rng(rng)
    one, two = cells.acts(len(t), 0), cells.acts(len(t), 1)
    benefit = cells.means((two - one) * _worth(cells, t))
    loss = cells.means(_losses(cells, two, t) - _losses(cells, one, t))
    return DecisionDifference(
        thresholds=t,
        net_benefit=band(benefit, level, n_resamples, generator),
        loss=band(loss, level, n_resamples, generator),
        level=level,
        n_samples=cells.n_rows,
    )


def band(means: Means, level: float, n_resamples: int, rng: np.random.Generator) -> CurveBand:
    """Return means with pointwise and joint limits."""
    low, high = means.limits(level)
    joint_low, joint_high = means.joint_limits(level, n_resamples, rng)
    return CurveBand(
        value=means.value,
        error=means.error,
        low=low,
        high=high,
        joint_low=np.minimum(joint_low, low),
        joint_high=np.maximum(joint_high, high),
    )


def as_thresholds(values: object) -> FloatArray:
    """Check thresholds, and return them in ascending order without repetitions."""
    found = np.unique(np.asarray(values, dtype=float))
    if not len(found):
        raise InputError("thresholds must hold at least one probability, but are empty.")
    for value in (found[0], found[-1]):
        check_threshold(float(value), "every threshold")
    return found


def binary_predictions(data: object, y_prob: object, sample_weight: object) -> Predictions:
    """Return predictions of two classes, or refuse others."""
    predictions = check_predictions(as_data(data, y_prob, sample_weight), "data")
    predictions.positive  # noqa: B018 (refuses more than two classes)
    return predictions


def check_settings(prevalence: float | None, level: float, n_resamples: int = 2000) -> None:
    """Refuse invalid settings."""
    if prevalence is not None:
        check_threshold(prevalence, "prevalence")
    check_level(level)
    check_count(n_resamples, "n_resamples")


def check_same_rows(before: object, after: object) -> None:
    """Refuse predictions that are not for the same rows."""
    one, other = check_predictions(before, "before"), check_predictions(after, "after")
    same = np.array_equal(one.labels, other.labels) and np.array_equal(one.weights, other.weights)
    if not same:
        raise InputError(
            "before and after must be predictions for the same rows, but their labels or weights differ. Put them in "
            "the same order."
        )


def event_share(predictions: Predictions) -> float:
    """Return the weighted share of rows of class 1."""
    return float(np.average(predictions.labels == 1, weights=predictions.weights))


def _usual_thresholds(predictions: Predictions, prevalence: float | None) -> FloatArray:
    """Return the default thresholds: few decisions are made at more than five times the prevalence."""
    share = event_share(predictions) if prevalence is None else prevalence
    return even_thresholds(min(0.99, max(5 * share, 0.01)))


def _worth(cells: Cells, thresholds: FloatArray) -> FloatArray:
    """Return the net benefit of acting on a row of each cell, (C, T)."""
    return np.where(cells.event[:, None] == 1, 1.0, -thresholds / (1 - thresholds))


def _losses(cells: Cells, acts: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the loss L of a row of each cell, (C, T)."""
    event = cells.event[:, None]
    return 2 * (thresholds * (1 - event) * acts + (1 - thresholds) * event * (1 - acts))
