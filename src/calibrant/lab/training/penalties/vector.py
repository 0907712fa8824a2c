"""Penalties for errors of the whole vector of probabilities."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from calibrant.exceptions import InputError
from calibrant.lab.training.penalties.penalty import Penalty, check_positive


@dataclass(frozen=True)
class SKCEPenalty(Penalty):
    r"""Squared kernel calibration error (SKCE) of the whole vector of probabilities, unbiased.

    Parameters
    ----------
    kernel : {"gaussian", "exponential"}, default="gaussian"
        :math:`\kappa(p, q) = \exp(-d^2 / (2 \ell^2))` or :math:`\exp(-d / \ell)`, with the Euclidean distance
        :math:`d = \|p - q\|`.
    lengthscale : float, default=1
        The :math:`\ell` of the kernel.

    Notes
    -----
    With one-hot labels :math:`y_i`,

    .. math:: \frac{1}{n (n - 1)} \sum_{i \ne j} \kappa(p_i, p_j) \langle y_i - p_i, y_j - p_j \rangle.

    It may be negative. A batch of one row has no pairs, so the value and its gradient are 0. The exponential kernel is
    not differentiable where two rows are equal; its gradient there is taken as 0.

    References
    ----------
    D. Widmann, F. Lindsten, D. Zachariah, "Calibration tests in multi-class classification: a unifying framework",
    NeurIPS 2019.

    Examples
    --------
    Two equal rows have the kernel 1, and the residuals (1/2, -1/2) and (-1/2, 1/2) if their labels differ:

    >>> SKCEPenalty()(torch.zeros(2, 2), torch.tensor([0, 1])).item()
    -0.5
    """

    notion = "all classes"
    is_unbiased = True

    kernel: Literal["gaussian", "exponential"] = "gaussian"
    lengthscale: float = 1.0

    def __post_init__(self) -> None:
        if self.kernel not in ("gaussian", "exponential"):
            raise InputError(f"kernel must be gaussian or exponential, but is {self.kernel!r:.80}.")
        check_positive("lengthscale", self.lengthscale)

    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""
        probs, n = log_probs.exp(), len(log_probs)
        residuals = nn.functional.one_hot(labels, probs.shape[1]).to(probs.dtype) - probs
        similar = self._similarity(_distances(probs) / self.lengthscale)
        pairs = (similar * (residuals @ residuals.T)).masked_fill(_diagonal(probs), 0)
        return pairs.sum() / max(n * (n - 1), 1)

    def _similarity(self, distances: Tensor) -> Tensor:
        return torch.exp(-distances.square() / 2 if self.kernel == "gaussian" else -distances)


@dataclass(frozen=True)
class KdeECEPenalty(Penalty):
    r"""Squared calibration error of the whole vector, by kernel regression of the labels on the probabilities.

    Parameters
    ----------
    bandwidth : float, default=0.1
        The :math:`h` below.

    Notes
    -----
    With one-hot labels :math:`y_i`, and the density of a Dirichlet distribution as the kernel,

    .. math::
        \frac1n \sum_i \Big\| \frac{\sum_{j \ne i} k_{ij} y_j}{\sum_{j \ne i} k_{ij}} - p_i \Big\|^2, \qquad
        \ln k_{ij} = \text{const} + \sum_k \Big(\frac{p_{jk}}{h} \ln p_{ik} - \ln \Gamma(p_{jk} / h + 1)\Big).

    Weights are computed from logarithms, because the densities overflow and underflow. A batch of one row has nothing
    to regress on, so the value and its gradient are 0. The error of a perfect network is not 0, because the labels of
    neighbours vary by chance.

    References
    ----------
    T. Popordanoska, R. Sayer, M. B. Blaschko, "A consistent and differentiable Lp canonical calibration error
    estimator", NeurIPS 2022.

    Examples
    --------
    With two rows, each is compared with the label of the other, whose distance from the probabilities is (1/2, -1/2):

    >>> round(KdeECEPenalty()(torch.zeros(2, 2), torch.tensor([0, 1])).item(), 6)
    0.5
    """

    notion = "all classes"
    is_unbiased = False

    bandwidth: float = 0.1

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""
        if len(log_probs) == 1:
            return 0 * log_probs.exp().sum()
        probs = log_probs.exp()
        # A class of probability 0 has the logarithm -inf, and 0 times that is NaN.
        logs = log_probs.clamp(min=-1e30) @ probs.T / self.bandwidth
        logs = logs - torch.lgamma(probs / self.bandwidth + 1).sum(dim=1)
        weights = logs.masked_fill(_diagonal(probs), -math.inf).softmax(dim=1)
        expected = weights @ nn.functional.one_hot(labels, probs.shape[1]).to(probs.dtype)
        return (expected - probs).square().sum(dim=1).mean()


def _distances(probs: Tensor) -> Tensor:
    # From differences, because sums of squares and products would cancel. Where the distance is 0, as on the diagonal,
    # this function has a gradient of 0; that of an explicit square root would be NaN.
    return torch.cdist(probs, probs, compute_mode="donot_use_mm_for_euclid_dist")


def _diagonal(rows: Tensor) -> Tensor:
    return torch.eye(len(rows), dtype=torch.bool, device=rows.device)
