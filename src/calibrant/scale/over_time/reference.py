"""Drift against a reference period, whose line of log-odds is only estimated."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from calibrant._border.types import FloatArray
from calibrant._core.newton import Curve, descend
from calibrant._core.roots import root
from calibrant.scale.over_time.cells import Cells
from calibrant.scale.over_time.evidence import log_sum, posterior
from calibrant.scale.over_time.lines import Line, log_likelihood

MAX_ITERATIONS = 50

CLOSE = 1e-6
"""Largest distance, in nats, of the returned lower bound from the infimum of the evidence."""


@dataclass(frozen=True, eq=False)
class Ellipse:
    r"""All lines that the reference period does not contradict at a level.

    Notes
    -----
    With the most likely line :math:`\hat\theta` and the inverse information :math:`\Sigma = L L^\top`, it is
    :math:`\{\hat\theta + r L v : |v| \le 1\}`, where :math:`r^2 = -2 \log(1 - \text{level})` is the quantile of
    chi-squared with two degrees of freedom.
    """

    line: Line
    level: float

    def lines(self, points: FloatArray) -> FloatArray:
        """Return intercepts and slopes, (n, 2), at points of the unit disc."""
        axes = np.sqrt(-2 * np.log(1 - self.level)) * np.linalg.cholesky(self.line.covariance)
        found: FloatArray = np.array([self.line.intercept, self.line.slope]) + points @ axes.T
        return found


class Safe(NamedTuple):
    """After every day, the logarithm of the least evidence against any line, and the line it is against."""

    log_e: FloatArray
    lines: FloatArray


def safe_evidence(days: list[Cells], log_likelihoods: FloatArray, stakes: FloatArray, ellipse: Ellipse) -> Safe:
    r"""Return after every day the least evidence against any line of the ellipse.

    Notes
    -----
    For a line :math:`\theta`, :math:`E_t(\theta) = \sum_{s \le t} g_s \frac1K \sum_k \prod_{u=s}^t q_{ku} / p_{\theta
    u} + 1 - \sum_{s \le t} g_s`. The log-likelihood of a line is concave in :math:`\theta`, hence :math:`\log E_t` is
    convex, and its minimum over the ellipse is found by Newton's method on the disc. What is returned is the value
    found less what convexity says can be missing.
    """
    intercepts, slopes = ellipse.lines(NODES).T[:, :, None]
    surfaces = np.array([log_likelihood(intercepts + slopes * day.log_odds, day) for day in days])
    under_lines, under_alternatives = _before(coefficients(surfaces)), _before(log_likelihoods)
    with np.errstate(divide="ignore"):
        log_stakes, idle = np.log(stakes), np.log(np.maximum(1 - np.cumsum(stakes), 0.0))
    found, at = np.empty(len(days)), np.zeros((len(days) + 1, 2))
    for day in range(len(days)):
        gains = under_alternatives[day + 1] - under_alternatives[: day + 1]
        starts = log_sum(gains) - np.log(gains.shape[1]) + log_stakes[: day + 1]
        look = Look(under_lines[day + 1] - under_lines[: day + 1], starts, float(idle[day]))
        at[day + 1], found[day] = _minimum(look, at[day])
    return Safe(found, ellipse.lines(at[1:]))


def _before(values: FloatArray) -> FloatArray:
    """Return the sums over the days before each day, and over all."""
    return np.vstack([np.zeros(values.shape[1:]), np.cumsum(values, axis=0)])


@dataclass(frozen=True, eq=False)
class Look:
    """What has been seen until one day, as a function on the disc."""

    surfaces: FloatArray  # Log-likelihood of the lines, on the rows from each day on, (n_days, n_coefficients).
    starts: FloatArray  # Log-likelihood of the alternatives on the same rows, with the stake, (n_days,).
    idle: float  # Logarithm of what is not staked yet.

    def __call__(self, v: FloatArray) -> Curve:
        """Return the log-evidence against the line at v, with its derivatives."""
        value, d1, d2, d11, d12, d22 = (self.surfaces @ bases(v)).T
        logs = np.append(self.starts - value, self.idle)
        share = posterior(logs)[:-1]
        slope, curvature = np.stack([d1, d2], axis=1), np.stack([d11, d12, d12, d22])
        gradient = -share @ slope
        total = (slope.T * share) @ slope - np.outer(gradient, gradient) - (curvature @ share).reshape(2, 2)
        return float(log_sum(logs)), gradient, total


def _minimum(look: Look, v: FloatArray) -> tuple[FloatArray, float]:
    """Return where the function is least on the disc, and a bound of it from below."""
    # Not by SciPy: its constrained methods miss the precision. SLSQP stops at up to 1e-5 of the infimum, trust-constr
    # at 4e-3, and often without a minimum; both take several times as long.
    found = descend(
        look,
        lambda x, here: _towards(x, here) - x,
        v,
        last=0.0,
        max_iter=MAX_ITERATIONS,
        close=lambda x, here: _missing(x, here[1]) < CLOSE,
    )
    return found.x, found.value - _missing(found.x, found.gradient)


def _missing(v: FloatArray, gradient: FloatArray) -> float:
    """Return how much lower a convex function with this gradient at v can be anywhere on the disc."""
    return max(0.0, float(gradient @ v + np.linalg.norm(gradient)))


def _towards(v: FloatArray, here: Curve) -> FloatArray:
    """Return the minimum on the disc of the quadratic function with these derivatives at v."""
    _, gradient, curvature = here
    scales, axes = np.linalg.eigh(curvature)
    scales = np.maximum(scales, 1e-12)
    pull = axes.T @ (curvature @ v - gradient)

    def excess(more: float) -> float:
        return float(np.linalg.norm(pull / (scales + more))) - 1

    # At its own length, a pull divided by any positive scales is inside.
    more = 0.0 if excess(0.0) <= 0 else root(excess, 0.0, float(np.linalg.norm(pull)))
    found = axes @ (pull / (scales + more))
    return found / max(1.0, float(np.linalg.norm(found)))


DEGREE = 12
"""Degree that is exact to 1e-10 per row, if fitted log-odds change by at most 1: log-likelihoods are analytic."""

_POINTS = chebyshev.chebpts1(DEGREE + 1)
_INVERSE = np.linalg.inv(chebyshev.chebvander(_POINTS, DEGREE))
_FIRST, _SECOND = (chebyshev.chebder(np.eye(DEGREE + 1), order, axis=0) for order in (1, 2))

NODES = np.stack(np.meshgrid(_POINTS, _POINTS, indexing="ij"), axis=-1).reshape(-1, 2)
"""Points at which a function must be known."""


def coefficients(values: FloatArray) -> FloatArray:
    """Return the coefficients of functions, one per row, whose values at the nodes are given."""
    grid = values.reshape(-1, DEGREE + 1, DEGREE + 1)
    return (_INVERSE @ grid @ _INVERSE.T).reshape(len(values), -1)


def bases(v: FloatArray) -> FloatArray:
    """Return the columns that turn coefficients into value, both first and the second derivatives (11, 12, 22) at v.

    Examples
    --------
    >>> saddle = coefficients((NODES[:, 0] * NODES[:, 1])[None])
    >>> abs(saddle @ bases(np.array([0.5, -0.25]))).round(9).tolist()  # xy, y, x, 0, 1, 0, without signs
    [[0.125, 0.25, 0.5, 0.0, 1.0, 0.0]]
    """
    (x0, x1, x2), (y0, y1, y2) = _powers(v[0]), _powers(v[1])
    pairs = ((x0, y0), (x1, y0), (x0, y1), (x2, y0), (x1, y1), (x0, y2))
    return np.stack([np.outer(x, y).ravel() for x, y in pairs], axis=1)


def _powers(x: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the Chebyshev polynomials at x, and their first and second derivatives."""
    values = chebyshev.chebvander(x, DEGREE)[0]
    first = values[:-1] @ _FIRST
    return values, first, values[:-2] @ _SECOND
