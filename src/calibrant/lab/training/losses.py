"""Losses of logits: cross entropy, label smoothing, focal losses, and what a penalty adds to one of them."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from calibrant._border.settings import check_not_negative
from calibrant.exceptions import InputError


class Loss(ABC):
    """A loss of logits, (n, K), and labels, (n,)."""

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean over rows, a scalar."""
        _check_batch(logits, labels)
        return self.rows(logits, labels).mean()

    @abstractmethod
    def rows(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every row."""


@dataclass(frozen=True)
class CrossEntropy(Loss):
    r"""Negative log-likelihood, :math:`-\ln p_y`."""

    def rows(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every row."""
        return nn.functional.cross_entropy(logits, labels, reduction="none")


@dataclass(frozen=True)
class LabelSmoothing(Loss):
    r"""Cross entropy with smoothed labels, which give a share to all classes.

    Parameters
    ----------
    share : float, default=0.05
        The :math:`\varepsilon` in :math:`-(1 - \varepsilon) \ln p_y - \varepsilon / K \sum_k \ln p_k`.
    """

    share: float = 0.05

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise InputError(f"share must be in [0, 1), but is {self.share!r}.")

    def rows(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every row."""
        return nn.functional.cross_entropy(logits, labels, reduction="none", label_smoothing=self.share)


@dataclass(frozen=True)
class FocalLoss(Loss):
    r"""Cross entropy that gives less weight to confident rows, :math:`-(1 - p_y)^\gamma \ln p_y`.

    Parameters
    ----------
    gamma : float, default=3
        At least 0; 0 is the cross entropy.

    References
    ----------
    J. Mukhoti, V. Kulharia, A. Sanyal, S. Golodetz, P. H. S. Torr, P. K. Dokania, "Calibrating deep neural networks
    using focal loss", NeurIPS 2020.

    Examples
    --------
    With equal probabilities of two classes, the loss is ln(2) / 4:

    >>> round(FocalLoss(2)(torch.zeros(1, 2), torch.tensor([0])).item(), 4)
    0.1733
    """

    gamma: float = 3.0

    def __post_init__(self) -> None:
        check_not_negative(self.gamma, "gamma")

    def rows(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every row."""
        return _focal(logits, labels, self.gamma)


@dataclass(frozen=True)
class SampleDependentFocalLoss(Loss):
    """Focal loss with a separate exponent for rows whose label is improbable, "FLSD-53".

    Parameters
    ----------
    below, above : float, default=5 and 3
        The exponents for labels with a probability below the threshold, and for all others.
    threshold : float, default=0.2

    References
    ----------
    See `FocalLoss`.
    """

    below: float = 5.0
    above: float = 3.0
    threshold: float = 0.2

    def __post_init__(self) -> None:
        check_not_negative(self.below, "below")
        check_not_negative(self.above, "above")
        if not 0 <= self.threshold <= 1:
            raise InputError(f"threshold must be in [0, 1], but is {self.threshold!r}.")

    def rows(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every row; the choice of the exponent has no gradient."""
        probs = _at(logits.detach().softmax(dim=1), labels)
        gammas = torch.where(probs < self.threshold, self.below, self.above).to(logits.dtype)
        return _focal(logits, labels, gammas)


class Penalty(ABC):
    """A calibration error of a batch of logits, (n, K), with labels, (n,).

    It is not a mean over rows, so values for different batch sizes are not comparable. A network that gives every row
    the same probabilities can have an error of 0, so add the penalty to a loss, with `Penalised`.

    Attributes
    ----------
    notion : {"confidence", "all classes"}
        Whether it measures the calibration of the largest probability or of the whole vector.
    is_unbiased : bool
        Whether the expected value does not depend on the number of rows. Other penalties are positive by chance, the
        more so the fewer rows there are: below about 64, they are mostly noise.
    """

    notion: ClassVar[Literal["confidence", "all classes"]]
    is_unbiased: ClassVar[bool]

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, a scalar."""
        _check_batch(logits, labels)
        return self.of(logits.log_softmax(dim=1), labels)

    @abstractmethod
    def of(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """Return the error of the batch, given logarithms of probabilities."""


@dataclass(frozen=True)
class Penalised(Loss):
    """A loss with a penalty for the calibration error of the batch.

    Parameters
    ----------
    loss : Loss
        Usually `CrossEntropy()`, or another `Penalised`.
    penalty : Penalty
    weight : float, default=1
        Factor of the penalty.

    Examples
    --------
    Two rows that are right with a probability of 1/2: ln 2 = 0.6931, and twice the error of 1/2.

    >>> from calibrant.lab.training import MMCEPenalty
    >>> loss = Penalised(CrossEntropy(), MMCEPenalty(), weight=2)
    >>> round(loss(torch.zeros(2, 2), torch.tensor([0, 0])).item(), 4)
    1.6931
    """

    loss: Loss
    penalty: Penalty
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_not_negative(self.weight, "weight")

    def rows(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of every row, each with the penalty of the batch added."""
        return self.loss.rows(logits, labels) + self.weight * self.penalty(logits, labels)


def _check_batch(logits: Tensor, labels: Tensor) -> None:
    """Refuse arrays whose shapes are not those of logits and labels."""
    if logits.ndim != 2 or len(logits) < 1 or logits.shape[1] < 2 or labels.shape != logits.shape[:1]:
        raise InputError(
            "logits must have the shape (n, K) with n >= 1 and K >= 2, and labels the shape (n,), "
            f"but they have {tuple(logits.shape)} and {tuple(labels.shape)}."
        )


def _focal(logits: Tensor, labels: Tensor, gamma: float | Tensor) -> Tensor:
    # With the log-odds against the label, ln p = ln sigmoid(-odds) and ln(1 - p) = ln sigmoid(odds). Both are accurate,
    # also where p rounds to 1. Computed from ln p, 1 - p would be 0 there, and its powers would have no gradient.
    is_label = nn.functional.one_hot(labels, logits.shape[1]).bool()
    odds = logits.masked_fill(is_label, -math.inf).logsumexp(dim=1) - _at(logits, labels)
    return -nn.functional.logsigmoid(-odds) * torch.exp(gamma * nn.functional.logsigmoid(odds))


def _at(matrix: Tensor, labels: Tensor) -> Tensor:
    return matrix.gather(1, labels[:, None])[:, 0]


LOSSES: dict[str, Loss] = {
    "ce": CrossEntropy(),
    "label-smoothing": LabelSmoothing(0.05),
    "focal-1": FocalLoss(1),
    "focal-2": FocalLoss(2),
    "focal-3": FocalLoss(3),
    "focal-5": FocalLoss(5),
    "flsd-53": SampleDependentFocalLoss(),
}
"""The losses by name."""
