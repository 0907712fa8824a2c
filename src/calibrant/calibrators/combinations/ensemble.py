"""Ensembles: the optimal weighted mean of the probabilities of several calibrators."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.progress import portion, tell
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator, are_calibrators
from calibrant.calibrators.combinations.members import WithMembers, all_converged
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB
from calibrant.calibrators.fitting.mixtures import (
    BestWeights,
    Loss,
    check_loss,
    least_nll,
    least_square,
    mixture,
    warn_unless_converged,
)
from calibrant.calibrators.rules import Rule, are_shares
from calibrant.predictions import row_blocks


def _mixture(members: Sequence[object], weights: object) -> bool:
    return are_calibrators(members) and are_shares(weights, len(members))


MIXTURE = Rule(("calibrators_", "weights_"), _mixture, "must be calibrators, with shares that sum to 1")


@dataclass(eq=False, repr=False)
class Ensemble(WithMembers):
    r"""Mix the probabilities of several calibrators with the weights that minimise the loss.

    Parameters
    ----------
    calibrators : list of Calibrator
        Each is fitted to the same rows. Their own `scores` are ignored.
    loss : {"nll", "brier"}, default="nll"
        What the weights minimise. The Brier score depends on all classes, not only on the label, and can raise the log
        loss.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    calibrators_ : list of Calibrator
        Fitted.
    weights_ : ndarray of shape (m,)
        Not negative, with sum 1. They are not unique if members agree on all rows.
    converged_ : bool
        Whether the loss is certainly within 1e-10 of its minimum, and every member that reports convergence has
        converged.
    gradient_norm_ : float
        Upper bound of the difference between the loss at `weights_` and its minimum: the largest rate of decrease
        towards a single member.
    n_iter_ : int

    Notes
    -----
    :math:`q(x) = \sum_j w_j q_j(x)` with :math:`w_j \ge 0` and :math:`\sum_j w_j = 1`. Both losses are convex in w. The
    likelihood is maximised by Newton's method; the Brier score, a quadratic function, is minimised by active sets. No
    member is better than the ensemble on the rows of the fit. For the likelihood, a probability 0 counts as the
    smallest normal number.

    The predicted class is preserved if every member preserves it.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: ensemble and compositional methods for uncertainty calibration
    in deep learning", ICML 2020.

    Examples
    --------
    >>> from calibrant.calibrators import Identity, Uniform
    >>> mixed = Ensemble([Identity(), Uniform()]).fit([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0])
    >>> mixed.weights_.round(3).tolist()  # 0.625 * 0.9 + 0.375 / 2 = 3 / 4
    [0.625, 0.375]
    """

    calibrators: Sequence[Calibrator]
    loss: Loss = "nll"
    scores: Literal["probs", "logits"] = "probs"

    kind = "ensemble"
    use_when = "Several calibrators are candidates: their best mixture is hardly ever worse than one."
    list_name = "calibrators"
    rules = (MIXTURE,)

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # of the members
        """The parameters of the members, and the weights."""
        return f"{super().n_parameters} + {len(self._members()) - 1}"

    @property
    def sensitive_to_zeros(self) -> bool:  # type: ignore[override]  # of the members
        """Whether any member is."""
        return any(member.sensitive_to_zeros for member in self._members())

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        check_loss(self.loss)
        self.calibrators_ = []
        members = self._fresh_members()
        for done, member in enumerate(members):
            with portion(done, len(members)):
                self.calibrators_.append(member.learn(log_probs, labels, weights))
            tell(done + 1, len(members))
        shares = weights / weights.sum()
        if self.loss == "nll":
            found = self._least_nll(log_probs, labels, shares)
        else:
            found = self._least_square(log_probs, labels, shares)
        self.weights_ = found.weights
        self.gradient_norm_, self.n_iter_ = found.gap, found.n_iter
        self.converged_ = found.converged and all_converged(self.calibrators_)
        warn_unless_converged(found.converged, found.gap, "Ensemble")

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        used = [(w, member) for w, member in zip(self.weights_, self.calibrators_, strict=True) if w > 0]
        return mixture([w for w, _ in used], (member.transform(log_probs) for _, member in used))

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        used = [(w, member) for w, member in zip(self.weights_, self.calibrators_, strict=True) if w > 0]
        return ops.mixture([w for w, _ in used], (ops.log_softmax(member.operations(x, k)) for _, member in used))

    def _least_nll(self, log_probs: FloatArray, labels: IntArray, shares: FloatArray) -> BestWeights:
        rows = np.arange(len(labels))
        columns = [member.transform(log_probs)[rows, labels] for member in self.calibrators_]
        return least_nll(np.maximum(np.column_stack(columns), SMALLEST_LOG_PROB), shares)

    def _least_square(self, log_probs: FloatArray, labels: IntArray, shares: FloatArray) -> BestWeights:
        products = np.zeros((len(self.calibrators_), len(self.calibrators_)))
        for rows in row_blocks(log_probs.shape):
            outputs = (np.exp(member.transform(log_probs[rows])) for member in self.calibrators_)
            products += error_products(outputs, labels[rows], shares[rows])
        return least_square(products)


def error_products(members: Iterable[FloatArray], labels: IntArray, shares: FloatArray) -> FloatArray:
    """Return the weighted sum over rows of the inner products of the errors of the members' probabilities, (m, m)."""
    rows = np.arange(len(labels))
    scale = np.sqrt(shares)[:, None]
    errors = []
    for error in members:
        error[rows, labels] -= 1.0
        errors.append((error * scale).ravel())
    stacked = np.stack(errors)
    return stacked @ stacked.T
