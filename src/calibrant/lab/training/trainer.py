"""Train a network epoch by epoch, with checkpoints."""

import hashlib
import math
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from calibrant._border.numerals import as_given
from calibrant._border.types import IntArray, Progress, Rng
from calibrant.calibrators.fitting.inverse_temperature import best_log_beta
from calibrant.calibrators.fitting.log_odds import finite
from calibrant.exceptions import InputError
from calibrant.io import check_writable
from calibrant.lab.schedule import Epoch, History, Schedule, best_epoch, is_over
from calibrant.lab.training.checkpoint import Checkpoint, digest, read_checkpoint
from calibrant.lab.training.losses import Loss
from calibrant.lab.training.models import in_mode, placed, predict_logits, seeded, threaded

if TYPE_CHECKING:
    from calibrant.lab.datasets import Split


MOMENTUM = 0.9


class Trainer:
    """A network in training.

    All random numbers of an epoch are a function of the seed and the number of the epoch, so a checkpoint needs no
    generator state.
    """

    def __init__(self, model: nn.Module, data: "Split", loss: Loss, schedule: Schedule, seed: int) -> None:
        self.model, self.data, self.loss, self.schedule, self.seed = model, data, loss, schedule, seed
        self.watched, self.trained = _sliced(len(data.labels), schedule.held_out, seed)
        _check_labels(model, data)
        self.settings = _settings(model, data, loss, schedule, seed)
        self.optimizer = torch.optim.SGD(
            model.parameters(),
            lr=schedule.learning_rate,
            momentum=MOMENTUM,
            weight_decay=schedule.weight_decay,
            nesterov=True,
        )
        self.inputs, self.labels = torch.tensor(data.inputs), torch.tensor(data.labels)
        self.epochs: tuple[Epoch, ...] = ()
        self.best: dict[str, Tensor] | None = None

    @property
    def batches(self) -> int:
        """Number of batches per epoch."""
        return math.ceil(len(self.trained) / self.schedule.batch_size)

    def snapshot(self) -> Checkpoint:
        """Return the current state, as references that change with further training."""
        return Checkpoint(self.settings, self.epochs, self.model.state_dict(), self.optimizer.state_dict(), self.best)

    def restore(self, state: Checkpoint) -> None:
        """Set the state."""
        self.model.load_state_dict(state.model)
        self.optimizer.load_state_dict(state.optimizer)
        self.epochs, self.best = state.epochs, state.best

    def advance(self, progress: Progress | None) -> None:
        """Train for one more epoch."""
        number = len(self.epochs)
        order_seed, module_seed = np.random.SeedSequence([self.seed, 1 + number]).spawn(2)
        order = np.random.default_rng(order_seed).permutation(self.trained)
        with seeded(int(np.random.default_rng(module_seed).integers(2**63))), in_mode(self.model, training=True):
            total = self._pass_over(torch.from_numpy(order), progress)
        self.epochs += (self._checked(Epoch(total / len(self.trained), *self._watch())),)
        if self.schedule.patience is not None and best_epoch(self.epochs, self.schedule) == number + 1:
            self.best = deepcopy(self.model.state_dict())

    def finish(self) -> History:
        """Load the weights to be kept into the network, and return the measurements."""
        if self.best is not None:
            self.model.load_state_dict(self.best)
        return History(self.epochs, best_epoch(self.epochs, self.schedule))

    def _pass_over(self, order: Tensor, progress: Progress | None) -> float:
        """Train on all batches of an epoch; return the sum of the losses of its rows."""
        total, done, steps = 0.0, len(self.epochs) * self.batches, self.schedule.epochs * self.batches
        for rows in order.tensor_split(self.batches):
            for group in self.optimizer.param_groups:
                group["lr"] = self.schedule.rate_at(done / steps)
            total += self._step(rows) * len(rows)
            done += 1
            if progress is not None:
                progress(done, steps)
        return total

    def _step(self, rows: Tensor) -> float:
        self.optimizer.zero_grad()
        value = self.loss(self.model(placed(self.inputs[rows], self.model)), placed(self.labels[rows], self.model))
        value.backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
        self.optimizer.step()
        return value.item()

    def _checked(self, seen: Epoch) -> Epoch:
        for value in (seen.loss, seen.held_out_loss, seen.held_out_calibrated_nll):
            if value is not None and not math.isfinite(value):
                raise InputError(
                    f"the loss must stay finite, but is {value} in epoch {len(self.epochs) + 1}. Lower the learning "
                    f"rate, now {as_given(self.schedule.learning_rate)}, and scale the inputs to unit variance."
                )
        return seen

    def _watch(self) -> tuple[float | None, ...]:
        if not len(self.watched):
            return ()
        logits = predict_logits(self.model, self.data.inputs[self.watched])
        labels = self.data.labels[self.watched]
        accuracy = float(np.mean(logits.argmax(axis=1) == labels))
        return self._loss_of(logits, labels), accuracy, self._calibrated_nll(logits, labels)

    def _loss_of(self, logits: NDArray[np.float32], labels: IntArray) -> float:
        """Return the loss in batches of about the training size, on which penalties and their memory depend."""
        n_batches = math.ceil(len(labels) / self.schedule.batch_size)
        pairs = zip(np.array_split(logits, n_batches), np.array_split(labels, n_batches), strict=True)
        total = sum(self.loss(torch.tensor(z).double(), torch.tensor(y)).item() * len(y) for z, y in pairs)
        return total / len(labels)

    def _calibrated_nll(self, logits: NDArray[np.float32], labels: IntArray) -> float | None:
        """Return the log loss at the optimal temperature; None if it is not watched, or if logits are NaN."""
        log_probs = torch.tensor(logits).double().log_softmax(dim=1)
        if self.schedule.watch != "calibrated-nll" or log_probs.isnan().any():
            return None
        scores = finite(log_probs.numpy())
        scale = math.exp(best_log_beta(scores, labels, np.ones(len(labels))).at)
        return nn.functional.cross_entropy(torch.tensor(scale * scores), torch.tensor(labels)).item()


def _sliced(n: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the held-out rows and all others."""
    n_held = math.ceil(share * n)
    if n_held >= n:
        raise InputError(f"data must have rows to train on, but {n_held} of {n} are held out. Lower held_out.")
    order = np.random.default_rng([seed, 0]).permutation(n)
    return order[:n_held], order[n_held:]


def _check_labels(model: nn.Module, data: "Split") -> None:
    n_classes = predict_logits(model, data.inputs[:1]).shape[1]
    if data.labels.max() >= n_classes:
        raise InputError(
            f"the labels must be below {n_classes}, the number of outputs of the network, but one is "
            f"{data.labels.max()}. Build the network for more classes."
        )


def _settings(model: nn.Module, data: "Split", loss: Loss, schedule: Schedule, seed: int) -> str:
    """Return a digest of everything that determines the weights."""
    total = hashlib.sha256(repr((loss, schedule, seed, MOMENTUM, digest(model), data.inputs.shape)).encode())
    total.update(np.ascontiguousarray(data.inputs).data)
    total.update(np.ascontiguousarray(data.labels).data)
    return total.hexdigest()


def train(
    model: nn.Module,
    data: "Split",
    loss: Loss,
    schedule: Schedule,
    *,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    rng: Rng = 0,
) -> History:
    """Train a network in place; to fine-tune, pass a trained network and a smaller learning rate.

    Parameters
    ----------
    model : torch.nn.Module
        Returns logits. Its training or evaluation mode is restored afterwards.
    data : Split
        All rows that training may use, including those that the schedule holds out.
    loss : Loss
    schedule : Schedule
    checkpoint : path, optional
        A file that is replaced after every epoch. If the process was killed, the same call, with the network built and
        seeded as before, continues from there and gives the same weights to the last bit. From the checkpoint of a
        finished training, its weights are loaded at once. A damaged checkpoint is ignored, and training starts again.
    progress : callable, optional
        Called with (steps done, total steps).
    rng : Generator, int or None, default=0
        Decides the held-out rows, the order of the others, and dropout. None, a fresh seed, excludes a checkpoint.

    Returns
    -------
    History

    Raises
    ------
    InputError
        If the labels do not fit the network, if the loss is no longer finite, or if the checkpoint belongs to another
        training.

    Notes
    -----
    On the CPU, with the same version of PyTorch and the same number of threads, the same arguments give the same
    weights. The global random generator and the number of threads are restored afterwards.
    """
    if checkpoint is not None and rng is None:
        raise InputError("rng must be a seed if there is a checkpoint, but is None. Pass rng=0.")
    trainer = Trainer(model, data, loss, schedule, seed=int(np.random.default_rng(rng).integers(2**63)))
    if checkpoint is not None:
        check_writable(checkpoint)
        state = read_checkpoint(Path(checkpoint), trainer.settings)
        if state is not None:
            trainer.restore(state)
    while not is_over(trainer.epochs, schedule):
        with threaded(schedule.threads):
            trainer.advance(progress)
        if checkpoint is not None:
            trainer.snapshot().write(Path(checkpoint))
    return trainer.finish()
