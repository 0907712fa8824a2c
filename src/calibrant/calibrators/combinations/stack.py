"""Stacked calibration: the mixture of calibrators with the best out-of-fold predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np

from calibrant._border.settings import check_count, check_not_negative
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.progress import portion
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.combinations.compose import parse
from calibrant.calibrators.combinations.ensemble import MIXTURE
from calibrant.calibrators.combinations.folds import Unseen, out_of_fold
from calibrant.calibrators.combinations.members import WithMembers, all_converged
from calibrant.calibrators.combinations.shared_stages import SharedStages
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB, finite
from calibrant.calibrators.fitting.mixtures import BestWeights, least_nll, mixture, warn_unless_converged
from calibrant.calibrators.multiclass.fixed import GUARD, Identity, LaplaceGuard, fit_guard, guarded
from calibrant.calibrators.multiclass.order_preserving import OrderPreserving
from calibrant.calibrators.rules import Rule
from calibrant.exceptions import InputError

SMOOTHNESS = 30.0
"""Penalty of the map after the mixture: three times the usual one, because it has little left to correct."""

LARGEST_MATRIX = 200
"""Largest number of classes for which a default member has a matrix."""

_LESS_LIKELY = 7.0
"""In a pseudo-row of the prior, one member gives the label exp(7) times the probability that the others give it."""

_SMALL_WEIGHT = 1e-3
"""Members with a smaller weight are left out."""


class Mixed(NamedTuple):
    """The weights of the members, and the map that is applied to their mixture."""

    weights: FloatArray
    map: Calibrator
    found: BestWeights

    def transform(self, log_probs: Sequence[FloatArray]) -> FloatArray:
        """Return calibrated log-probabilities, given those of all members."""
        used = np.flatnonzero(self.weights).tolist()
        return self.map.transform(mixture(self.weights[used].tolist(), (log_probs[place] for place in used)))


@dataclass(eq=False, repr=False)
class StackedCalibration(WithMembers):
    r"""Mix the probabilities of several calibrators with the weights that are best on out-of-fold predictions.

    Parameters
    ----------
    calibrators : list of Calibrator, optional
        Their own `scores` are ignored. By default a short list that depends on the numbers of classes and rows.
    keep_argmax : bool, default=False
        Whether the default members are those that keep the order of the classes in every row.
    n_folds : int, optional
        By default 10 if the weights of the rows sum to less than 1000, otherwise 5.
    prior : float, default=200.0
        How strongly weights are shrunk towards an equal mixture of all members, see below; 0 is not at all.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    zeros_ : LaplaceGuard
        Applied first; its share is above 0 only if an observed label had probability 0.
    calibrators_ : list of Calibrator
        The members with a positive weight, fitted to all rows.
    weights_ : ndarray of shape (m,)
        Their weights, with sum 1.
    map_ : OrderPreserving or Identity
        Applied last; the identity for two classes.
    converged_ : bool
        Whether the loss of the weights, before those below 0.001 are set to 0, is certainly within 1e-10 of its
        minimum, and the map and every member that reports convergence have converged.
    gradient_norm_ : float
        As for `Ensemble`.
    n_iter_ : int

    Notes
    -----
    :math:`q(x) = f(\sum_j w_j q_j(x))`. The rows are divided into folds. Each member j is fitted to all folds but one
    and applied to that one, in turn, which gives the out-of-fold probability :math:`\tilde q_{ij}` of the label of each
    row i. The weights maximise

    .. math:: \sum_i s_i \ln \sum_j w_j \tilde q_{ij}
              + \frac a n \sum_l \ln \Big(w_l + e^{-7} \sum_{j \ne l} w_j\Big),

    where a is `prior` and n the sum of the row weights :math:`s_i`: as if each member had been by far the best in
    a / n additional rows. This matters with a few hundred rows, which cannot separate the members, so that a mixture of
    all is safer than the one that happened to be best; with n = 5000 it is 0.04 rows. Finally the members are fitted to
    all rows. `Ensemble` instead chooses weights on the rows of the fit, and so prefers members that overfit.

    A mixture of calibrated probabilities is not sharp enough, and members that were fitted to the same rows share their
    errors. So for more than two classes f is one increasing map, `OrderPreserving` with a smoothness of 30, fitted to
    the out-of-fold mixtures :math:`\sum_j w_j \tilde q_j`. It keeps the order of the classes in a row.

    The folds do not depend on the order of the rows (`fold_masses`), so there is no seed. Once 5000 rows have
    out-of-fold predictions, the remaining folds are skipped.

    The default members for more than two classes are "ts", "svs", "sms" and "iop-deep", with "sms-light" as well if
    there are at least 200 rows and ten rows per class; with at least 2000 rows "ts", "svs", "sms-light" and
    "iop-diag>joint"; and with more than 200 classes "ts" and "svs". For two classes they are "guard-light", which
    hardly changes the predictions, "ts>guard-light", "svs", and with at least 200 rows "spline>guard". With
    `keep_argmax` they are "ts" and "iop-deep"; for two classes "guard-light", "ts>guard-light" and
    "iop-deep>guard-light".

    References
    ----------
    D. H. Wolpert, "Stacked generalization", Neural Networks 5, 1992. L. Breiman, "Stacked regressions", Machine
    Learning 24, 1996. M. J. van der Laan, E. C. Polley, A. E. Hubbard, "Super learner", Statistical Applications in
    Genetics and Molecular Biology 6, 2007. R. Ranjan, T. Gneiting, "Combining probability forecasts", Journal of the
    Royal Statistical Society B 72, 2010.

    Examples
    --------
    >>> from calibrant.calibrators import Identity, Uniform
    >>> stack = StackedCalibration([Identity(), Uniform()], prior=0)  # There is nothing to fit but the weights.
    >>> stack.fit([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).weights_.round(3).tolist()  # 0.625 * 0.9 + 0.375 / 2 = 3 / 4
    [0.625, 0.375]
    """

    calibrators: Sequence[Calibrator] | None = None
    keep_argmax: bool = False
    n_folds: int | None = None
    prior: float = 200.0
    scores: Literal["probs", "logits"] = "probs"

    kind = "ensemble"
    n_parameters = "those of its members, their weights, and 8"
    data_efficiency = "high"
    expressiveness = "high"
    list_name = "calibrators"
    rules = (
        GUARD,
        MIXTURE,
        Rule(("map_",), lambda m: isinstance(m, (Identity, OrderPreserving)), "must be an increasing map"),
    )

    @property
    def use_when(self) -> str:  # type: ignore[override]  # depends on a setting
        """Advice in one sentence."""
        if self.keep_argmax:
            return "As the default if no predicted class may change."
        return "As the default if decisions may change: it is hardly ever worse than the best of its members."

    @property
    def preserves_argmax(self) -> bool:  # type: ignore[override]  # of the members
        """Whether every member preserves the argmax."""
        return self.keep_argmax if self.calibrators is None else super().preserves_argmax

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self._check()
        total = float(weights.sum())
        self.zeros_ = fit_guard(0.0, log_probs, labels, weights)
        scores = guarded(self.zeros_, log_probs)
        whole = SharedStages(self.members_for(log_probs.shape[1], total))
        with portion(0, 2):
            whole.learn(scores, labels, weights)
        with portion(1, 2):
            unseen = out_of_fold(whole, scores, labels, weights, self.n_folds or folds_for(total))
        self._keep(whole, range(len(whole.members)), self.mixed(unseen, total))

    def assembled(self, whole: SharedStages, places: Sequence[int], mixed: Mixed) -> Self:
        """Store the members of `whole` at these places and their mixture; no observed label had probability 0."""
        self.zeros_ = LaplaceGuard(rows=0.0)
        self.zeros_.share_ = 0.0
        self._keep(whole, places, mixed)
        return self

    def _keep(self, whole: SharedStages, places: Sequence[int], mixed: Mixed) -> None:
        kept = np.flatnonzero(mixed.weights).tolist()
        self.calibrators_ = [whole.fitted(places[one]) for one in kept]
        self.weights_, self.map_ = mixed.weights[kept], mixed.map
        self.gradient_norm_, self.n_iter_ = mixed.found.gap, mixed.found.n_iter
        self.converged_ = mixed.found.converged and all_converged([*self.calibrators_, self.map_])
        warn_unless_converged(mixed.found.converged, mixed.found.gap, "StackedCalibration")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        scores = guarded(self.zeros_, log_probs)
        return self.map_.transform(mixture(self.weights_.tolist(), (m.transform(scores) for m in self.calibrators_)))

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        scores = self.zeros_.operations(x, k)
        members = (ops.log_softmax(m.operations(scores, k)) for m in self.calibrators_)
        return self.map_.operations(ops.mixture(self.weights_.tolist(), members), k)

    def _check(self) -> None:
        if self.n_folds is not None:
            check_count(self.n_folds, "n_folds")
            if self.n_folds < 2:
                raise InputError(f"n_folds must be at least 2, but is {self.n_folds}.")
        check_not_negative(self.prior, "prior")

    def members_for(self, n_classes: int, n_rows: float) -> list[Calibrator]:
        """Return the unfitted members; `n_rows` is the sum of the weights."""
        if self.calibrators is not None:
            return self._fresh_members()
        return [parse(name, scores="logits") for name in default_members(n_classes, n_rows, self.keep_argmax)]

    def _members(self) -> list[Calibrator]:
        return [] if self.calibrators is None else super()._members()

    def mixed(self, unseen: Unseen, total: float) -> Mixed:
        """Return the optimal weights of the members and the map of their mixture; `total` is the sum of all weights."""
        mixed = self.weighted(unseen, total)
        if unseen.log_probs[0].shape[1] == 2:
            return mixed
        scores = finite(mixed.transform(unseen.log_probs))
        own = scores[np.arange(len(unseen.labels)), unseen.labels]
        if not unseen.masses @ (own - scores.mean(axis=1)) > 0:  # No rows, or no better than chance.
            return mixed
        rising = OrderPreserving("diag", smoothness=SMOOTHNESS, scores="logits")
        return mixed._replace(map=rising.learn(scores, unseen.labels, unseen.masses))

    def weighted(self, unseen: Unseen, total: float) -> Mixed:
        """Return the optimal weights, and the identity as the map."""
        each = np.arange(len(unseen.labels))
        own = [np.maximum(log_probs[each, unseen.labels], SMALLEST_LOG_PROB) for log_probs in unseen.log_probs]
        found = self.best_weights(np.column_stack(own), unseen.masses, total)
        weights = np.where(found.weights >= min(_SMALL_WEIGHT, 1.0 / len(own)), found.weights, 0.0)
        return Mixed(weights / weights.sum(), Identity(), found)

    def best_weights(self, likelihoods: FloatArray, masses: FloatArray, total: float) -> BestWeights:
        """Return the optimal weights of the members.

        The likelihoods, (r, m), are the finite out-of-fold log-probabilities of the labels; the masses, (r,), are the
        weights of their rows, and the total is the sum of the weights of all rows.
        """
        n_members = likelihoods.shape[1]
        certain = np.full((n_members, n_members), -_LESS_LIKELY)
        np.fill_diagonal(certain, 0.0)
        both = np.append(masses, np.full(n_members, self.prior / total))
        if not both.any():  # A single row, and no prior.
            both = np.ones(len(both))
        return least_nll(np.vstack([likelihoods, certain]), both / both.sum())


def default_members(n_classes: int, n_rows: float, keep_argmax: bool = False) -> tuple[str, ...]:
    """Return the names of the default members, which were chosen by benchmarks/calibrators_stack.py.

    With two classes one is often rare, so that a few hundred rows contain few errors; therefore the predictions
    themselves, with a lower bound, are a member. "sms-light" gains much if classes are confused in a way that can be
    corrected, otherwise the folds show that it overfits. With few rows "iop-diag>joint" overfits.

    Examples
    --------
    >>> default_members(10, 100)
    ('ts', 'svs', 'sms', 'iop-deep')
    >>> default_members(10, 500)
    ('ts', 'svs', 'sms', 'iop-deep', 'sms-light')
    >>> default_members(10, 5000)
    ('ts', 'svs', 'sms-light', 'iop-diag>joint')
    """
    if keep_argmax:
        return ("ts", "iop-deep") if n_classes > 2 else ("guard-light", "ts>guard-light", "iop-deep>guard-light")
    if n_classes == 2:
        return ("guard-light", "ts>guard-light", "svs", *["spline>guard"] * (n_rows >= 200))
    if n_classes > LARGEST_MATRIX:
        return ("ts", "svs")
    if n_rows >= 2000:
        return ("ts", "svs", "sms-light", "iop-diag>joint")
    return ("ts", "svs", "sms", "iop-deep", *["sms-light"] * (n_rows >= max(200, 10 * n_classes)))


def folds_for(n_rows: float) -> int:
    """Return the default number of folds: with few rows more folds leave more rows for fitting."""
    return 10 if n_rows < 1000 else 5
