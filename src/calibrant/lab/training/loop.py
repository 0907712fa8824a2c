"""Training and fine-tuning."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from calibrant._typing import Progress, Rng
from calibrant.exceptions import InputError
from calibrant.io import check_writable
from calibrant.lab.training.checkpoint import read_checkpoint
from calibrant.lab.training.globals import threaded
from calibrant.lab.training.losses import Loss
from calibrant.lab.training.schedule import History, Schedule, is_over
from calibrant.lab.training.trainer import Trainer

if TYPE_CHECKING:
    from calibrant.lab.datasets import Split


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
    """Train a network in place. To fine-tune, give one that has weights, another loss and a smaller learning rate.

    Parameters
    ----------
    model : torch.nn.Module
        Gives logits. Whether it is in training stays as it is.
    data : Split
        All rows that training may see; the schedule says how many of them are only watched.
    loss : Loss
    schedule : Schedule
    checkpoint : path, optional
        A file that is replaced after every epoch. If the process was killed, the same call, with the network built and
        seeded as before, goes on from there and ends with the same weights, to the last bit. The checkpoint of a
        training that is over gives its weights at once. A damaged one is ignored: training starts anew.
    progress : callable, optional
        Called with (steps done, steps in all).
    rng : Generator, int or None, default=0
        Decides the held-out rows, the order of the others, and dropout. None, a fresh seed, excludes a checkpoint.

    Returns
    -------
    History

    Raises
    ------
    InputError
        If the labels do not fit the network, if the loss is not finite any more, or if the checkpoint belongs to
        another training.

    Notes
    -----
    On the processor, with the same version of PyTorch and the same number of threads, the same arguments give the same
    weights. The global random generator and the number of threads are as before afterwards.
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
