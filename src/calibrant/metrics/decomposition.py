"""Parts of a score: by isotonic regression, by bins, or by segments of rows."""

from typing import Literal

import numpy as np

from calibrant._border.checks import check_length
from calibrant._border.convert import convert, is_missing
from calibrant._border.settings import check_option
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import divergence
from calibrant.binning import Binning, EqualWidth
from calibrant.binning.ties import Pools
from calibrant.exceptions import InputError
from calibrant.metrics.base.binned import as_binning
from calibrant.metrics.score_parts import (
    DECOMPOSABLE,
    Discrimination,
    Miscalibration,
    ScoreName,
    check_score,
    impurity,
    uncertainty,
)
from calibrant.metrics.scores import SquaredError
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.results import ScoreDecomposition, SegmentDecomposition, SquaredErrorParts


@takes_two_arrays
def decompose(
    predictions: Predictions,
    score: ScoreName = "squared-error",
    *,
    method: Literal["corp", "murphy"] = "corp",
    bins: Binning = EqualWidth(15),
) -> ScoreDecomposition:
    r"""Split a mean score into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1. More classes: confidence against correctness; pass
        ``p.one_vs_rest(c)`` for one class.
    score : {"squared-error", "log"}, default="squared-error"
    method : {"corp", "murphy"}, default="corp"
        Recalibrate by isotonic regression, or to the frequency in bins.
    bins : Binning, default=EqualWidth(15)
        For "murphy".

    Returns
    -------
    ScoreDecomposition

    Notes
    -----
    With the mean score :math:`\bar S` of predictions, :math:`c` their recalibration and :math:`\bar y` the frequency of
    the event, "corp" gives the exact

    .. math:: \bar S(p) = \underbrace{\bar S(p) - \bar S(c)}_{\text{miscalibration}}
        - \underbrace{\big(\bar S(\bar y) - \bar S(c)\big)}_{\text{discrimination}} + \bar S(\bar y).

    "murphy" recalibrates to the frequency :math:`\bar y_b` of each bin, as if its mean :math:`\bar p_b` had been
    predicted for all of it. For the squared error this is the classical

    .. math:: \sum_b \frac{W_b}{W} (\bar p_b - \bar y_b)^2 - \sum_b \frac{W_b}{W} (\bar y_b - \bar y)^2
        + \bar y (1 - \bar y),

    which falls short of the score by the part ``within``: the variance of predictions within bins less twice their
    covariance with the labels. For the log score the squares are Kullback-Leibler divergences.

    The log score is infinite if an observed class was given probability 0. Miscalibration is then infinite for "corp".
    With bins it is infinite only if all predictions of such a bin are 0, or all are 1; otherwise ``within`` is.
    Discrimination and uncertainty are always finite.

    `segment_decomposition` gives calibration and refinement loss for any other grouping of rows.

    References
    ----------
    A. H. Murphy, "A new vector partition of the probability score", Journal of Applied Meteorology 12 (1973);
    D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe, "Two extra components in the Brier score decomposition", Weather
    and Forecasting 23 (2008); T. Dimitriadis, T. Gneiting, A. I. Jordan, PNAS 118 (2021).

    Examples
    --------
    >>> p = Predictions([0.4, 0.3, 0.2, 0.1, 0.5, 0.9], labels=[0, 0, 0, 1, 1, 1])
    >>> parts = decompose(p)
    >>> [round(x, 4) for x in (parts.value, parts.miscalibration, parts.discrimination, parts.uncertainty)]
    [0.2267, 0.1017, 0.125, 0.25]
    """
    if not isinstance(predictions, Predictions):
        raise TypeError(f"decompose is computed from Predictions, but got {type(predictions).__name__}.")
    check_score(score)
    bins = as_binning(bins, EqualWidth)
    check_option(method, "method", "corp", "murphy")
    view = predictions if predictions.n_classes == 2 else predictions.top_label()
    parts = _by_isotonic_regression(view, score) if method == "corp" else _by_bins(view, score, bins)
    return ScoreDecomposition(
        score=score,
        method="corp" if method == "corp" else repr(bins),
        view="binary" if view is predictions else "top-label",
        value=DECOMPOSABLE[score](view),
        **parts,
    )


def segment_decomposition(predictions: Predictions, segments: object) -> SegmentDecomposition:
    r"""Split the squared error of every segment into what calibration and what refinement cost.

    Parameters
    ----------
    predictions : Predictions
    segments : array-like of shape (n,)
        The segment of every row, by number or name: the leaf of a tree, the segment of a ROC hull, a bin, a group.

    Returns
    -------
    SegmentDecomposition

    Notes
    -----
    With :math:`\mathrm{SE}(x) = \frac12 \sum_k (\hat p_k(x) - y_k(x))^2`, the empirical probabilities
    :math:`\dot p` of a segment :math:`S` and one prediction :math:`\hat p` for all of it,

    .. math:: \mathrm{SE}(S) = \sum_{x \in S} \mathrm{SE}(x)
        = |S| \, \tfrac12 \sum_k (\hat p_k - \dot p_k)^2 + |S| \, \tfrac12 \sum_k \dot p_k (1 - \dot p_k).

    The first part is the calibration loss. It is 0 only if :math:`\hat p = \dot p`: the empirical probability is the
    best prediction for a segment. The second is the refinement loss, the squared error of predicting :math:`\dot p`.
    Weights take the place of numbers of rows throughout.

    Where predictions vary within a segment, :math:`\hat p` is their mean and a third part completes the sum,
    :math:`\sum_x \big( \frac12 |\hat p(x) - \hat p|^2 - (\hat p(x) - \hat p) \cdot (y(x) - \dot p) \big)`.

    The parts depend on the segments: if every row is its own segment, all of the error is calibration loss.

    Examples
    --------
    >>> p = Predictions([0.6, 0.6, 0.6, 0.6], labels=[1, 1, 1, 0])
    >>> parts = segment_decomposition(p, ["leaf"] * 4).total
    >>> round(parts.squared_error, 4), round(parts.calibration, 4), round(parts.refinement, 4)
    (0.84, 0.09, 0.75)
    """
    if not isinstance(predictions, Predictions):
        raise TypeError(f"segment_decomposition is computed from Predictions, but got {type(predictions).__name__}.")
    present = predictions.weights > 0
    names, first, index = _as_segments(segments, present)
    p = predictions.take(present)
    mass, onehot = p.weights, np.eye(p.n_classes)[p.labels]
    weight = _sums(index, mass[:, None])
    empirical = _sums(index, mass[:, None] * onehot) / weight
    # Deviations from one row of the segment: the mean of equal predictions is then exactly that prediction.
    reference = p.probs[first]
    predicted = reference + _sums(index, mass[:, None] * (p.probs - reference[index])) / weight
    spread = p.probs - predicted[index]
    joint = spread * (spread / 2 - (onehot - empirical[index]))
    parts = {
        "squared_error": _sums(index, (mass * SquaredError().per_row(p))[:, None])[:, 0],
        "calibration": (weight / 2 * (predicted - empirical) ** 2).sum(axis=1),
        "refinement": (weight / 2 * empirical * (1 - empirical)).sum(axis=1),
        "within": _sums(index, mass[:, None] * joint).sum(axis=1),
    }
    total = {name: float(values.sum()) for name, values in parts.items()}
    return SegmentDecomposition(
        segments=names,
        size=np.bincount(index),
        weight=weight[:, 0],
        empirical=empirical,
        predicted=predicted,
        **parts,
        total=SquaredErrorParts(**total),
        mean=SquaredErrorParts(**{name: value / float(weight.sum()) for name, value in total.items()}),
    )


def _by_isotonic_regression(view: Predictions, score: ScoreName) -> dict[str, float]:
    return {
        "miscalibration": Miscalibration(score).value(view),
        "discrimination": Discrimination(score).value(view),
        "uncertainty": uncertainty(Pools.of(view), score),
        "within": 0.0,
    }


def _by_bins(view: Predictions, score: ScoreName, bins: Binning) -> dict[str, float]:
    view = view.take(view.weights > 0)
    # Empty bins do not count; rows that a convention leaves out share one bin.
    index = np.unique(bins.cut_view(view).index, return_inverse=True)[1]
    share = view.weights / view.weights.sum()
    mass = np.bincount(index, share)
    predicted = np.bincount(index, share * view.positive) / mass
    observed = (np.bincount(index, share * view.labels) / mass).clip(max=1.0)
    overall = min(1.0, float(share @ view.labels))
    base = impurity(score, np.array([overall]))[0]
    if score == "squared-error":
        spread = view.positive - predicted[index]
        variance, covariance = float(share @ spread**2), 2 * float(share @ (spread * (view.labels - observed[index])))
        parts = {"within": variance - covariance, "within_variance": variance, "within_covariance": covariance}
        calibration, resolution = (predicted - observed) ** 2, (observed - overall) ** 2
    else:
        calibration, resolution = _divergence(observed, predicted), _divergence(observed, np.full(len(mass), overall))
        parts = {"within": _log_within(view, share, predicted[index])}
    return {
        "miscalibration": float(mass @ calibration) if np.isfinite(calibration).all() else np.inf,
        "discrimination": float(mass @ resolution),
        "uncertainty": float(base),
        **parts,
    }


def _divergence(observed: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence between Bernoulli laws."""
    return divergence(observed, predicted) + divergence(1 - observed, 1 - predicted)


def _log_within(view: Predictions, share: FloatArray, predicted: FloatArray) -> float:
    """Return the log score of the predictions less that of the mean of their bin."""
    own = DECOMPOSABLE["log"].per_row(view)
    with np.errstate(divide="ignore"):
        of_mean = -np.log(np.where(view.labels == 1, predicted, 1 - predicted))
    # If this is infinite, all predictions of the bin are equal to their mean, and the difference is 0.
    finite = np.isfinite(of_mean)
    return float(share[finite] @ (own[finite] - of_mean[finite]))


def _as_segments(segments: object, present: BoolArray) -> tuple[tuple[object, ...], IntArray, IntArray]:
    """Return the sorted names of the segments of present rows, the first row of each, and the segment of each row."""
    raw = convert(segments, "segments")
    if raw.values.ndim != 1:
        raise InputError(
            f"segments must be one name or number per row, but have shape {raw.values.shape}. Pass shape (n,)."
        )
    check_length(raw, len(present))
    entries = raw.values.tolist() if raw.values.dtype.kind in "fO" else []  # Other kinds have no missing values.
    missing = [i for i, name in enumerate(entries) if is_missing(name)]
    if missing:
        raise InputError(
            f"segments must have no missing values, but row {missing[0]} is missing ({len(missing)} of {len(present)} "
            "rows are). Name such rows or drop them."
        )
    try:
        names, first, index = np.unique(raw.values[present], return_index=True, return_inverse=True)
    except TypeError as error:
        raise InputError("segments must be all numbers or all names, but both occur. Pass them as names.") from error
    return tuple(names.tolist()), first, index


def _sums(index: IntArray, values: FloatArray) -> FloatArray:
    """Return the sums over the rows of each segment, column by column."""
    return np.column_stack([np.bincount(index, weights=column) for column in values.T])
