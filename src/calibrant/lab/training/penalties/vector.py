"""Penalties for errors of all probabilities of a row together."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from calibrant.exceptions import InputError
from calibrant.lab.training.penalties.penalty import Penalty, check_positive


@dataclass(frozen=True)
class SKCEPenalty(Penalty):
    r"""Squared kernel calibration error of the whole vector of probabilities, without bias.

    Parameters
    ----------
    kernel : {"gaussian", "exponential"}, default="gaussian"
        :math:`\kappa(p, q) = \exp(-d^2 / (2 \ell^2))` or :math:`\exp(-d / \ell)`, with the Euclidean distance
        :math:`d = \|p - q\|`.
    lengthscale : float, default=1
        The :math:`\ell` of the kernel.

    Notes
    -----
    With labels :math:`y_i` as vectors of zeros and a one,

    .. math:: \frac{1}{n (n - 1)} \sum_{i \ne j} \kappa(p_i, p_j) \langle y_i - p_i, y_j - p_j \rangle.

    May be negative. A batch of one row has no pairs: 0, with a gradient of 0. The exponential kernel has a kink where
    two rows are equal, whose gradient is taken as 0.

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
    With labels :math:`y_i` as vectors of zeros and a one, and the density of a Dirichlet distribution as the kernel,

    .. math::
        \frac1n \sum_i \Big\| \frac{\sum_{j \ne i} k_{ij} y_j}{\sum_{j \ne i} k_{ij}} - p_i \Big\|^2, \qquad
        \ln k_{ij} = \text{const} + \sum_k \Big(\frac{p_{jk}}{h} \ln p_{ik} - \ln \Gamma(p_{jk} / h + 1)\Big).

    Weights come from the logarithms, since the densities are too large and too small for floats. A batch of one row has
    nothing to regress on: 0, with a gradient of 0. Labels that were drawn from the probabilities are not those of the
    neighbours either, so that the error of a perfect network is not 0.

    References
    ----------
    T. Popordanoska, R. Sayer, M. B. Blaschko, "A consistent and differentiable Lp canonical calibration error
    estimator", NeurIPS 2022.

    Examples
    --------
    Of two rows, each is compared with the label of the other; here it lies (1/2, -1/2) from the probabilities:

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
        # A class that the network excludes has the logarithm -inf, and 0 times that would not be a number.
        logs = log_probs.clamp(min=-1e30) @ probs.T / self.bandwidth
        logs = logs - torch.lgamma(probs / self.bandwidth + 1).sum(dim=1)
        weights = logs.masked_fill(_diagonal(probs), -math.inf).softmax(dim=1)
        expected = weights @ nn.functional.one_hot(labels, probs.shape[1]).to(probs.dtype)
        return (expected - probs).square().sum(dim=1).mean()


def _distances(probs: Tensor) -> Tensor:
    # By differences: sums of squares and products would cancel. Where the distance is 0, as on the diagonal, PyTorch
    # takes 0 for its gradient here; that of a root written out is not a number.
    return torch.cdist(probs, probs, compute_mode="donot_use_mm_for_euclid_dist")


def _diagonal(rows: Tensor) -> Tensor:
    return torch.eye(len(rows), dtype=torch.bool, device=rows.device)
