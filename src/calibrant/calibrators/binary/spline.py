"""Spline calibration: a smooth function of the log-odds."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_count, check_positive
from calibrant._border.types import BoolArray, FloatArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.isotonic import pooled_ties
from calibrant.calibrators.binary.platt import LogisticCalibrator
from calibrant.calibrators.fitting.log_odds import bounded, bounded_operations
from calibrant.calibrators.fitting.logistic import LogisticFit, fit_logistic
from calibrant.calibrators.rules import CURVE, Rule, is_curve
from calibrant.exceptions import InputError

N_CELLS = 400
"""Largest number of cells of neighbouring scores on which the smoothing is chosen."""

LOG_SMOOTHING = (-7.0, 21.0)
"""Search range of the logarithm of the smoothing; the upper end gives almost a straight line."""

CLOSEST = 1e-6
"""Knots are further apart than this: the roughness of a curve through closer ones is lost in rounding."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Ascending scores with the weight of class 1 and of both classes at each."""

    scores: FloatArray
    positives: FloatArray
    totals: FloatArray

    def gathered(self, measure: FloatArray) -> "Rows":
        """Merge neighbours into cells of about the same measure, each at its mean score."""
        if len(self.scores) <= N_CELLS:
            return self
        reached = np.cumsum(measure)
        cell = np.searchsorted(reached[-1] * np.arange(1, N_CELLS) / N_CELLS, reached - measure / 2)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        totals = np.add.reduceat(self.totals, first)
        middle = np.add.reduceat(self.totals * self.scores, first) / totals
        return Rows(middle, np.add.reduceat(self.positives, first), totals)

    def with_prior(self, knots: FloatArray, weight: float) -> "Rows":
        """Add pseudo-rows at the knots, whose class frequencies are those that the scores predict."""
        from scipy.special import expit

        pseudo = np.full(len(knots), weight / len(knots))
        return Rows(
            np.append(self.scores, knots),
            np.append(self.positives, pseudo * expit(knots)),
            np.append(self.totals, pseudo),
        )


class Basis:
    """A basis of the natural cubic splines with ascending knots: a straight line, plus curves of unit roughness.

    A single knot is replaced by one on either side, so that both classes are treated alike; there are then only
    straight lines.
    """

    def __init__(self, knots: FloatArray) -> None:
        self.knots = knots if len(knots) > 1 else knots + np.array([-1.0, 1.0])
        roughness, vectors = np.linalg.eigh(_roughness(self.knots))
        # The first two eigenvectors span the straight lines, which have no roughness.
        self._curves = vectors[:, 2:] / np.sqrt(roughness[2:])

    def features(self, rows: Rows) -> FloatArray:
        """Return the scores, and the curves at the scores."""
        return np.column_stack([rows.scores, natural_spline(self.knots, self._curves, rows.scores)])

    def at_knots(self, fitted: LogisticFit) -> FloatArray:
        """Return the values of the curve at the knots, which determine it."""
        return fitted.intercept + fitted.coef[0] * self.knots + self._curves @ fitted.coef[1:]

    def lowest_slope(self, fitted: LogisticFit) -> float:
        """Return the smallest derivative of the curve."""
        from scipy.interpolate import CubicSpline

        cubic, square, slope = CubicSpline(self.knots, self.at_knots(fitted), bc_type="natural").c[:3]
        widths = np.diff(self.knots)
        with np.errstate(divide="ignore", invalid="ignore"):
            turn = np.nan_to_num(-square / (3 * cubic)).clip(0.0, widths)
        places = np.array([np.zeros(len(widths)), turn, widths])
        return float((3 * cubic * places**2 + 2 * square * places + slope).min())

    def choose_smoothing(self, rows: Rows) -> float:
        """Return the smoothing that maximises Laplace's approximation of the restricted likelihood."""
        from scipy.optimize import minimize_scalar

        if self._curves.shape[1] == 0:
            return float(np.exp(LOG_SMOOTHING[1]))

        features = self.features(rows)
        fitted: LogisticFit | None = None

        def criterion(log_smoothing: float) -> float:
            nonlocal fitted
            smoothing = float(np.exp(log_smoothing))
            fitted = fit_curve(features, rows, smoothing, fitted)
            rough = fitted.coef[1:]
            cost = rows.totals.sum() * fitted.loss + smoothing * float(rough @ rough) / 2
            return cost + (fitted.log_det - len(rough) * log_smoothing) / 2

        found = minimize_scalar(criterion, bounds=LOG_SMOOTHING, method="bounded", options={"xatol": 0.1})
        return float(np.exp(found.x))


def fit_curve(features: FloatArray, rows: Rows, smoothing: float, start: LogisticFit | None = None) -> LogisticFit:
    """Fit the curve with a weight of its roughness; an infinite weight leaves a constant."""
    prior = np.zeros(features.shape[1] + 1)
    if np.isinf(smoothing):
        return fit_logistic(features * 0.0, rows.positives / rows.totals, rows.totals, prior)
    prior[1] = 1.0
    penalty = np.full(features.shape[1], smoothing / rows.totals.sum())
    penalty[0] = 0.0
    return fit_logistic(features, rows.positives / rows.totals, rows.totals, prior, penalty=penalty, start=start)


def quantile_knots(scores: FloatArray, measure: FloatArray, n_knots: int) -> FloatArray:
    """Return at most `n_knots` distinct scores that divide the measure evenly."""
    reached = np.cumsum(measure)
    levels = (np.arange(n_knots) + 0.5) / n_knots
    knots = np.unique(scores[np.searchsorted(reached, levels * reached[-1]).clip(max=len(scores) - 1)])
    return knots[np.diff(knots, prepend=-np.inf) > CLOSEST]


def natural_spline(knots: FloatArray, values: FloatArray, scores: FloatArray) -> FloatArray:
    """Evaluate the natural cubic spline through values at the knots, which is linear outside them."""
    from scipy.interpolate import CubicSpline

    curve = CubicSpline(knots, values, bc_type="natural")
    inside = scores.clip(knots[0], knots[-1])
    result = curve(inside)
    outside = np.flatnonzero(scores != inside)
    beyond = scores[outside] - inside[outside]
    slopes = curve(inside[outside], 1)
    result[outside] += (slopes.T * beyond).T
    return result


def _roughness(knots: FloatArray) -> FloatArray:
    """Return the matrix R for which v R v is the integral of f''(s)^2, where v are the values of f at the knots."""
    from scipy.interpolate import CubicSpline

    bends = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")(knots, 2)
    widths = np.diff(knots)[:, None]
    left, right = bends[:-1], bends[1:]
    # Second derivatives are linear between knots, so Simpson's rule is exact.
    middle = (left + right) / 2
    return sum(share * side.T @ (widths * side) for share, side in ((1 / 6, left), (4 / 6, middle), (1 / 6, right)))


@dataclass(eq=False, repr=False)
class SplineCalibration(LogisticCalibrator):
    r"""A natural cubic spline from log-odds to calibrated log-odds, with smoothing chosen by the data.

    Parameters
    ----------
    n_knots : int, default=12
        Largest number of knots. They are quantiles of the log-odds, with each row weighted by its weight times
        :math:`\sqrt{p (1 - p)}`, so that they are not all among confident rows.
    smoothing : float or "reml", default="reml"
        Weight :math:`\lambda` of the roughness, or "reml" to choose it by restricted maximum likelihood.
    prior_weight : float, default=4
        Number of pseudo-rows, divided equally among the knots, for which the given log-odds are calibrated.
    monotone : bool, default=True
        Whether to raise the smoothing until the curve decreases nowhere. If even the straight line decreases, because
        the scores rank worse than chance, the curve is constant.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    knots_, values_ : ndarray of shape (k,)
        Log-odds, and their calibrated log-odds. The curve is linear outside the first and last knot.
    smoothing_ : float
        The weight of the roughness that was used.
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the mean loss at the solution, for standardised features.

    Notes
    -----
    The curve f minimises

    .. math:: \sum_i w_i \ell(y_i, f(s_i)) + \frac{\lambda}{2} \int f''(s)^2 ds,

    where :math:`\ell` is the log-loss and the rows include the pseudo-rows. Straight lines have no penalty: strong
    smoothing gives `PlattScaling`, slightly shrunk towards the identity by the pseudo-rows. These also keep the fit
    finite on degenerate data: scores that are all equal, separable, or of one class.

    The smoothing maximises Laplace's approximation of the restricted likelihood on cells of neighbouring scores; the
    curve is then fitted to all rows. Knots are not drawn at random, so the same data gives the same curve.

    References
    ----------
    B. Lucena, "Spline-based probability calibration", arXiv:1809.07751 (2018).
    S. N. Wood, "Fast stable restricted maximum likelihood and marginal likelihood estimation of semiparametric
    generalized linear models", JRSS B 73 (2011).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(2000)
    >>> spline = SplineCalibration().fit(probs, rng.random(2000) < probs**2)
    >>> spline.predict_proba([0.3, 0.7])[:, 1].round(1).tolist()
    [0.1, 0.5]
    """

    n_knots: int = 12
    smoothing: float | Literal["reml"] = "reml"
    prior_weight: float = 4.0
    monotone: bool = True
    scores: Literal["probs", "logits"] = "probs"

    n_parameters = "number of knots"
    data_efficiency = "medium"
    expressiveness = "high"
    use_when = "There are a thousand rows or more and the map should be smooth."
    rules = (Rule(("knots_", "values_"), is_curve, CURVE),)

    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn the curve."""
        self._check()
        values, positives, totals = pooled_ties(bounded(scores), hits, weights)
        measure = totals / (2 * np.cosh(np.abs(values) / 2))
        basis = Basis(quantile_knots(values, measure, self.n_knots))
        rows = Rows(values, positives, totals)
        smoothing = self.smoothing
        if smoothing == "reml":
            cells = rows.gathered(measure).with_prior(basis.knots, self.prior_weight)
            smoothing = basis.choose_smoothing(cells)
        self._settle(basis, rows.with_prior(basis.knots, self.prior_weight), float(smoothing))
        return self

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1."""
        return natural_spline(self.knots_, self.values_, bounded(scores))

    def _line_operations(self, x: ops.Value) -> ops.Value:
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(self.knots_, self.values_, bc_type="natural")
        first, last = float(self.knots_[0]), float(self.knots_[-1])
        x = bounded_operations(x)
        inside = x.clip(first, last)
        j = inside.search(self.knots_[1:-1], "right")
        step = inside - j.look_up(self.knots_[:-1])
        result = j.look_up(curve.c[0])
        for coefficients in curve.c[1:]:
            result = result * step + j.look_up(coefficients)
        slope = (x < first).choose(float(curve(first, 1)), float(curve(last, 1)))
        return result + slope * (x - inside)

    def _settle(self, basis: Basis, rows: Rows, smoothing: float) -> None:
        """Fit the curve, with more smoothing than requested if it must be monotone and would not be."""
        features = basis.features(rows)
        fitted = fit_curve(features, rows, smoothing)
        while self.monotone and basis.lowest_slope(fitted) < 0:
            if smoothing > np.exp(LOG_SMOOTHING[1]):
                fitted = fit_curve(features, rows, np.inf)
                break
            smoothing *= 10
            fitted = fit_curve(features, rows, smoothing)
        self.knots_, self.values_, self.smoothing_ = basis.knots, basis.at_knots(fitted), smoothing
        self._report(fitted)

    def _check(self) -> None:
        check_count(self.n_knots, "n_knots")
        check_positive(self.prior_weight, "prior_weight")
        if self.smoothing != "reml" and not (isinstance(self.smoothing, (int, float)) and 0 < self.smoothing < np.inf):
            raise InputError(f'smoothing must be "reml" or a positive, finite number, but is {self.smoothing!r}.')
