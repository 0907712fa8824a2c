"""Mixtures of probabilities, and their best weights, non-negative and with sum 1."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Literal, NamedTuple

import numpy as np

from calibrant._border.numerals import significant
from calibrant._border.settings import check_option
from calibrant._border.types import FloatArray
from calibrant._core.newton import Curve
from calibrant._core.nnls import nnls
from calibrant.calibrators.fitting.newton import minimise_nonnegative, warn_of_no_convergence

Loss = Literal["nll", "brier"]

SMALL_GAP = 1e-10
"""Weights have converged if their loss is certainly within this of the minimum."""


class BestWeights(NamedTuple):
    """Weights, their loss, and an upper bound of the difference between this loss and its minimum."""

    weights: FloatArray
    loss: float
    gap: float
    n_iter: int

    @property
    def converged(self) -> bool:
        """Whether the bound is small."""
        return self.gap <= SMALL_GAP


def least_nll(log_likelihoods: FloatArray, shares: FloatArray) -> BestWeights:
    r"""Return the weights that maximise the likelihood, given the finite log-probabilities of the labels, (n, m).

    The shares, (n,), are the weights of the rows, with sum 1. The function
    :math:`\sum_j \lambda_j - \sum_i s_i \ln \sum_j \lambda_j q_{ij}` is convex, and its minimum over all
    :math:`\lambda \ge 0` has sum 1. At a point with sum 1 it exceeds the minimum by at most
    :math:`\max_j \sum_i s_i q_{ij} / q_i - 1`, where :math:`q_i` is the mixture.

    Examples
    --------
    >>> heads = np.log([[0.5, 1.0], [0.5, 1.0], [0.5, 1.0], [0.5, 1e-9]])  # A fair coin or a certain one.
    >>> least_nll(heads, np.full(4, 0.25)).weights.round(3).tolist()
    [0.5, 0.5]
    """
    largest = log_likelihoods.max(axis=1, keepdims=True)
    ratios = np.exp(log_likelihoods - largest)
    n_members = ratios.shape[1]
    objective = mixture_loss(ratios, shares, np.ones(n_members))
    found = minimise_nonnegative(objective, np.full(n_members, 1.0 / n_members), last=1e-15)
    weights = found.x / found.x.sum()
    value, gradient, _ = objective(weights)
    loss = value - 1.0 - float(shares @ largest[:, 0])
    return BestWeights(weights, loss, max(0.0, -float(gradient.min())), found.n_iter)


def mixture_loss(ratios: FloatArray, shares: FloatArray, costs: FloatArray) -> Callable[[FloatArray], Curve]:
    r"""Return the function :math:`\sum_j c_j \lambda_j - \sum_i s_i \ln \sum_j \lambda_j q_{ij}` with its derivatives.

    Here q, (n, m), are the ratios, not negative; s, (n,), the shares, with sum 1; and c, (m,), the costs, positive.

    Examples
    --------
    >>> value, gradient, _ = mixture_loss(np.array([[0.5, 1.0]]), np.ones(1), np.ones(2))(np.array([0.0, 1.0]))
    >>> value, gradient.tolist()
    (1.0, [0.5, 0.0])
    """

    def objective(weights: FloatArray) -> Curve:
        mixed = ratios @ weights
        if not mixed.min() > 0:
            return np.inf, np.zeros_like(weights), np.zeros((len(weights), len(weights)))
        relative = ratios / mixed[:, None]
        value = float(costs @ weights - shares @ np.log(mixed))
        with np.errstate(over="ignore"):  # Only where a row is almost impossible, far from the minimum.
            return value, costs - shares @ relative, (relative.T * shares) @ relative

    return objective


def least_square(products: FloatArray) -> BestWeights:
    r"""Return the weights w that minimise :math:`w^\top A w`.

    A, (m, m), are the mean inner products of the members' errors, so the minimum is the smallest Brier score. It is the
    point of the convex hull of m points that is nearest to the origin. Over all :math:`u \ge 0`, with any sum,
    :math:`u^\top A u + (1 - \sum_j u_j)^2` is minimal at a multiple of the solution. This is non-negative least
    squares, which is solved exactly by active sets.

    Examples
    --------
    >>> least_square(np.array([[1.0, 0.0], [0.0, 3.0]])).weights.round(3).tolist()
    [0.75, 0.25]
    """
    unit = float(np.diag(products).max()) or 1.0
    values, vectors = np.linalg.eigh(products / unit)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    n_members = len(products)
    multiple = nnls(np.vstack([root, np.ones(n_members)]), np.append(np.zeros(n_members), 1.0))
    weights = multiple / multiple.sum()
    slopes = products @ weights
    loss = float(weights @ slopes)
    return BestWeights(weights, loss, max(0.0, 2.0 * (loss - float(slopes.min()))), 1)


def mixture(weights: Sequence[float], members: Iterable[FloatArray]) -> FloatArray:
    """Return the logarithm of the weighted mean of the exponentials of the members.

    Examples
    --------
    >>> np.exp(mixture([0.5, 0.5], [np.log([[0.25, 0.75]]), np.array([[0.0, -np.inf]])])).round(3).tolist()
    [[0.625, 0.375]]
    """
    terms = (member + np.log(weight) for weight, member in zip(weights, members, strict=True))
    return reduce(lambda total, term: np.logaddexp(total, term, out=total), terms)


def check_loss(loss: object) -> None:
    """Refuse an unknown loss."""
    check_option(loss, "loss", "nll", "brier")


def warn_unless_converged(converged: bool, slope: float, name: str) -> None:
    """Warn that the weights, or the temperature, are not optimal."""
    if not converged:
        warn_of_no_convergence(
            f"{name} has not converged: its loss still decreases at a rate of {significant(slope, 2)}. Leave out "
            "members that are nearly identical, and look for extreme probabilities."
        )
