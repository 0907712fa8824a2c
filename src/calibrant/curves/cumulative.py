"""The running sum of outcomes minus predictions: a reliability diagram without bins and without smoothing."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.binning.ties import NEGLIGIBLE, pooled, starts_of_ties
from calibrant.curves.view import binary_view
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import takes_two_arrays
from calibrant.results.curves import CumulativeCurve, NetError
from calibrant.results.estimate import Estimate

STRETCHES = 100
"""Number of stretches into which a long path is cut; four points of each are kept."""


@dataclass(frozen=True, eq=False)
class RunningSum:
    """The whole path: one step for each distinct prediction, after the start at 0."""

    scores: FloatArray  # (m,): distinct predictions, ascending. Those that agree to 12 decimals are equal.
    group: IntArray  # (n,): index into `scores` of each row.
    share: FloatArray  # (m + 1,): share of the weight up to each point.
    path: FloatArray  # (m + 1,): the sum of weight times (outcome - prediction), divided by all weight.

    @classmethod
    def of(cls, view: Predictions) -> Self:
        """Return the path of binary predictions."""
        scores, group = pooled(view.positive)
        weights = view.weights / view.weights.max()  # So that the sum of huge weights does not overflow.
        total = weights.sum()
        share = np.cumsum(np.bincount(group, weights)) / total
        path = np.cumsum(np.bincount(group, weights * (view.labels - view.positive)) / total)
        share[-1] = 1.0
        return cls(scores, group, np.append(0.0, share), np.append(0.0, path))

    def widest(self) -> tuple[int, int]:
        """Return the points between which the path changes most, in ascending order."""
        low, high = int(self.path.argmin()), int(self.path.argmax())
        return min(low, high), max(low, high)


@takes_two_arrays
def cumulative_curve(predictions: Predictions) -> CumulativeCurve:
    r"""Cumulative differences: where predictions err, without bins and without smoothing.

    Parameters
    ----------
    predictions : Predictions
        Two classes: the probability of class 1. More classes: confidence against correctness.

    Returns
    -------
    CumulativeCurve

    Notes
    -----
    In ascending order of the predictions, and with equal predictions pooled, :math:`C_0 = 0` and
    :math:`C_k = \sum_{j \le k} w_j (y_j - p_j) / \sum_j w_j`. Over any stretch of rows the slope of C against the share
    of rows is the mean of y - p. Calibrated predictions give a path that wanders by chance; the standard deviation
    of its end is :math:`\sigma = \sqrt{\sum_j w_j^2 p_j (1 - p_j)} / \sum_j w_j`. The metric `ECCE` is how far the path
    goes, and `ECCETest` gives its p-value.

    A path of more than 400 distinct predictions is cut into 100 stretches of equal weight; of each, the first, the
    lowest, the highest and the last point are kept. So no extreme is lost, and a figure that is 100 pixels wide looks
    as if all points were drawn.

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu, "Metrics of calibration for probabilistic predictions",
    JMLR 23 (2022).

    Examples
    --------
    >>> curve = cumulative_curve(Predictions([0.2, 0.4, 0.6, 0.8], labels=[0, 0, 0, 1]))
    >>> (4 * curve.cumulative).round(4).tolist()
    [0.0, -0.2, -0.6, -1.2, -1.0]
    >>> curve.worst.lower, curve.worst.upper
    (0.2, 0.6)
    """
    view, name = binary_view(predictions)
    present = view.weights > NEGLIGIBLE * view.weights.max()
    view = view if present.all() else view.take(present)
    whole = RunningSum.of(view)
    kept = _selection(whole.share, whole.path)
    start, stop = whole.widest()
    return CumulativeCurve(
        share=whole.share[kept],
        predicted=np.append(whole.scores[0], whole.scores)[kept],
        cumulative=whole.path[kept],
        sigma=_sigma(view),
        ecce=Estimate(name="ECCE", value=float(np.abs(whole.path).max())),
        ecce_range=Estimate(name="ECCE, range", value=float(np.ptp(whole.path))),
        worst=_worst(whole, view, start, stop) if stop > start else None,
        n_samples=view.n_rows,
        n_distinct=len(whole.scores),
        view=name,
    )


def _sigma(view: Predictions) -> float:
    weights = view.weights / view.weights.max()
    return float(np.sqrt(np.sum(view.squares(weights) * view.probs.prod(axis=1))) / weights.sum())


def _worst(whole: RunningSum, view: Predictions, start: int, stop: int) -> NetError:
    rows = view.take((whole.group >= start) & (whole.group < stop))
    weights = rows.weights / rows.weights.max()
    return NetError(
        start=float(whole.share[start]),
        stop=float(whole.share[stop]),
        lower=float(whole.scores[start]),
        upper=float(whole.scores[stop - 1]),
        count=rows.n_rows,
        predicted=float(np.average(rows.positive, weights=weights)),
        observed=float(np.average(rows.labels, weights=weights)),
        net=float(whole.path[stop] - whole.path[start]),
    )


def _selection(share: FloatArray, path: FloatArray) -> IntArray:
    """Return the points to keep: the first, lowest, highest and last of every stretch; all, if they are few."""
    if len(path) <= 4 * STRETCHES + 1:
        return np.arange(len(path))
    stretch = np.minimum((share * STRETCHES).astype(np.int64), STRETCHES - 1)
    first = starts_of_ties(stretch)
    last = np.append(first[1:], len(path)) - 1
    by_height = np.lexsort((path, stretch))  # By stretch, then by height.
    return np.unique(np.concatenate([first, by_height[first], by_height[last], last]))
