"""Penalties: differentiable calibration errors of a batch, each to be added to a loss."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from calibrant._border.settings import check_count, check_positive
from calibrant.exceptions import InputError
from calibrant.lab.loss_names import split_loss
from calibrant.lab.training.losses import LOSSES, Loss, Penalised, Penalty


@dataclass(frozen=True)
class MMCEPenalty(Penalty):
    r"""Maximum mean calibration error of the confidence.

    Parameters
    ----------
    lengthscale : float, default=0.4
        The :math:`\ell` below.

    Notes
    -----
    With the largest probability :math:`c_i`, and :math:`e_i = 1 - c_i` if its class is the label, :math:`-c_i` if not,

    .. math:: \sqrt{\frac{1}{n^2} \sum_{i,j} e_i e_j \exp(-|c_i - c_j| / \ell)}.

    The choice of the most probable class has no gradient. The square root of x is computed as
    :math:`x / \sqrt{x + 10^{-12}}`, whose slope is finite at 0.

    References
    ----------
    A. Kumar, S. Sarawagi, U. Jain, "Trainable calibration measures for neural networks from kernel mean embeddings",
    ICML 2018.

    Examples
    --------
    Both rows have a confidence of 1/2. If one of them is right, errors of 1/2 and -1/2 cancel; if both are right, the
    error is 1/2:

    >>> MMCEPenalty()(torch.zeros(2, 2), torch.tensor([0, 1])).item()
    0.0
    >>> round(MMCEPenalty()(torch.zeros(2, 2), torch.tensor([0, 0])).item(), 6)
    0.5
    """

    notion = "confidence"
    is_unbiased = False

    lengthscale: float = 0.4

    def __post_init__(self) -> None:
        check_positive(self.lengthscale, "lengthscale")

    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""
        confidence, errors = _confidence(log_probs, labels)
        similar = torch.exp(-(confidence[:, None] - confidence).abs() / self.lengthscale)
        return _root(errors @ similar @ errors / len(errors) ** 2)


@dataclass(frozen=True)
class SoftBinnedECEPenalty(Penalty):
    r"""Calibration error of the confidence in bins with soft borders.

    Parameters
    ----------
    bins : int, default=15
        Number of bins of equal width, with centres :math:`\xi_b`.
    temperature : float, default=0.01
        The :math:`T` below; the smaller, the harder the borders.

    Notes
    -----
    With confidences :math:`c_i` and errors :math:`e_i` as in `MMCEPenalty`, a row belongs to bin b with the share
    :math:`m_{ib} \propto \exp(-(c_i - \xi_b)^2 / T)`, :math:`\sum_b m_{ib} = 1`, and the error is

    .. math:: \sqrt{\sum_b \frac{S_b}{n} \Big(\frac{\sum_i m_{ib} e_i}{S_b}\Big)^2}, \qquad S_b = \sum_i m_{ib}.

    The square root is computed as in `MMCEPenalty`.

    References
    ----------
    A. Karandikar, N. Cain, D. Tran, B. Lakshminarayanan, J. Shlens, M. C. Mozer, B. Roelofs, "Soft calibration
    objectives for neural networks", NeurIPS 2021.

    Examples
    --------
    Both rows are right with a confidence of 1/2, so that the error in every bin is 1/2:

    >>> round(SoftBinnedECEPenalty()(torch.zeros(2, 2), torch.tensor([0, 0])).item(), 6)
    0.5
    """

    notion = "confidence"
    is_unbiased = False

    bins: int = 15
    temperature: float = 0.01

    def __post_init__(self) -> None:
        check_count(self.bins, "bins")
        check_positive(self.temperature, "temperature")

    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""
        confidence, errors = _confidence(log_probs, labels)
        centres = (torch.arange(self.bins, dtype=errors.dtype, device=errors.device) + 0.5) / self.bins
        members = (-(confidence[:, None] - centres).square() / self.temperature).log_softmax(dim=1)
        # The weights of a bin's mean error are a softmax over rows, which also works if its shares underflow.
        gaps = errors @ members.softmax(dim=0)
        return _root(members.exp().mean(dim=0) @ gaps.square())


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
        check_positive(self.lengthscale, "lengthscale")

    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""
        probs, n = log_probs.exp(), len(log_probs)
        residuals = nn.functional.one_hot(labels, probs.shape[1]).to(probs.dtype) - probs
        # From differences, because sums of squares and products would cancel. Where the distance is 0, as on the
        # diagonal, this function has a gradient of 0; that of an explicit square root would be NaN.
        distances = torch.cdist(probs, probs, compute_mode="donot_use_mm_for_euclid_dist") / self.lengthscale
        similar = torch.exp(-distances.square() / 2 if self.kernel == "gaussian" else -distances)
        pairs = (similar * (residuals @ residuals.T)).masked_fill(_diagonal(probs), 0)
        return pairs.sum() / max(n * (n - 1), 1)


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
        check_positive(self.bandwidth, "bandwidth")

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


def _confidence(log_probs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest probability of each row, and whether its class is the label, 1 or 0, minus that."""
    predicted = log_probs.detach().argmax(dim=1)
    confidence = log_probs.gather(1, predicted[:, None])[:, 0].exp()
    return confidence, (predicted == labels).to(confidence.dtype) - confidence


def _root(square: Tensor) -> Tensor:
    square = square.clamp(min=0)  # Rounding can make it negative.
    return square / (square + 1e-12).sqrt()


def _diagonal(rows: Tensor) -> Tensor:
    return torch.eye(len(rows), dtype=torch.bool, device=rows.device)


PENALTIES: dict[str, Penalty] = {
    "mmce": MMCEPenalty(),
    "skce": SKCEPenalty(),
    "skce-exponential": SKCEPenalty("exponential"),
    "kde-ece": KdeECEPenalty(),
    "sb-ece": SoftBinnedECEPenalty(),
}
"""The penalties by name."""


def parse_loss(name: str) -> Loss:
    """Return the loss with a name.

    Parameters
    ----------
    name : str
        A name in `LOSSES`, optionally with penalties of `PENALTIES` after plus signs: "ce", "ce+mmce", "ce+8*mmce".

    Raises
    ------
    InputError
        If a name is unknown, or a weight is not a positive number.

    Examples
    --------
    >>> parse_loss("ce+8*mmce")
    Penalised(loss=CrossEntropy(), penalty=MMCEPenalty(lengthscale=0.4), weight=8.0)
    """
    first, penalties = split_loss(name, LOSSES, PENALTIES)
    loss = LOSSES[first]
    for penalty, weight in penalties:
        loss = Penalised(loss, PENALTIES[penalty], weight)
    return loss
