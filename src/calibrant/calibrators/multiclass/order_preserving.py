"""Maps that keep the order of the classes in every row."""

from dataclasses import dataclass
from functools import reduce
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_count, check_not_negative, check_option
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import each_block, log_softmax
from calibrant._core.newton import Curve, Minimum
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import WarmStartCalibrator
from calibrant.calibrators.fitting.inverse_temperature import never_wrong
from calibrant.calibrators.fitting.log_odds import finite
from calibrant.calibrators.fitting.newton import diagnostics, minimise_nonnegative
from calibrant.calibrators.fitting.segments import (
    Segments,
    SlopesLikelihood,
    line_knots,
    rank_knots,
    rank_roughness,
    rank_segments,
    roughness,
)
from calibrant.calibrators.inputs import LARGEST_LOGIT, RAW_LOGITS
from calibrant.calibrators.multiclass.temperature import TemperatureScaling
from calibrant.calibrators.rules import TEMPERATURE, Rule, vector
from calibrant.exceptions import InputError

SMALLEST_SLOPE = 1e-3
"""Slopes are at least this multiple of the inverse temperature, which keeps the map strictly increasing."""

_FLOOR = -1e9
"""Replaces -inf while exported operations take differences; afterwards -inf is restored."""


def _segments(family: object, knots: object, slopes: object) -> bool:
    n_segments = len(vector(knots)) - 1
    return n_segments > 0 and len(vector(slopes)) == (2 * n_segments if family == "oi" else n_segments)


def _knots(family: object, segments: int, knots: FloatArray, scores: object) -> bool:
    """Return whether at most `segments` + 1 knots go from rank 0 to the last, or from the top to minus infinity."""
    raw_top = scores == RAW_LOGITS and family == "diag" and abs(knots[0]) <= LARGEST_LOGIT
    if not (raw_top or knots[0] == 0) or len(vector(knots)) - 1 > segments:
        return False
    if family == "oi":
        return bool(np.isfinite(knots).all() and np.array_equal(knots, np.round(knots)) and np.all(np.diff(knots) > 0))
    return family == "diag" and bool(knots[-1] == -np.inf and np.all(knots[1:] < knots[:-1]))


@dataclass(eq=False, repr=False)
class OrderPreserving(WarmStartCalibrator):
    r"""Apply a strictly increasing, piecewise linear map to the log-probabilities of a row, and take the softmax.

    Parameters
    ----------
    family : {"diag", "oi"}, default="diag"
        "diag": one map for all rows. "oi": a map that depends on the sorted log-probabilities of the row.
    segments : int, default=8
        Largest number of linear segments.
    smoothness : float, default=10.0
        Factor of the penalty for differences of slopes. If it is large, the map is temperature scaling.
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    knots_ : ndarray of shape (g + 1,)
        Where segments meet, from the top: log-probabilities, from 0 to minus infinity, or ranks, from 0 to K - 1. For
        raw logits the first knot is the largest fitted logit; above it the first segment continues. There are fewer
        than `segments` segments if the data has fewer distinct numbers or ranks.
    slopes_ : ndarray of shape (g,) or (2 g,)
        Slopes of the segments, from the top; for "oi" first those at confidence 0, then those at confidence 1.
    temperature_ : float
        The temperature of temperature scaling, where the search starts.
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the objective with respect to a slope, as a multiple of the inverse temperature, other
        than those at an active bound.
    n_iter_ : int

    Notes
    -----
    With canonical logits :math:`z = \ln p`, which do not depend on a number added to all logits, the new logit of
    class k is

    .. math:: f(z_k) = -\sum_{m=1}^g s_m \big(t_{m-1} - \min(t_{m-1}, \max(t_m, z_k))\big),

    which is continuous in :math:`z_k`, with slope :math:`s_m > 0` between the knots :math:`t_m < t_{m-1}`.

    - "diag": :math:`0 = t_0 > \dots > t_g = -\infty` are the same for all rows. They are quantiles of all n K canonical
      logits, each weighted by :math:`q (1 - q)`, where q is its probability after temperature scaling, so every segment
      has the same share of the curvature of the likelihood. The slopes are the same for all rows.
    - "oi": :math:`t_m = z_{(r_m)}` is the logit of rank :math:`r_m` in the row, with ranks that are adjacent at the top
      and increasingly far apart below. So the gaps between successive classes of a row are multiplied by positive
      weights. These depend on the confidence :math:`c = \max_k p_k` of the row: :math:`s_m = (1 - c) a_m + c b_m`. With
      at least K - 1 segments, each gap has its own weight.

    With `scores="raw-logits"`, which only "diag" accepts, z are the unnormalised logits, and the map is
    :math:`\mathrm{softmax}(f(z))` with one f for all rows. A row of large logits can then be on other segments than a
    row of small logits with the same probabilities.

    If every label was the most probable class, the likelihood has no maximum, and the map is `TemperatureScaling`.

    In both families the negative log-likelihood is a convex function of the slopes. They minimise its mean plus
    :math:`\lambda / n` times the sum of the squared differences of neighbouring slopes, as multiples of the inverse
    temperature; for "oi" of neighbouring :math:`a_m`, of neighbouring :math:`b_m`, and of :math:`a_m` and :math:`b_m`.
    Here n is the sum of the weights, so a row of weight w counts as w rows. With few rows the map is close to
    temperature scaling; it is never worse than that on the rows of the fit. No slope may be below 1/1000 of the
    inverse temperature. The minimum is found by Newton's method with exact bounds.

    The order of the classes in every row is kept, and so are ties. Probabilities that differ in single precision stay
    different. Those that differ only in the last digits of double precision can become equal, but cannot change order;
    the most probable class stays the same even then. In fitting, a probability 0 counts as the smallest normal number;
    a fitted map leaves it 0.

    References
    ----------
    A. Rahimi, A. Shaban, C.-A. Cheng, R. Hartley, B. Boots, "Intra order-preserving functions for calibration of
    multi-class neural networks", NeurIPS 2020. They learn g and the weights of the gaps with neural networks.

    Examples
    --------
    >>> probs = np.repeat([[0.9, 0.06, 0.04], [0.5, 0.3, 0.2]], 100, axis=0)
    >>> labels = np.repeat([0, 1, 2, 0, 1, 2], [70, 16, 14, 50, 30, 20])
    >>> fitted = OrderPreserving("oi").fit(probs, labels)
    >>> fitted.predict_proba([[0.06, 0.9, 0.04]]).round(2).tolist()
    [[0.16, 0.72, 0.12]]
    """

    family: Literal["diag", "oi"] = "diag"
    segments: int = 8
    smoothness: float = 10.0
    max_iter: int = 100
    scores: Literal["probs", "logits", "raw-logits"] = "probs"

    kind = "parametric"
    preserves_argmax = True
    data_efficiency = "high"
    expressiveness = "medium"
    use_when = "No ranking may change, a temperature is not enough, and there are a thousand rows or more."
    accepts_raw_logits = True
    sensitive_to_zeros = True
    rules = (
        TEMPERATURE,
        Rule(("slopes_",), lambda s: vector(s).min() > 0 and s.max() < np.inf, "must be positive"),
        Rule(("family", "knots_", "slopes_"), _segments, "must be segments that meet at the knots"),
        Rule(("family", "segments", "knots_", "scores"), _knots, "must be knots from the top of a row to its bottom"),
    )

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # depends on the settings
        """The largest possible number of slopes."""
        return f"2 min({self.segments}, K - 1)" if self.family == "oi" else str(self.segments)

    def _search(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray, near: Self | None) -> None:
        """Learn the map; the search starts at the slopes of `near`, or at temperature scaling."""
        check_option(self.family, "family", "diag", "oi")
        check_count(self.segments, "segments")
        check_count(self.max_iter, "max_iter")
        check_not_negative(self.smoothness, "smoothness")
        scores = finite(log_probs)
        canonical = log_softmax(scores) if self.scores == RAW_LOGITS else log_probs
        tempered = TemperatureScaling()
        if near is None:
            tempered.learn(canonical, labels, weights)
        else:
            tempered.temperature_ = near.temperature_
            tempered.learn_again(canonical, labels, weights)
        self.temperature_: float = tempered.temperature_
        self.knots_, rough = self._choose_knots(scores, weights)
        penalty = self.smoothness / float(weights.sum()) * rough
        unit = 1.0 / self.temperature_
        objective = SlopesLikelihood(self._segments(scores), labels, weights, unit=unit, penalty=penalty)

        def above_smallest(x: FloatArray) -> Curve:
            return objective(x + SMALLEST_SLOPE)

        start = np.full(len(penalty), 1.0 - SMALLEST_SLOPE)
        # Slopes that belong to a very different temperature would be a bad starting point.
        if near is not None and len(near.slopes_) == len(start) and 0.5 < near.temperature_ * unit < 2.0:
            start = np.maximum(near.slopes_ / unit - SMALLEST_SLOPE, 0.0)
        if never_wrong(
            scores, labels
        ):  # The likelihood has no maximum: keep the temperature, which has a rule for that.
            value, gradient, _ = above_smallest(start)
            found = Minimum(start, value, gradient, True, 0)
        else:
            found = minimise_nonnegative(above_smallest, start, max_iter=self.max_iter)
        self.slopes_: FloatArray = unit * (found.x + SMALLEST_SLOPE)
        self.converged_, self.gradient_norm_, self.n_iter_ = diagnostics(found, "OrderPreserving")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        segments, logits = self._segments(finite(log_probs)), np.empty(log_probs.shape)
        slopes = self.slopes_.reshape(-1, len(self.knots_) - 1)

        def task(rows: slice) -> None:
            logits[rows] = segments.logits(slopes, rows)

        each_block(task, log_probs.shape)
        logits[np.isneginf(log_probs)] = -np.inf
        return logits

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        floored = x.at_least(_FLOOR)
        g = len(self.knots_) - 1
        slopes = self.slopes_.reshape(-1, g)
        knots: list[float | ops.Value] = self.knots_.tolist()
        own: list[float | ops.Value] = slopes[0].tolist()
        if self.family == "oi":
            ascending = floored.along(floored.argsort())
            of_ranks = [ascending.columns([k - 1 - int(rank)]) for rank in self.knots_]
            confidence = of_ranks[0].exp()
            knots = [*of_ranks]
            own = [confidence * (slopes[1, m] - slopes[0, m]) + slopes[0, m] for m in range(g)]
        # Only raw logits can lie above the first knot; for them the first segment continues.
        tops = [np.inf, *knots[1:]] if self.scores == RAW_LOGITS else knots
        falls = [(-floored.clip(knots[m + 1], tops[m]) + knots[m]) * own[m] for m in range(g)]
        return x.equals(-np.inf).choose(-np.inf, -reduce(ops.Value.__add__, falls))

    def _choose_knots(self, scores: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the knots and the matrix of the penalty."""
        if self.family == "oi":
            ranks = rank_knots(scores.shape[1], self.segments)
            return ranks.astype(np.float64), rank_roughness(len(ranks) - 1)
        top = float(scores.max()) if self.scores == RAW_LOGITS else 0.0
        knots = line_knots(scores, weights, self.segments, self.temperature_, top)
        return knots, roughness(len(knots) - 1)

    def _segments(self, scores: FloatArray) -> Segments:
        if self.family == "oi":
            return rank_segments(scores, self.knots_.astype(np.int64))
        knots = self.knots_[:, None, None]
        if self.scores == RAW_LOGITS and scores.max() > self.knots_[0]:  # Extend the first segment of such rows.
            knots = np.repeat(knots, len(scores), axis=1)
            knots[0, :, 0] = np.maximum(knots[0, :, 0], scores.max(axis=1))
        return Segments(scores, knots, np.ones((1, 1)))

    def check_raw_logits(self) -> None:
        """Refuse raw logits for the family "oi", which does not depend on their offsets."""
        if self.family == "oi":
            raise InputError(
                'OrderPreserving with family="oi" uses only the differences between the logits of a row, so a '
                'number added to all of them does not matter: build it with scores="logits". The family "diag" '
                "accepts raw logits."
            )
