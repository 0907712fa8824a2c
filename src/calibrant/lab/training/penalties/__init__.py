"""Differentiable calibration errors of a batch, to be added to a loss, never used alone."""

from calibrant.lab.loss_names import split_loss
from calibrant.lab.training.losses import LOSSES, Loss
from calibrant.lab.training.penalties.confidence import MMCEPenalty, SoftBinnedECEPenalty
from calibrant.lab.training.penalties.penalty import Penalised, Penalty
from calibrant.lab.training.penalties.vector import KdeECEPenalty, SKCEPenalty

__all__ = [
    "PENALTIES",
    "KdeECEPenalty",
    "MMCEPenalty",
    "Penalised",
    "Penalty",
    "SKCEPenalty",
    "SoftBinnedECEPenalty",
    "parse_loss",
]

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
