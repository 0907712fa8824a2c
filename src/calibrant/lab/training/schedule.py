"""How long and how fast to train, and the results."""

import math
from dataclasses import dataclass
from typing import Literal

from calibrant.exceptions import InputError

WATCHED = {"loss": "held_out_loss", "calibrated-nll": "held_out_calibrated_nll"}
"""What patience may compare, with the attribute of an epoch that holds it."""


@dataclass(frozen=True)
class Schedule:
    """Stochastic gradient descent with Nesterov's momentum of 0.9, at a rate that falls to 0 as a cosine does.

    Parameters
    ----------
    epochs : int, default=10
        The most.
    learning_rate : float, default=0.05
        At the beginning. To fine-tune, take a tenth of that in training.
    batch_size : int, default=128
        Largest number of rows per batch; the batches of an epoch are equal up to one row.
    weight_decay : float, default=5e-4
    patience : int, optional
        Stop after this many epochs in a row without a lower value of `watch` on the held-out rows, and keep the weights
        of the best epoch. None trains to the end and keeps the last weights.
    watch : {"loss", "calibrated-nll"}, default="loss"
        What patience compares: the loss, or the log loss after temperature scaling, with the temperature that fits the
        held-out rows best. The latter does not stop a network that still learns to rank because it became too sure of
        itself, which a temperature mends afterwards.
    held_out : float, default=0.1
        Share of the rows that are watched and not trained on; 0 for none. Which ones depends on `rng` of `train`, so
        the same rows are held out in fine-tuning if it gets the same.
    threads : int, optional
        Threads of PyTorch during training; None leaves their number as it is. Sums are rounded differently with another
        number. For a small network, 1 is fastest.
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
            _check_count(name, getattr(self, name))
        if not 0 < self.learning_rate < math.inf:
            raise InputError(f"learning_rate must be a positive number, but is {self.learning_rate!r}.")
        if not 0 <= self.weight_decay < math.inf:
            raise InputError(f"weight_decay must be a number of at least 0, but is {self.weight_decay!r}.")
        if not 0 <= self.held_out < 1:
            raise InputError(f"held_out must be in [0, 1), but is {self.held_out!r}.")
        if self.watch not in WATCHED:
            raise InputError(f"watch must be one of {', '.join(WATCHED)}, but is {self.watch!r:.80}.")
        if self.patience is not None and self.held_out == 0:
            raise InputError("patience needs rows to watch, but held_out is 0. Hold out a tenth, or set patience=None.")

    def rate_at(self, progress: float) -> float:
        """Return the learning rate after a share of all steps."""
        return self.learning_rate * (1 + math.cos(math.pi * progress)) / 2


@dataclass(frozen=True)
class Epoch:
    """What was measured in an epoch.

    Attributes
    ----------
    loss : float
        Mean over the trained rows, each with the weights it met.
    held_out_loss, held_out_accuracy : float or None
        On the held-out rows after the epoch; None if there are none. The loss is the mean over batches as in training.
    held_out_calibrated_nll : float or None
        Log loss of the held-out rows after temperature scaling, if the schedule watches it.
    """

    loss: float
    held_out_loss: float | None = None
    held_out_accuracy: float | None = None
    held_out_calibrated_nll: float | None = None


@dataclass(frozen=True)
class History:
    """What was measured in training.

    Attributes
    ----------
    epochs : tuple of Epoch
    kept : int
        Number of the epoch, from 1, whose weights the network has.
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
    """Whether training ends after these epochs."""
    if len(epochs) >= schedule.epochs:
        return True
    return (
        schedule.patience is not None
        and bool(epochs)
        and len(epochs) - best_epoch(epochs, schedule) >= schedule.patience
    )


def _check_count(name: str, value: object) -> None:
    if value is None and name in ("patience", "threads"):
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, but is {value!r:.80}.")
    if value < 1:
        raise InputError(f"{name} must be at least 1, but is {value}.")
