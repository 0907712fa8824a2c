"""The base class of penalties, and a loss with a penalty."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from calibrant._border.checks import check_not_negative
from calibrant.exceptions import InputError
from calibrant.lab.training.losses import Loss, check_batch


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
        check_batch(logits, labels)
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

    >>> import torch
    >>> from calibrant.lab.training import CrossEntropy, MMCEPenalty
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


def check_positive(name: str, value: float) -> None:
    """Refuse a setting that is not a positive number."""
    if not 0 < value < math.inf:
        raise InputError(f"{name} must be a positive number, but is {value!r}.")
