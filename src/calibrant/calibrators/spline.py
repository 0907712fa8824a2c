"""Spline calibration: a smooth curve of the log-odds."""

from typing import ClassVar, Literal, Self

import numpy as np

from calibrant._border.checks import check_count
from calibrant._border.types import BoolArray, FloatArray
from calibrant.calibrators.binary import BinaryCalibrator, bounded
from calibrant.calibrators.isotonic import pooled_ties
from calibrant.calibrators.logistic import warn_unless_converged
from calibrant.calibrators.spline_basis import LOG_SMOOTHING, Basis, Rows, natural_spline, quantile_knots
from calibrant.exceptions import InputError


class SplineCalibration(BinaryCalibrator):
    r"""A natural cubic spline from log-odds to calibrated log-odds, as smooth as the data suggests.

    Parameters
    ----------
    n_knots : int, default=12
        They are quantiles of the log-odds, where each row counts by its weight times :math:`\sqrt{p (1 - p)}`, so that
        sure rows do not take them all.
    smoothing : float or "reml", default="reml"
        Weight :math:`\lambda` of the roughness, or let the restricted likelihood choose it.
    prior_weight : float, default=4
        Pseudo-rows, shared out among the knots, whose calibrated log-odds are the given ones.
    monotone : bool, default=True
        Raise the smoothing until the curve falls nowhere. If even the straight line falls, because the scores rank
        worse than chance, the curve is constant.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    knots_, values_ : ndarray of shape (k,)
        Log-odds, and their calibrated log-odds. The curve is straight beyond the first and last knot.
    smoothing_ : float
        The weight of the roughness in use.
    converged_ : bool
    gradient_norm_ : float
        Largest derivative of the mean loss at the solution, for standardised features.

    Notes
    -----
    The curve f minimises

    .. math:: \sum_i w_i \ell(y_i, f(s_i)) + \frac{\lambda}{2} \int f''(s)^2 ds,

    where :math:`\ell` is the log-loss and the pseudo-rows are among the rows. Straight lines cost nothing: much
    smoothing gives `PlattScaling`, a little pulled towards the identity by the pseudo-rows. The latter also make
    degenerate data harmless: scores that are all equal, perfectly separated or of one class.

    The smoothing maximises Laplace's approximation of the restricted likelihood, on cells of neighbouring scores; the
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

    kind: ClassVar[Literal["parametric"]] = "parametric"
    n_parameters: ClassVar[str] = "number of knots"
    data_efficiency: ClassVar[Literal["medium"]] = "medium"
    expressiveness: ClassVar[Literal["high"]] = "high"
    use_when: ClassVar[str] = "There are a thousand rows or more and the map should be smooth."
    sensitive_to_zeros: ClassVar[bool] = True

    def __init__(
        self,
        n_knots: int = 12,
        smoothing: float | Literal["reml"] = "reml",
        prior_weight: float = 4.0,
        monotone: bool = True,
        scores: Literal["probs", "logits"] = "probs",
    ) -> None:
        self.n_knots = n_knots
        self.smoothing = smoothing
        self.prior_weight = prior_weight
        self.monotone = monotone
        self.scores = scores

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

    def _settle(self, basis: Basis, rows: Rows, smoothing: float) -> None:
        """Fit the curve, with more smoothing than requested if it has to be monotone."""
        fitted = basis.fit(rows, smoothing)
        while self.monotone and basis.lowest_slope(fitted) < 0:
            if smoothing > np.exp(LOG_SMOOTHING[1]):
                fitted = basis.fit(rows, smoothing, level=True)
                break
            smoothing *= 10
            fitted = basis.fit(rows, smoothing)
        self.knots_, self.values_, self.smoothing_ = basis.knots, basis.at_knots(fitted), smoothing
        self.converged_, self.gradient_norm_ = fitted.converged, fitted.gradient_norm
        warn_unless_converged(self, fitted)

    def _check(self) -> None:
        check_count(self.n_knots, "n_knots")
        if not 0 < self.prior_weight < np.inf:
            raise InputError(f"prior_weight must be positive and finite, but is {self.prior_weight!r}.")
        if self.smoothing != "reml" and not (isinstance(self.smoothing, (int, float)) and self.smoothing > 0):
            raise InputError(f'smoothing must be "reml" or a positive number, but is {self.smoothing!r}.')
