"""Stacked calibration: the mixture of calibrators that predicts best what they were not fitted to."""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from calibrant._border.checks import check_count
from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.ensemble import mixture, warn_unless_converged
from calibrant.calibrators.folds import fold_masses
from calibrant.calibrators.guard import LaplaceGuard, check_rows
from calibrant.calibrators.members import WithMembers, all_converged
from calibrant.calibrators.order_preserving import OrderPreserving
from calibrant.calibrators.scaling import SMALLEST_LOG_PROB
from calibrant.calibrators.shared_stages import SharedStages
from calibrant.calibrators.simplex import BestWeights, least_nll
from calibrant.exceptions import InputError

TWO_CLASSES = ("ts>guard", "svs", "spline>guard", "centred-isotonic>guard")
MANY_CLASSES = ("ts", "svs", "sms", "iop-deep", "iop-diag>joint")
MOST_CLASSES = ("ts", "iop-diag", "svs", "svs>iop-diag")
KEPT_CLASSES = ("ts", "ets", "iop-diag", "iop-deep")
"""Default members by name: for two classes, for more, for too many to fit a matrix, and if the predicted
class has to stay. Chosen by benchmarks/calibrators_stack.py."""

LARGEST_MATRIX = 200
"""Classes up to which a matrix is fitted."""

ENOUGH_ROWS = 5000
"""Number of rows, not used to fit the members, that suffices to learn a few weights and a map."""

FEW_ROWS = 1000
"""Below this many rows there are ten folds instead of five, because the rows left out are then missed."""

_LESS_LIKELY = 7.0
"""In a row of the prior, the labels are exp(7) times as likely by one member as by the others."""

_SMALL_WEIGHT = 1e-3
"""Members of less weight are left out."""


class StackedCalibration(WithMembers):
    r"""Mix the probabilities of several calibrators, with the weights that are best on rows they were not fitted to.

    Parameters
    ----------
    calibrators : list of Calibrator, optional
        What they have for `scores` is not read. By default a short list that depends on the number of classes.
    keep_argmax : bool, default=False
        Whether the members by default are those that keep the order of the classes in every row.
    n_folds : int, optional
        By default 10 if the weights of the rows sum to less than 1000, otherwise 5.
    prior : float, default=200.0
        How strongly weights are drawn towards a fixed mixture of all members, see below. 0 is without.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    zeros_ : LaplaceGuard
        Applied first, with a share above 0 if an observed label had probability 0.
    calibrators_ : list of Calibrator
        Members whose weight is not 0, fitted to all rows.
    weights_ : ndarray of shape (m,)
        Of these, of sum 1.
    converged_ : bool
        Whether the loss of the weights is certainly within 1e-10 of the smallest one, before those below 0.001 are left
        out, and every member has converged that says so.
    gradient_norm_ : float
        As for `Ensemble`.
    n_iter_ : int

    Notes
    -----
    :math:`q(x) = \sum_j w_j q_j(x)`. The rows are divided into folds, every member is fitted to all folds but one and
    applied to that one, in turn, which gives every row i the probability :math:`\tilde q_{ij}` of its label, by a map
    that has not seen it. The weights maximise

    .. math:: \sum_i s_i \ln \sum_j w_j \tilde q_{ij}
              + \frac a n \sum_l c_l \ln \Big(w_l + e^{-7} \sum_{j \ne l} w_j\Big),

    where a is `prior`, n the sum of the row weights :math:`s_i`, and :math:`c_l` is 0.3 for members that fit a matrix
    and 1 for others: as if each member had been by far the best in another a / n or 0.3 a / n rows. That matters with
    a few hundred rows, which cannot separate members, and where a mixture of all is safer than the one that happened
    to be the best; with n = 5000 it is 0.04 rows. Then the members are fitted to all rows. `Ensemble` instead chooses
    weights by the rows of the fit, and so prefers members that overfit.

    The folds do not depend on the order of the rows (`fold_masses`), so there is no seed. Once 3000 rows
    have been predicted, no more folds are made.

    By default the members are, for more than two classes, "ts", "svs", "sms", "iop-deep" and "iop-diag>joint"; above
    200 classes "ts", "iop-diag", "svs" and "svs>iop-diag"; for two classes "svs" and, followed by the guard, "ts",
    "spline" and "centred-isotonic"; and with `keep_argmax` "ts", "ets", "iop-diag" and "iop-deep".

    References
    ----------
    D. H. Wolpert, "Stacked generalization", Neural Networks 5, 1992. L. Breiman, "Stacked regressions", Machine
    Learning 24, 1996. M. J. van der Laan, E. C. Polley, A. E. Hubbard, "Super learner", Statistical Applications in
    Genetics and Molecular Biology 6, 2007.

    Examples
    --------
    >>> from calibrant.calibrators import Identity, Uniform
    >>> stack = StackedCalibration([Identity(), Uniform()], prior=0)  # There is nothing to fit but the weights.
    >>> stack.fit([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).weights_.round(3).tolist()  # 0.625 * 0.9 + 0.375 / 2 = 3 / 4
    [0.625, 0.375]
    """

    kind: ClassVar[Literal["ensemble"]] = "ensemble"
    n_parameters: ClassVar[str] = "of its members, and their weights"
    data_efficiency: ClassVar = "high"
    expressiveness: ClassVar = "high"
    list_name: ClassVar[str] = "calibrators"

    def __init__(
        self,
        calibrators: Sequence[Calibrator] | None = None,
        keep_argmax: bool = False,
        n_folds: int | None = None,
        prior: float = 200.0,
        scores: Literal["probs", "logits"] = "probs",
    ) -> None:
        self.calibrators = calibrators
        self.keep_argmax = keep_argmax
        self.n_folds = n_folds
        self.prior = prior
        self.scores = scores

    @property
    def use_when(self) -> str:  # type: ignore[override]  # depends on a setting
        """Advice in one sentence."""
        if self.keep_argmax:
            return "By default where no predicted class may change."
        return "By default where decisions may change: it is hardly ever worse than the best of its members."

    @property
    def preserves_argmax(self) -> bool:  # type: ignore[override]  # of the members
        """Whether every member preserves it."""
        return self.keep_argmax if self.calibrators is None else super().preserves_argmax

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        self._check()
        impossible = bool(log_probs[np.arange(len(labels)), labels].min() == -np.inf)
        self.zeros_ = LaplaceGuard(rows=1.0 if impossible else 0.0).learn(log_probs, labels, weights)
        scores = self.zeros_.transform(log_probs) if impossible else log_probs
        members = self.members_for(log_probs.shape[1])
        whole = SharedStages(members)
        whole.learn(scores, labels, weights)
        total = float(weights.sum())
        judged = out_of_fold(whole, scores, labels, weights, self.n_folds or (10 if total < FEW_ROWS else 5))
        found = self.best_weights(members, *judged, total)
        kept = np.flatnonzero(found.weights >= min(_SMALL_WEIGHT, 1.0 / len(members)))
        self.calibrators_ = [whole.fitted(int(place)) for place in kept]
        self.weights_ = found.weights[kept] / found.weights[kept].sum()
        self.gradient_norm_, self.n_iter_ = found.gap, found.n_iter
        self.converged_ = found.converged and all_converged(self.calibrators_)
        warn_unless_converged(found.converged, found.gap, "StackedCalibration")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        scores = self.zeros_.transform(log_probs) if self.zeros_.share_ > 0 else log_probs
        return mixture(self.weights_.tolist(), (member.transform(scores) for member in self.calibrators_))

    def _check(self) -> None:
        if self.n_folds is not None:
            check_count(self.n_folds, "n_folds")
            if self.n_folds < 2:
                raise InputError(f"n_folds must be at least 2, but is {self.n_folds}.")
        check_rows(self.prior, "prior")

    def members_for(self, n_classes: int) -> list[Calibrator]:
        """Return members that are not fitted."""
        if self.calibrators is not None:
            return self._fresh_members()
        from calibrant.calibrators.compose import parse

        return [parse(name, scores="logits") for name in default_members(n_classes, self.keep_argmax)]

    def _members(self) -> list[Calibrator]:
        return [] if self.calibrators is None else super()._members()

    def best_weights(
        self, members: Sequence[Calibrator], likelihoods: FloatArray, masses: FloatArray, total: float
    ) -> BestWeights:
        """Return the best weights of members.

        Parameters
        ----------
        members : sequence of m calibrators
        likelihoods : ndarray of shape (r, m)
            Finite logarithms of what members say of the labels of rows that they were not fitted to.
        masses : ndarray of shape (r,)
            Weights of these rows.
        total : float
            Sum of the weights of all rows.
        """
        n_members = likelihoods.shape[1]
        certain = np.full((n_members, n_members), -_LESS_LIKELY)
        np.fill_diagonal(certain, 0.0)
        factors = [_OF_A_MATRIX if "K^2" in member.n_parameters else 1.0 for member in members]
        both = np.append(masses, np.array(factors) * self.prior / total)
        if not both.any():  # A single row, and no prior.
            both = np.ones(len(both))
        return least_nll(np.vstack([likelihoods, certain]), both / both.sum())


def default_members(n_classes: int, keep_argmax: bool = False) -> tuple[str, ...]:
    """Return the names of the members by default.

    Examples
    --------
    >>> default_members(10)
    ('ts', 'svs', 'sms', 'iop-deep', 'iop-diag>joint')
    """
    if keep_argmax:
        return tuple(f"{name}>guard" for name in KEPT_CLASSES) if n_classes == 2 else KEPT_CLASSES
    if n_classes == 2:
        return TWO_CLASSES
    return MANY_CLASSES if n_classes <= LARGEST_MATRIX else MOST_CLASSES


def out_of_fold(
    whole: SharedStages, log_probs: FloatArray, labels: IntArray, weights: FloatArray, n_folds: int
) -> tuple[FloatArray, FloatArray]:
    """Return what members say of the labels of rows that they were not fitted to, and the weights of these rows.

    Parameters
    ----------
    whole : SharedStages
        The members, fitted to all rows.
    log_probs, labels, weights : arrays with n rows
    n_folds : int

    Returns
    -------
    log_likelihoods : ndarray of shape (r, m)
    masses : ndarray of shape (r,)
    """
    likelihoods, masses = [np.empty((0, len(whole.members)))], [np.empty(0)]
    n_rows = 0
    for held_out in fold_masses(log_probs, labels, weights, n_folds):
        rest = weights - held_out
        rows, others = held_out > 0, rest > 0
        if n_rows >= ENOUGH_ROWS or not rows.any() or not others.any():
            continue
        part = SharedStages(whole.members, near=whole)
        part.learn(log_probs[others], labels[others], rest[others])
        each, own = np.arange(int(rows.sum())), labels[rows]
        found = [result[each, own] for result in part.transform(log_probs[rows])]
        likelihoods.append(np.maximum(np.column_stack(found), SMALLEST_LOG_PROB))
        masses.append(held_out[rows])
        n_rows += len(each)
    return np.vstack(likelihoods), np.concatenate(masses)
