"""Penalties for errors of the confidence, the largest probability of a row."""

from dataclasses import dataclass

import torch
from torch import Tensor

from calibrant._border.checks import check_count
from calibrant.lab.training.penalties.penalty import Penalty, check_positive


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
        check_positive("lengthscale", self.lengthscale)

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
        check_positive("temperature", self.temperature)

    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""
        confidence, errors = _confidence(log_probs, labels)
        centres = (torch.arange(self.bins, dtype=errors.dtype, device=errors.device) + 0.5) / self.bins
        members = (-(confidence[:, None] - centres).square() / self.temperature).log_softmax(dim=1)
        # The weights of a bin's mean error are a softmax over rows, which also works if its shares underflow.
        gaps = errors @ members.softmax(dim=0)
        return _root(members.exp().mean(dim=0) @ gaps.square())


def _confidence(log_probs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest probability of each row, and whether its class is the label, 1 or 0, minus that."""
    predicted = log_probs.detach().argmax(dim=1)
    confidence = log_probs.gather(1, predicted[:, None])[:, 0].exp()
    return confidence, (predicted == labels).to(confidence.dtype) - confidence


def _root(square: Tensor) -> Tensor:
    square = square.clamp(min=0)  # Rounding can make it negative.
    return square / (square + 1e-12).sqrt()
