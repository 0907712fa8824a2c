"""The test of cumulative differences, without bins or bandwidth, and with a null law in closed form."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant._core.laws import normal_tail
from calibrant.binning.ties import Ties, comparable
from calibrant.hypotest.calibration_test import (
    DRAWN_IF_FEW,
    LEAST_EVENTS,
    BinaryTest,
    Finding,
    refuse_certainty,
    root_sum_of_squares,
)
from calibrant.hypotest.events import effective_events, label_variances
from calibrant.metrics.ecce import ECCE, reach
from calibrant.predictions import Predictions
from calibrant.results import Description

CROSSOVER = 1.5
"""Below this many standard deviations the series of the distribution converges faster, above it that of the tail."""

NEVER_BELOW = 0.1
"""A Brownian motion on [0, 1] stays within this of 0 with a probability below 1e-50."""

N_TERMS = 8
"""At the crossover the eighth term of every series is below 1e-16 of the first."""


@dataclass(frozen=True)
class ECCETest(BinaryTest):
    r"""Empirical cumulative calibration error: the running sum of outcomes minus predictions.

    Parameters
    ----------
    statistic : {"mad", "range"}, default="mad"
        How far the running sum goes, as in `ECCE`: its largest absolute value (Kolmogorov and Smirnov), or its largest
        value minus its smallest (Kuiper).

    Notes
    -----
    The estimate is that of `ECCE`, from the running sum :math:`C_k`, and the statistic is the estimate divided by

    .. math:: \sigma = \sqrt{\textstyle\sum_j w_j^2 p_j (1 - p_j)} \Big/ \textstyle\sum_j w_j,

    the standard deviation of the last :math:`C_k` under calibration. In large samples of calibrated predictions the
    path is a Brownian motion, so that the statistic exceeds :math:`x` with probability

    .. math:: 4 \sum_{k \ge 0} (-1)^k \Phi(-(2k + 1) x) \quad\text{or}\quad 8 \sum_{k \ge 1} (-1)^{k-1} k \Phi(-kx),

    where :math:`\Phi` is the normal distribution function; for small :math:`x` one minus the dual series is used,

    .. math:: 1 - \frac4\pi \sum_{k \ge 0} \frac{(-1)^k}{2k + 1} e^{-(2k + 1)^2 \pi^2 / (8 x^2)} \quad\text{or}\quad
        1 - \sum_{k \ge 0} \Big(\frac8{x^2} + \frac2{r_k}\Big) e^{-2 r_k / x^2}, \; r_k = (k + \tfrac12)^2 \pi^2.

    The path moves in steps, so it reaches less far than the motion: the test rejects a little too rarely, the more so
    the fewer distinct predictions there are. Each row counts as one independent draw, regardless of its weight. With
    fewer than 20 effective events (see `calibrant.hypotest.events`, with the weights as factors) the steps are not
    small, and the law of the statistic is simulated by redrawing the labels.

    The details hold ``sigma`` and ``direction``: whether predictions are "too low" or "too high" where the error is.
    For "mad", ``place`` is the prediction at which the sum is largest: the error is that of all predictions up to it.
    For "range", ``interval`` is the interval of predictions with the largest net error, with its number of rows and
    the weighted means of prediction and outcome in it. They are None if the sum never leaves 0.

    References
    ----------
    I. Arrieta-Ibarra, P. Gujral, J. Tannen, M. Tygert, C. Xu, "Metrics of calibration for probabilistic predictions",
    JMLR 23 (2022); W. Feller, "The asymptotic distribution of the range of sums of independent random variables",
    Annals of Mathematical Statistics 22 (1951).

    Examples
    --------
    >>> p = Predictions([0.2, 0.4, 0.6, 0.8], labels=[0, 0, 0, 1])  # 4 C = 0, -0.2, -0.6, -1.2, -1.0
    >>> result = ECCETest("range")(p)
    >>> round(result.estimate, 4), result.details["interval"], result.details["direction"]
    (0.3, [0.2, 0.6], 'too high')
    """

    label = "Cumulative (ECCE)"
    meaning = "Net miscalibration of all predictions up to some value; needs no bins."
    caution = DRAWN_IF_FEW
    principal = True
    statistic: Literal["mad", "range"] = "mad"

    def about(self) -> Description:
        """Return the description that readers see."""
        if self.statistic == "mad":
            return super().about()
        meaning = "Net miscalibration over any interval of predictions; needs no bins."
        return replace(super().about(), label="Cumulative, range", meaning=meaning, principal=False)

    def __post_init__(self) -> None:
        ECCE(self.statistic)  # Refuses any other.

    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Compare how far the running sum goes with Brownian motion."""
        refuse_certainty(view)
        ties, total = Ties.of_view(view), float(weights.sum())
        path = np.zeros(1 + len(ties.starts))
        (ties.sums(weights * (view.labels - view.positive)) / total).cumsum(out=path[1:])
        sigma = root_sum_of_squares(weights * np.sqrt(label_variances(view))) / total
        start, end = self._ends(path)
        net = float(path[end] - path[start])
        details: dict[str, object] = {
            "sigma": sigma,
            "direction": "too low" if net > 0 else "too high" if net < 0 else "none",
        }
        if self.statistic == "mad":
            details["place"] = comparable(view.positive[ties.rows(end - 1, end)[:1]]).item() if end else None
        else:
            details |= _interval(view.take(ties.rows(start, end)) if end > start else None)
        tail = maximum_tail if self.statistic == "mad" else range_tail
        return Finding(abs(net) / sigma, tail(abs(net) / sigma), abs(net), details)

    def redrawn(self, view: Predictions, weights: FloatArray) -> Evaluator | None:
        """Return a function that computes the statistics of redrawn labels, if there are few effective events."""
        if effective_events(view, weights) >= LEAST_EVENTS:
            return None
        ties = Ties.of_view(view)
        factors = weights[:, None] / root_sum_of_squares(weights * np.sqrt(label_variances(view)))
        expected = ties.sums(factors * view.probs[:, 1:])

        def evaluate(labels: IntArray) -> FloatArray:
            return reach(np.cumsum(ties.sums(factors * labels) - expected, axis=0), self.statistic)

        return evaluate

    def _ends(self, path: FloatArray) -> tuple[int, int]:
        """Return the start and the end of the stretch of the path with the largest net change."""
        if self.statistic == "mad":
            return 0, int(np.abs(path).argmax())
        low, high = int(path.argmin()), int(path.argmax())
        return min(low, high), max(low, high)


def _interval(rows: Predictions | None) -> dict[str, object]:
    """Describe the rows whose predictions lie in the interval, in ascending order."""
    names = ("interval", "interval_rows", "interval_predicted", "interval_observed")
    if rows is None:
        return dict.fromkeys(names)
    share = rows.weights / rows.weights.sum()
    predicted, observed = (float(share @ values) for values in (rows.positive, rows.labels))
    ends = comparable(rows.positive[[0, -1]]).tolist()
    return dict(zip(names, (ends, rows.n_samples, predicted, observed), strict=True))


def maximum_tail(x: float) -> float:
    """Return the probability that the largest absolute value of a Brownian motion on [0, 1] exceeds x."""
    if x < NEVER_BELOW:
        return 1.0
    signed = [(-1) ** k * (2 * k + 1) for k in range(N_TERMS)]
    if x < CROSSOVER:
        return 1 - 4 / math.pi * sum(math.exp(-((odd * math.pi / x) ** 2) / 8) / odd for odd in signed)
    return 4 * sum(math.copysign(normal_tail(abs(odd) * x), odd) for odd in signed)


def range_tail(x: float) -> float:
    """Return the probability that the range of a Brownian motion on [0, 1] exceeds x."""
    if x < NEVER_BELOW:
        return 1.0
    if x < CROSSOVER:
        rates = [((2 * k + 1) * math.pi) ** 2 / 2 for k in range(N_TERMS)]
        return 1 - sum((8 / x**2 + 4 / rate) * math.exp(-rate / x**2) for rate in rates)
    return 8 * sum((-1) ** (k - 1) * k * normal_tail(k * x) for k in range(1, N_TERMS + 1))
