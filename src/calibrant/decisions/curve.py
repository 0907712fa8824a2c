"""Decision curves: net benefit at many thresholds, with bands."""

import numpy as np

from calibrant._border.checks import check_count, check_level
from calibrant._border.types import FloatArray, Rng
from calibrant.decisions.cells import Cells, Means
from calibrant.exceptions import InputError
from calibrant.metrics.costs import check_threshold
from calibrant.predictions import Predictions, check_predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import CurveBand, DecisionCurve, DecisionDifference

N_THRESHOLDS = 99


def even_thresholds(end: float) -> FloatArray:
    """Return 99 thresholds at equal steps up to the last.

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
    r"""Return what acting from a threshold on is worth, for many thresholds.

    Parameters
    ----------
    data : Predictions of two classes, or array-like of shape (n,)
        With `y_prob`, the labels.
    y_prob : array-like of shape (n,) or (n, 2), optional
        Probabilities, if labels are given.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, if labels are given. They are relative.
    thresholds : array-like of shape (m,), optional
        Above 0 and below 1; by default 99 from near 0 to five times the prevalence, or 0.99.
    prevalence : float, optional
        The share of the event where decisions are made, if it is known and not that of the rows, as in a study of cases
        and controls. It leaves the probabilities as they are; `calibrant.calibrators.PriorShift` corrects them.
    level : float, default=0.95
    n_resamples : int, default=2000
        Draws behind the joint band.
    rng : Generator, int or None

    Returns
    -------
    DecisionCurve

    Notes
    -----
    With the share :math:`\pi` of the event, rows are acted on where :math:`p \ge t`. With o = t / (1 - t),

    .. math:: \mathrm{NB}(t) = \mathrm{TP} - o \, \mathrm{FP}, \qquad
              \mathrm{NB}_\mathrm{all}(t) = \pi - o (1 - \pi), \qquad
              L(t) = 2 (t \, \mathrm{FP} + (1 - t) \, \mathrm{FN}) = 2 (1 - t) (\pi - \mathrm{NB}(t)),

    all per row. Net benefits of different thresholds cannot be compared; differences of L can.

    Each is a mean over rows. Limits at a point are by Student's law, corrected for skewness; the difference to acting
    on all is paired on the rows. The joint band has the quantile of the largest studentised deviation over all
    thresholds, by a multiplier bootstrap. Where too few rows decide, limits are infinite.
    With a known prevalence, TP is its product with the sensitivity, and the two outcomes vary separately.

    Thresholds that are picked because the curve is best there look better than they are.

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
    predictions = check_predictions(as_data(data, y_prob, sample_weight), "data")
    check_settings(prevalence, level, n_resamples)
    event = predictions.positive is not None and predictions.labels == 1
    share = float(np.average(event, weights=predictions.weights)) if prevalence is None else prevalence
    t = even_thresholds(_end(share)) if thresholds is None else as_thresholds(thresholds)
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
        n_events=int((event & (predictions.weights > 0)).sum()),
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
    """Return what other predictions for the same rows are worth more, for many thresholds, paired on the rows.

    Parameters
    ----------
    before, after : Predictions of two classes
        Of the same rows in the same order. After a fix, pass predictions by fits to other rows, which
        `calibrant.advice.calibrate_held_out` makes: those of the rows that it was fitted to look too good.
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
    share = float(np.average(before.labels, weights=before.weights)) if prevalence is None else prevalence
    t = even_thresholds(_end(share)) if thresholds is None else as_thresholds(thresholds)
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
    """Return means with both kinds of limits."""
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
    """Return thresholds in ascending order, each once."""
    found = np.unique(np.asarray(values, dtype=float))
    if not len(found):
        raise InputError("thresholds must hold at least one probability, but are empty.")
    for value in (found[0], found[-1]):
        check_threshold(float(value), "every threshold")
    return found


def check_settings(prevalence: float | None, level: float, n_resamples: int = 2000) -> None:
    """Refuse settings that mean nothing."""
    if prevalence is not None:
        check_threshold(prevalence, "prevalence")
    check_level(level)
    check_count(n_resamples, "n_resamples")


def check_same_rows(before: object, after: object) -> None:
    """Refuse predictions that are not about the same rows."""
    one, other = check_predictions(before, "before"), check_predictions(after, "after")
    same = np.array_equal(one.labels, other.labels) and np.array_equal(one.weights, other.weights)
    if not same:
        raise InputError(
            "before and after must be predictions for the same rows, but their labels or weights differ. Put them in "
            "the same order."
        )


def _end(prevalence: float) -> float:
    """Return where curves end by default: few decisions are made at more than five times the prevalence."""
    return min(0.99, max(5 * prevalence, 0.01))


def _worth(cells: Cells, thresholds: FloatArray) -> FloatArray:
    """Return what acting on a row of each cell is worth, (C, T)."""
    return np.where(cells.event[:, None] == 1, 1.0, -thresholds / (1 - thresholds))


def _losses(cells: Cells, acts: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the loss L of a row of each cell, (C, T)."""
    event = cells.event[:, None]
    return 2 * (thresholds * (1 - event) * acts + (1 - thresholds) * event * (1 - acts))
