"""The schedule of a training, and the measurements of its epochs; PyTorch is not needed."""

import math
from dataclasses import dataclass
from typing import Literal

from calibrant._border.settings import check_count, check_not_negative, check_positive
from calibrant.exceptions import InputError

WATCHED = {"loss": "held_out_loss", "calibrated-nll": "held_out_calibrated_nll"}
"""The values that patience can compare, with their attributes of `Epoch`."""


@dataclass(frozen=True)
class Schedule:
    """Stochastic gradient descent with Nesterov's momentum of 0.9 and a cosine schedule of the learning rate.

    Parameters
    ----------
    epochs : int, default=10
        Largest number of epochs.
    learning_rate : float, default=0.05
        The initial rate. For fine-tuning, use a tenth of it.
    batch_size : int, default=128
        Largest number of rows per batch; the batches of an epoch are equal up to one row.
    weight_decay : float, default=5e-4
    patience : int, optional
        Stop after this many epochs in a row without a lower value of `watch` on the held-out rows, and keep the weights
        of the best epoch. None trains to the end and keeps the last weights.
    watch : {"loss", "calibrated-nll"}, default="loss"
        What patience compares: the loss, or the log loss after temperature scaling, with the temperature that is
        optimal for the held-out rows. The latter does not stop a network that still improves its ranking but has become
        over-confident, which a temperature can correct afterwards.
    held_out : float, default=0.1
        Share of the rows that are watched and not trained on; 0 for none. They depend on `rng` of `train`, so
        fine-tuning with the same `rng` holds out the same rows.
    threads : int, optional
        Number of PyTorch's threads during training; None leaves it unchanged. Rounding depends on it. For a small
        network, 1 is fastest.
    """

    epochs: int = 10
    learning_rate: float = 0.05
    batch_size: int = 128
    weight_decay: float = 5e-4
    patience: int | None = None
    watch: Literal["loss", "calibrated-nll"] = "loss"
    held_out: float = 0.1
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience", "threads"):
            value = getattr(self, name)
            if value is not None or name in ("epochs", "batch_size"):
                check_count(value, name)
        check_positive(self.learning_rate, "learning_rate")
        check_not_negative(self.weight_decay, "weight_decay")
        check_not_negative(self.held_out, "held_out")
        if self.held_out >= 1:
            raise InputError(f"held_out must be in [0, 1), but is {self.held_out!r}.")
        if self.watch not in WATCHED:
            raise InputError(f"watch must be one of {', '.join(WATCHED)}, but is {self.watch!r:.80}.")
        if self.patience is not None and self.held_out == 0:
            raise InputError("patience needs held-out rows, but held_out is 0. Set held_out=0.1, or patience=None.")

    def rate_at(self, progress: float) -> float:
        """Return the learning rate after a given share of all steps."""
        return self.learning_rate * (1 + math.cos(math.pi * progress)) / 2


@dataclass(frozen=True)
class Epoch:
    """The measurements of an epoch.

    Attributes
    ----------
    loss : float
        Mean over the trained rows, each evaluated when its batch was trained.
    held_out_loss, held_out_accuracy : float or None
        On the held-out rows after the epoch; None if there are none. The loss is a mean over batches as in training.
    held_out_calibrated_nll : float or None
        Log loss of the held-out rows after temperature scaling, if the schedule watches it.
    """

    loss: float
    held_out_loss: float | None = None
    held_out_accuracy: float | None = None
    held_out_calibrated_nll: float | None = None


@dataclass(frozen=True)
class History:
    """The measurements of a training.

    Attributes
    ----------
    epochs : tuple of Epoch
    kept : int
        Number of the epoch, from 1, whose weights were kept.
    """

    epochs: tuple[Epoch, ...]
    kept: int


def best_epoch(epochs: tuple[Epoch, ...], schedule: Schedule) -> int:
    """Return the number, from 1, of the epoch whose weights are to be kept."""
    if schedule.patience is None:
        return len(epochs)
    seen = [getattr(epoch, WATCHED[schedule.watch]) for epoch in epochs]
    values = [math.inf if value is None else value for value in seen]
    return values.index(min(values)) + 1


def is_over(epochs: tuple[Epoch, ...], schedule: Schedule) -> bool:
    """Return whether training ends after these epochs."""
    if len(epochs) >= schedule.epochs:
        return True
    return (
        schedule.patience is not None
        and bool(epochs)
        and len(epochs) - best_epoch(epochs, schedule) >= schedule.patience
    )
