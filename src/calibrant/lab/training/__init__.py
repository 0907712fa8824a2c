"""Train and fine-tune networks with losses that improve calibration; needs PyTorch, the extra [torch]."""

try:
    import torch as _torch  # noqa: F401 (fails here, with advice, if PyTorch is missing)
except ImportError as error:
    raise ImportError('calibrant.lab.training needs PyTorch: pip install "calibrant[torch]".') from error

from calibrant.lab.schedule import Epoch, History, Schedule
from calibrant.lab.training.checkpoint import load_weights, save_weights
from calibrant.lab.training.losses import (
    LOSSES,
    CrossEntropy,
    FocalLoss,
    LabelSmoothing,
    Loss,
    Penalised,
    Penalty,
    SampleDependentFocalLoss,
)
from calibrant.lab.training.models import MODELS, predict_logits, write_logits
from calibrant.lab.training.penalties import (
    PENALTIES,
    KdeECEPenalty,
    MMCEPenalty,
    SKCEPenalty,
    SoftBinnedECEPenalty,
    parse_loss,
)
from calibrant.lab.training.trainer import train

__all__ = [
    "LOSSES",
    "MODELS",
    "PENALTIES",
    "CrossEntropy",
    "Epoch",
    "FocalLoss",
    "History",
    "KdeECEPenalty",
    "LabelSmoothing",
    "Loss",
    "MMCEPenalty",
    "Penalised",
    "Penalty",
    "SKCEPenalty",
    "SampleDependentFocalLoss",
    "Schedule",
    "SoftBinnedECEPenalty",
    "load_weights",
    "parse_loss",
    "predict_logits",
    "save_weights",
    "train",
    "write_logits",
]
