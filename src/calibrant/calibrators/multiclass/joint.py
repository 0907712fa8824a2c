"""Joint scaling: a map shared by all classes, a factor per row, and a matrix, fitted together."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_count, check_not_negative
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.blocks import BLOCK, KeptBlocks, each_block
from calibrant._core.newton import Minimum
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import WarmStartCalibrator
from calibrant.calibrators.fitting.inverse_temperature import never_wrong
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB, floored
from calibrant.calibrators.fitting.newton import diagnostics, minimise
from calibrant.calibrators.fitting.segments import fallen, line_knots, roughness, weighted_quantiles
from calibrant.calibrators.fitting.softmax import Full, PenalisedLikelihood
from calibrant.calibrators.multiclass.fixed import GUARD, fit_guard, guarded
from calibrant.calibrators.rules import AFFINE, CURVE, Rule, is_curve, vector

_RIDGE = 0.1
"""Penalty, times 1 / n, of squared row factors and of squared differences of slopes from 1. It keeps the solution
finite on separable rows, and unique: adding a number to all row factors has the same effect as adding it to all slopes.
"""


_HEIGHT = 256
"""Rows per block, such that products of their features stay in the cache."""

JointFeatures = tuple[FloatArray, FloatArray]
"""Features of the parameters that all classes share, (m, n, K), and scores with a column of ones, (n, K + 1)."""


class Joint:
    """All classes share m parameters, and have a matrix as in `Full`: the parameters are first m, then (K, K + 1).

    The function `shared` returns the features of the shared parameters, (m, n, K), for scores, (n, K).
    """

    def __init__(self, shared: Callable[[FloatArray], FloatArray], scores: FloatArray, n_shared: int) -> None:
        self.full, self.n_shared, self.n_classes = Full(scores), n_shared, scores.shape[1]
        self.shared = KeptBlocks(lambda rows: shared(scores[rows]), n_shared * scores.size)
        self.size = n_shared + self.full.size
        self.entries = self.hessian_entries = _HEIGHT * self.n_classes
        self.n_threads: int | None = None

    def features(self, rows: slice) -> JointFeatures:
        """Return the features of both kinds."""
        return self.shared(rows), self.full.features(rows)

    def logits(self, parameters: FloatArray, features: JointFeatures) -> FloatArray:
        """Return logits, (n, K)."""
        shared, scores = features
        logits = self.full.logits(parameters[self.n_shared :], scores)
        logits += (parameters[: self.n_shared] @ shared.reshape(self.n_shared, -1)).reshape(logits.shape)
        return logits

    def sums(self, factors: FloatArray, features: JointFeatures) -> FloatArray:
        """Return for every parameter the sum over rows and classes of the factors times its feature."""
        shared, scores = features
        of_shared = shared.reshape(self.n_shared, -1) @ factors.ravel()
        return np.append(of_shared, self.full.sums(factors, scores))

    def diagonal(self, probs: FloatArray, share: FloatArray, features: JointFeatures) -> FloatArray:
        """Return the contribution of some rows to the diagonal of the Hessian."""
        shared, scores = features
        weighted = shared * probs
        means = weighted.sum(axis=2)
        weighted *= shared
        of_shared = (weighted.sum(axis=2) - means * means) @ share[:, 0]
        return np.append(of_shared, self.full.diagonal(probs, share, scores))

    def curvature(self, probs: FloatArray, share: FloatArray, features: JointFeatures) -> FloatArray:
        """Return the sums for shared parameters, for pairs of both kinds, and those of `Full`."""
        shared, scores = features
        away = shared - np.einsum("mik,ik->mi", shared, probs)[:, :, None]
        away *= probs * share
        of_shared = away.reshape(self.n_shared, -1) @ shared.reshape(self.n_shared, -1).T
        mixed = away.swapaxes(1, 2) @ scores
        curvature = self.full.curvature(probs, share, scores)
        return np.concatenate([part.ravel() for part in (of_shared, mixed, curvature)])

    def assembled(self, curvature: FloatArray) -> FloatArray:
        """Return the Hessian."""
        m, width = self.n_shared, self.n_classes + 1
        of_shared, mixed, rest = np.split(curvature, [m * m, m * self.size])
        hessian = np.empty((self.size, self.size))
        hessian[:m, :m] = of_shared.reshape(m, m)
        hessian[:m, m:] = mixed.reshape(m, -1)
        hessian[m:, :m] = hessian[:m, m:].T
        hessian[m:, m:] = self.full.assembled(rest.reshape(-1, width * (width + 1) // 2))
        return hessian


def _falling_line(knots: FloatArray, slopes: FloatArray) -> bool:
    falls = knots[0] == 0 and knots[-1] == -np.inf and np.all(vector(knots)[1:] < knots[:-1])
    return bool(falls and len(knots) == len(vector(slopes)) + 1 and np.isfinite(slopes).all())


@dataclass(eq=False, repr=False)
class JointScaling(WarmStartCalibrator):
    r"""Transform log-probabilities by a shared map, a row factor and a matrix, all fitted together.

    Parameters
    ----------
    segments : int, default=8
        Largest number of segments of the shared map.
    row_knots : int, default=6
        Largest number of knots of the row factor.
    smoothness : float, default=3.0
        Factor of the penalties for differences of neighbouring slopes and of neighbouring row factors.
    matrix : float, default=1.0
        Factor of the penalties of the matrix and of the intercepts; 1 gives the penalties of `StructuredScaling`.
    guard : float, default=0.01
        Number of rows that the uniform distribution counts as, see `LaplaceGuard`; applied before everything else.
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    guard_ : LaplaceGuard
        Applied first; with one row instead of `guard` if an observed label had probability 0.
    knots_ : ndarray of shape (g + 1,)
    slopes_ : ndarray of shape (g,)
        Knots and slopes of the shared map, from the top, as in `OrderPreserving`. Slopes need not be positive.
    row_knots_, row_factors_ : ndarray of shape (h,)
        Row means of log-probabilities, ascending, and the row factor at each; it is linear in between and constant
        outside.
    coef_ : ndarray of shape (K, K)
    intercept_ : ndarray of shape (K,)
    converged_, gradient_norm_, n_iter_ : bool, float and int

    Notes
    -----
    With the guarded log-probabilities v of a row and their mean u, the logit of class k is

    .. math:: f(v_k) + \beta(u) v_k + \sum_j \Delta_{kj} v_j + b_k,

    where f is piecewise linear with slopes s, and :math:`\beta` is piecewise linear with values :math:`\beta_j` at its
    knots. The logits are linear in the parameters, so the negative log-likelihood is convex. The fit minimises its
    mean plus 1 / n times

    .. math:: \lambda \sum_m (s_{m+1} - s_m)^2 + \lambda \sum_j (\beta_{j+1} - \beta_j)^2
              + 0.1 \sum_m (s_m - 1)^2 + 0.1 \sum_j \beta_j^2
              + \mu K |\mathrm{diag} \Delta|^2 + \mu K (K - 1) |\mathrm{offdiag} \Delta|^2 + \mu K |b|^2,

    where :math:`\lambda` is `smoothness`, :math:`\mu` is `matrix`, and n is the sum of the weights. With few rows the
    map is close to a temperature. If the shared map is straight, it is structured matrix scaling; if the classes do not
    differ, it is a shared map with a temperature that depends on the row. The mean u is low in rows with one likely
    class, and high in rows with many.

    The knots of f, and those of :math:`\beta`, divide the curvature of the likelihood evenly. They suit predictions
    that are neither far too sharp nor far too flat, so another calibrator may come first, as in "iop-diag>joint". If
    every label was the most probable class, the likelihood has no maximum, and the map is the identity.

    Examples
    --------
    >>> probs = np.repeat([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3]], 1000, axis=0)
    >>> labels = np.repeat([0, 1, 2, 0, 1, 2], [600, 300, 100, 200, 600, 200])
    >>> JointScaling().fit(probs, labels).predict_proba([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3]]).round(1).tolist()
    [[0.6, 0.3, 0.1], [0.2, 0.6, 0.2]]
    """

    segments: int = 8
    row_knots: int = 6
    smoothness: float = 3.0
    matrix: float = 1.0
    guard: float = 0.01
    max_iter: int = 100
    scores: Literal["probs", "logits"] = "probs"

    kind = "parametric"
    preserves_argmax = False
    data_efficiency = "medium"
    expressiveness = "high"
    use_when = "After iop-diag, if the map is curved, classes differ, and there are a thousand rows or more."
    rules = (
        GUARD._replace(names=("guard_",)),
        Rule(("knots_", "slopes_"), _falling_line, "must be knots from 0 to minus infinity, with finite slopes"),
        Rule(("row_knots_", "row_factors_"), is_curve, CURVE),
        AFFINE,
    )

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # depends on the settings
        """The largest possible number, for K classes."""
        return f"K^2 + K + {self.segments + self.row_knots}"

    def _search(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray, near: Self | None) -> None:
        """Learn the map; the search starts at that of `near`, or at the identity."""
        self._check()
        self.guard_ = fit_guard(self.guard, log_probs, labels, weights)
        scores, total = self._guarded(log_probs), float(weights.sum())
        self.knots_ = line_knots(scores, weights, self.segments)
        probs = np.exp(scores)
        curvature = weights * (probs * (1.0 - probs)).sum(axis=1)
        shares = (np.arange(self.row_knots) + 0.5) / self.row_knots
        self.row_knots_ = weighted_quantiles(scores.mean(axis=1), curvature, shares)
        g, h, k = len(self.knots_) - 1, len(self.row_knots_), scores.shape[1]
        target = np.concatenate([np.ones(g), np.zeros(h + k * (k + 1))])
        objective = PenalisedLikelihood(
            Joint(self._shared, scores, g + h),
            labels,
            weights,
            penalty=np.append(np.zeros(g + h), self._squares(k) / total),
            target=target,
            bends=self._bends(g, h) / total,
        )
        start = target if near is None else near.parameters()
        start = start if len(start) == len(target) else target
        if never_wrong(scores, labels):  # The likelihood has no maximum.
            value, gradient = objective(target)
            found = Minimum(target, value, gradient, True, 0)
        else:
            found = minimise(objective, start, max_iter=self.max_iter)
        self.slopes_, self.row_factors_ = found.x[:g], found.x[g : g + h]
        matrix = found.x[g + h :].reshape(k, k + 1)
        self.coef_, self.intercept_ = matrix[:, :k].copy(), matrix[:, k].copy()
        self.converged_, self.gradient_norm_, self.n_iter_ = diagnostics(found, "JointScaling")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        scores, result, parameters = self._guarded(log_probs), np.empty(log_probs.shape), self.parameters()

        def task(rows: slice) -> None:
            family = Joint(self._shared, scores[rows], len(self.slopes_) + len(self.row_factors_))
            result[rows] = family.logits(parameters, family.features(slice(None)))

        each_block(task, scores.shape, entries=BLOCK)
        return result

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        scores = self.guard_.operations(x, k).at_least(SMALLEST_LOG_PROB)
        knots, slopes = self.knots_.tolist(), self.slopes_.tolist()
        falls = [(-scores.clip(knots[m + 1], knots[m]) + knots[m]) * slope for m, slope in enumerate(slopes)]
        means = scores.total() * (1.0 / k)
        steps = np.diff(self.row_factors_) / np.diff(self.row_knots_)
        factor = means * 0.0 + float(self.row_factors_[0])
        for (low, high), step in zip(pairwise(self.row_knots_.tolist()), steps.tolist(), strict=True):
            factor = factor + (means.clip(low, high) - low) * step
        return ops.affine(scores, self.coef_, self.intercept_) + scores * factor - reduce(ops.Value.__add__, falls)

    def parameters(self) -> FloatArray:
        """Return the learnt parameters as one vector, in the order of the search."""
        matrix = np.column_stack([self.coef_, self.intercept_])
        return np.concatenate([self.slopes_, self.row_factors_, matrix.ravel()])

    def _check(self) -> None:
        for name in ("segments", "row_knots", "max_iter"):
            check_count(getattr(self, name), name)
        for name in ("smoothness", "matrix"):
            check_not_negative(getattr(self, name), name)
        check_not_negative(self.guard, "guard")

    def _guarded(self, log_probs: FloatArray) -> FloatArray:
        return floored(guarded(self.guard_, log_probs))

    def _shared(self, scores: FloatArray) -> FloatArray:
        """Return the features that slopes and row factors multiply, (g + h, n, K)."""
        g, h = len(self.knots_) - 1, len(self.row_knots_)
        result = np.empty((g + h, *scores.shape))
        for place, (top, bottom) in enumerate(pairwise(self.knots_)):
            np.negative(fallen(scores, top, bottom), out=result[place])
        means = scores.mean(axis=1)
        for place, unit in enumerate(np.eye(h), start=g):
            np.multiply(np.interp(means, self.row_knots_, unit)[:, None], scores, out=result[place])
        return result

    def _bends(self, g: int, h: int) -> FloatArray:
        """Return the penalty matrix of slopes and row factors, times n."""
        bends = np.zeros((g + h, g + h))
        bends[:g, :g] = self.smoothness * roughness(g)
        bends[g:, g:] = self.smoothness * roughness(h)
        return bends + _RIDGE * np.eye(g + h)

    def _squares(self, k: int) -> FloatArray:
        """Return the penalties of the matrix and the intercepts, times n."""
        squares = np.full((k, k + 1), self.matrix * k)
        squares[:, :k] *= np.where(np.eye(k), 1.0, k - 1.0)
        return squares
