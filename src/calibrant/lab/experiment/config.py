"""The settings of an experiment: frozen, and checked when they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from calibrant.binning import EqualWidth
from calibrant.metrics import ECE, METRICS, Metric
from calibrant.results import Pipeline

LOSSES = ("ce", "label-smoothing", "focal-1", "focal-2", "focal-3", "focal-5", "flsd-53")
PENALTIES = ("mmce", "skce", "skce-exponential", "kde-ece", "sb-ece")
MODELS = ("cnn", "mlp")
ARCHIVES = ("logits", "bundled")
"""Sources that hold logits, so that no network is trained."""

CHOICES: dict[str, Metric] = METRICS | {"ece-20": ECE(bins=EqualWidth(20))}
"""The metrics that a config may name."""

DEFAULT_METRICS = (
    "rms-debiased",
    "rms-debiased-one-vs-rest",
    "kde-ece",
    "kde-ece-per-predicted-class",
    "kde-ece-one-vs-rest",
    "ece",
    "ece-20",
    "nll",
    "brier",
    "accuracy",
)


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where inputs or logits come from.

    Attributes
    ----------
    source : {"digits", "fashion-mnist", "logits", "bundled"}
    folder : Path or None
        The folder of the files of a data set, or of archives of logits.
    seed : int
        Seed of the division into training and calibration rows; the same for all seeds of the experiment.
    """

    source: str
    folder: Path | None = None
    seed: int = 0

    @property
    def has_logits(self) -> bool:
        """Whether the source holds logits, so that no network is trained."""
        return self.source in ARCHIVES


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network to train.

    Attributes
    ----------
    name : str
    model : str
    loss : str
        As for `calibrant.lab.training.parse_loss`.
    start : str or None
        The network that this one is fine-tuned from.
    schedule : mapping
        The arguments of `calibrant.lab.training.Schedule` that are given.
    """

    name: str
    model: str
    loss: str
    start: str | None = None
    schedule: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How pipelines are compared on the test split.

    Attributes
    ----------
    baseline : str
        Name of a pipeline.
    metrics : tuple of str
    resamples : int
        Bootstrap samples of the rows.
    level : float
    folds : int
        Number of folds of the calibration split, on whose out-of-fold predictions bandwidths are chosen.
    differences : {"valid", "percentile"}
        How differences are tested, as for `calibrant.compare`.
    bandwidth : {"baseline", "own"}
        Whose bandwidths the metrics use, as for `calibrant.compare`.
    """

    baseline: str
    metrics: tuple[str, ...] = DEFAULT_METRICS
    resamples: int = 1000
    level: float = 0.95
    folds: int = 5
    differences: str = "valid"
    bandwidth: str = "baseline"


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Learning curves: the quality of calibrators by the number of rows that they are fitted to.

    Attributes
    ----------
    network : str
    calibrators : tuple of str
    sizes : tuple of int
    metrics : tuple of str
    repeats : int
        How many times rows are drawn.
    """

    network: str
    calibrators: tuple[str, ...]
    sizes: tuple[int, ...]
    metrics: tuple[str, ...] = ("nll", "brier", "ece")
    repeats: int = 5


@dataclass(frozen=True, kw_only=True)
class Config:
    """An experiment.

    Attributes
    ----------
    title : str
    seeds : tuple of int
        Everything is trained, fitted and evaluated once per seed.
    data : Data
    networks : tuple of Network
        Each after the one that it starts from. Empty if the source holds logits.
    pipelines : tuple of Pipeline
    evaluation : Evaluation
    learning : Learning or None
    """

    title: str
    seeds: tuple[int, ...]
    data: Data
    networks: tuple[Network, ...]
    pipelines: tuple[Pipeline, ...]
    evaluation: Evaluation
    learning: Learning | None = None

    @property
    def network_names(self) -> tuple[str, ...]:
        """The networks whose logits are needed, in order of first use."""
        used = [pipeline.network for pipeline in self.pipelines]
        return tuple(dict.fromkeys(used + ([self.learning.network] if self.learning else [])))
