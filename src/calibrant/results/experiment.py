"""Outcomes of an experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calibrant._border.types import FloatArray
from calibrant.results.advice import LearningCurve
from calibrant.results.comparison import Comparison
from calibrant.results.readable import Readable


@dataclass(frozen=True, kw_only=True, repr=False)
class Pipeline(Readable):
    """A network with a calibrator: one row of the table of an experiment.

    Attributes
    ----------
    name : str
    network : str
        The network that produces the logits.
    calibrator : str
        The calibrators that are fitted to them, in order of application.
    """

    name: str
    network: str
    calibrator: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CurveLine(Readable):
    """A reliability curve by kernel regression: predicted, observed and number of rows at each point, of shape (m,)."""

    predicted: FloatArray
    observed: FloatArray
    count: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PipelineCurves(Readable):
    """The reliability curves of a pipeline on the test split.

    Attributes
    ----------
    seed : int
    pipeline : str
    confidence : CurveLine
        Confidence against correctness; for two classes, probability of class 1 against its frequency.
    average : CurveLine
        The mean over classes.
    classes : mapping of str to CurveLine
        Every class against the rest.
    """

    seed: int
    pipeline: str
    confidence: CurveLine
    average: CurveLine
    classes: Mapping[str, CurveLine]


@dataclass(frozen=True, kw_only=True, repr=False)
class SeedSummary(Readable):
    """One metric of one pipeline over all seeds.

    Attributes
    ----------
    pipeline, metric : str
    mean, least, greatest : float
    difference : float or None
        Mean of the differences from the baseline.
    n_better, n_worse : int
        Seeds in which the limits of the difference exclude 0 on the better side, and on the worse.
    """

    pipeline: str
    metric: str
    mean: float
    least: float
    greatest: float
    difference: float | None
    n_better: int
    n_worse: int


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ExperimentResult(Readable):
    """Everything that an experiment found on its test split.

    Attributes
    ----------
    title : str
    data : str
        Where the logits come from.
    seeds : tuple of int
    pipelines : tuple of Pipeline
    comparisons : tuple of Comparison
        One per seed: every metric of every pipeline with its interval, and the difference from the baseline. P-values
        are adjusted by Holm's method over the pipelines, for each metric by itself.
    summary : tuple of SeedSummary
        Pipeline after pipeline, each metric in order.
    curves : tuple of PipelineCurves
        Seed after seed, pipeline after pipeline.
    learning : tuple of LearningCurve
        One per seed: quality on the test split against the rows that calibrators were fitted to. Empty by default.
    settings : mapping
    """

    title: str
    data: str
    seeds: tuple[int, ...]
    pipelines: tuple[Pipeline, ...]
    comparisons: tuple[Comparison, ...]
    summary: tuple[SeedSummary, ...]
    curves: tuple[PipelineCurves, ...]
    learning: tuple[LearningCurve, ...]
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False)
class StepStatus(Readable):
    """One unit of work.

    Attributes
    ----------
    name, kind : str
    state : {"done", "missing", "damaged"}
        A damaged result is computed again by the next run.
    file : str
        Name of its file.
    seconds : float or None
        How long it took, if known.
    """

    name: str
    kind: str
    state: str
    file: str
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ExperimentStatus(Readable):
    """The progress of an experiment.

    Attributes
    ----------
    title : str
    is_running : bool
        Whether a process is running it.
    is_complete : bool
    steps : tuple of StepStatus
        In the order in which they are done.
    """

    title: str
    is_running: bool
    is_complete: bool
    steps: tuple[StepStatus, ...]
