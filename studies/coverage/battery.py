"""The confidence limits under examination."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.assessment.comparison import compare
from calibrant.intervals.methods import METHODS, method_for
from calibrant.intervals.requirements import FEWEST_PAIRED
from calibrant.kernels import ExponentialKernel, TotalVariation, WhiteKernel
from calibrant.metrics import (
    ECE,
    METRICS,
    NLL,
    SKCE,
    Accuracy,
    Brier,
    CoxIntercept,
    CoxSlope,
    InTheLarge,
    KdeECE,
    Metric,
    ObservedExpectedRatio,
)
from calibrant.predictions import Predictions
from calibrant.resampling.bootstrap import Bootstrap
from calibrant.results import Difference, known_limits
from studies.coverage.cells import BETAS, FURTHER, SHAPES, Cell, Pair
from studies.coverage.truths import LENGTHSCALE, SKCE_DIFFERENCE, Truth, skce_at, skce_between

N_RESAMPLES = 399
"""Bootstrap samples: 0.025 and 0.975 are multiples of 1 / (399 + 1)."""

LEVEL = 0.95

KERNEL = ExponentialKernel(TotalVariation(), LENGTHSCALE) @ WhiteKernel()
"""With a fixed lengthscale."""


@dataclass(frozen=True)
class Entry(ABC):
    """What is computed from a data set.

    Attributes
    ----------
    metric : Metric
    truth : str
        The true value of the metric, or of what stands for it, by its name in `truths`.
    cost : float
        Milliseconds on 1000 rows of two classes, roughly, to run cheap work first.
    most_rows : int
        Larger data sets would take too long.
    shapes : tuple of str
        Predictions of other shapes would too.
    least_rows : int
        The library refuses smaller data sets, which are simulated all the same.
    further : tuple of int
        Rows of the data sets that are simulated in the worlds `FURTHER` too.
    """

    metric: Metric
    truth: str
    cost: float
    most_rows: int = 5000
    shapes: tuple[str, ...] = tuple(SHAPES)
    least_rows: int = 0
    further: tuple[int, ...] = ()

    @property
    @abstractmethod
    def truths(self) -> dict[str, str]:
        """Names of the intervals that come out, with what they should contain."""

    @property
    @abstractmethod
    def offered(self) -> str | None:
        """Which of them the library offers."""

    @abstractmethod
    def limits(self, data: Pair, rng: np.random.Generator) -> list[float]:
        """Return the lower and the upper limit of each."""

    @property
    def n_columns(self) -> int:
        """How many numbers `limits` returns."""
        return 2 * len(self.truths)

    def true_values(self, quantity: str, truths: Mapping[str, Truth], limits: FloatArray) -> FloatArray:
        """Return the true value for every data set."""
        return np.full(len(limits), truths[quantity].value)

    def takes(self, cell: Cell) -> bool:
        """Whether the data sets of the cell are of the right size and shape."""
        if cell.world in FURTHER:
            return cell.n in self.further
        return cell.n <= self.most_rows and cell.world.shape in self.shapes

    def seconds(self, cell: Cell) -> float:
        """Return about how long all data sets of a cell take; only the order matters."""
        return cell.sets * (1 + self.cost * cell.n / 1000) / 1000


@dataclass(frozen=True)
class OwnMethod(Entry):
    """The method that `calibrant.interval` offers for the metric."""

    method: str = ""

    @property
    def truths(self) -> dict[str, str]:
        """The one method."""
        return {self.method: self.truth}

    @property
    def offered(self) -> str:
        """Its name."""
        return self.method

    def limits(self, data: Pair, rng: np.random.Generator) -> list[float]:
        """Return its limits, NaN where "auto" gives none for another reason than the number of rows."""
        is_large = data.model.n_samples >= self.least_rows
        if is_large and method_for(self.metric, data.model) != self.method:
            return [np.nan, np.nan]
        limits = METHODS[self.method](data.model, self.metric, LEVEL, Bootstrap(N_RESAMPLES), rng)
        return [limits.low, limits.high]


@dataclass(frozen=True)
class MedianLengthscale(OwnMethod):
    """The method for a metric whose kernel is tuned to the sample: it is about the error with the kernel so found."""

    @property
    def n_columns(self) -> int:
        """Limits and lengthscale."""
        return 3

    def true_values(self, quantity: str, truths: Mapping[str, Truth], limits: FloatArray) -> FloatArray:  # noqa: ARG002 (one name stands for many)
        """Return the error at the lengthscale of every data set."""
        return skce_between(limits[:, 2], truths)

    def limits(self, data: Pair, rng: np.random.Generator) -> list[float]:
        """Return limits and lengthscale."""
        lengthscale = cast("float", self.metric.details(data.model)["lengthscale"])
        return [*super().limits(data, rng)[:2], lengthscale]


@dataclass(frozen=True)
class Naive(Entry):
    """What the textbook bootstrap gives, whether it is valid or not."""

    offered: ClassVar[None] = None

    @property
    def truths(self) -> dict[str, str]:
        """Both are about the metric itself."""
        return {"percentile": self.truth, "basic": self.truth}

    def limits(self, data: Pair, rng: np.random.Generator) -> list[float]:
        """Return quantiles of the replicates, and these reflected at the value."""
        evaluate = self.metric.prepare(data.model)
        value = float(evaluate(data.model.weights[:, None])[0])
        counts = Bootstrap(N_RESAMPLES).counts(data.model.n_samples, rng)
        draws = np.concatenate([evaluate(block) for block in counts])
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf").tolist()
        return [low, high, 2 * value - high, 2 * value - low]


@dataclass(frozen=True)
class Paired(Entry):
    """The difference of two models, as `calibrant.compare` gives it."""

    offered: str | None = "hall"

    @property
    def truths(self) -> dict[str, str]:
        """The offered limits, if there are such, and the textbook ones."""
        methods = (self.offered, "percentile", "basic")
        return {method: self.truth for method in methods if method is not None}

    def limits(self, data: Pair, rng: np.random.Generator) -> list[float]:
        """Return the limits of the difference, percentiles, and these reflected at the value."""
        models = {"model": data.model, "other": data.other}
        seed = int(rng.integers(2**63))
        found = {rule: self._difference(models, rule, seed) for rule in ("valid", "percentile")}
        drawn = known_limits(found["percentile"])
        if found["percentile"] is None or drawn is None:
            return [np.nan] * self.n_columns
        value, (low, high) = found["percentile"].value, drawn
        by_method = {"percentile": (low, high), "basic": (2 * value - high, 2 * value - low)}
        if self.offered is not None:
            by_method[self.offered] = known_limits(found["valid"]) or (np.nan, np.nan)
        return [limit for method in self.truths for limit in by_method[method]]

    def _difference(self, models: Mapping[str, Predictions], rule: Any, seed: int) -> Difference | None:
        found = compare(
            models,
            {"metric": self.metric},
            n_resamples=N_RESAMPLES,
            level=LEVEL,
            intervals=False,
            differences=rule,
            rng=seed,
        )
        return found.entry("other", "metric").difference


LIFTED = tuple(shape for shape in SHAPES if shape not in BETAS)
TWO_SHAPES = ("beta-2", "dirichlet-0.1")
UNSURE_BETAS = tuple(shape for shape in BETAS if shape != "beta-5-0.1")
"""Without the nearly sure, most samples of which have no finite slope."""

BATTERY: dict[str, Entry] = {
    "nll": OwnMethod(NLL(), "nll", 5, most_rows=1000, further=(1000,), method="hall"),
    "brier": OwnMethod(Brier(), "brier", 5, most_rows=1000, further=(1000,), method="hall"),
    "accuracy": OwnMethod(Accuracy(), "accuracy", 0.1, further=(1000,), method="wilson"),
    "rms-debiased": OwnMethod(
        METRICS["rms-debiased"], "rms", 0.3, further=(300, 1000, 5000, 10_000), method="debiased"
    ),
    "rms-debiased-one-vs-rest": OwnMethod(
        METRICS["rms-debiased-one-vs-rest"], "rms-one-vs-rest", 4, most_rows=1000, shapes=LIFTED, method="debiased"
    ),
    "rms-debiased-per-predicted-class": OwnMethod(
        METRICS["rms-debiased-per-predicted-class"],
        "rms-per-predicted-class",
        1,
        most_rows=1000,
        shapes=LIFTED,
        method="debiased",
    ),
    "skce": OwnMethod(SKCE(KERNEL), skce_at(LENGTHSCALE), 40, most_rows=1000, least_rows=FEWEST_PAIRED, method="law"),
    "skce-median": MedianLengthscale(
        SKCE(), skce_at(LENGTHSCALE), 40, most_rows=1000, least_rows=FEWEST_PAIRED, method="law"
    ),
    "cox-slope": OwnMethod(CoxSlope(), "cox-slope", 1, shapes=tuple(BETAS), method="sandwich"),
    "cox-intercept": OwnMethod(CoxIntercept(), "cox-intercept", 1, shapes=tuple(BETAS), method="sandwich"),
    "in-the-large": OwnMethod(InTheLarge(), "in-the-large", 1, shapes=tuple(BETAS), method="sandwich"),
    "oe-ratio": OwnMethod(ObservedExpectedRatio(), "oe-ratio", 0.3, method="sandwich"),
    "naive ece": Naive(ECE(), "ece", 4, most_rows=1000),
    "naive kde-ece": Naive(KdeECE(), "kde-ece", 90, most_rows=300, shapes=TWO_SHAPES),
    "nll difference": Paired(NLL(), "nll difference", 10, most_rows=1000),
    "brier difference": Paired(Brier(), "brier difference", 10, most_rows=1000),
    "skce difference": Paired(SKCE(KERNEL), SKCE_DIFFERENCE, 50, most_rows=100, offered="percentile"),
    "cox-slope difference": Paired(
        CoxSlope(), "cox-slope difference", 90, most_rows=300, shapes=UNSURE_BETAS, offered="sandwich"
    ),
    "rms-debiased difference": Paired(METRICS["rms-debiased"], "rms difference", 8, most_rows=1000, offered="debiased"),
    "ece difference": Paired(ECE(), "ece difference", 8, most_rows=1000, offered=None),
    "kde-ece difference": Paired(KdeECE(), "kde-ece difference", 180, most_rows=300, shapes=TWO_SHAPES, offered=None),
}
"""Every row of the tables."""
