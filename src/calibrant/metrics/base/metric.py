"""The base class of all metrics, and helpers that they share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, IntArray
from calibrant._border.warn import warn
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.metrics.base.counted import CountedMetric, as_counted_metric
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.results import Description, Estimate
from calibrant.results.words.metrics import why_without_value

SCORES = "Scores"
CALIBRATION = "Calibration error"
PARTS = "Parts of a score"
KERNEL = "Kernel calibration error"
CLINICAL = "Clinical measures"
QUANTILES = "Calibration of quantiles and intervals"
SHARPNESS = "Sharpness"
SELECTIVE = "Selective prediction"
DECISIONS = "Decisions"
"""Headings under which metrics are shown, in this order."""


MOST_LISTED = 5
"""The largest number of rows that are named."""

ClassRows: TypeAlias = Literal["all", "predicted"]
"""The rows of a class: all, as in `Classwise`, or those predicted as this class, as in `PerPredictedClass`."""


class SharedBandwidths(NamedTuple):
    """The metric of each class, with a bandwidth chosen jointly, and the details that describe the choice."""

    members: tuple["Metric", ...]
    details: Mapping[str, object]


Measured: TypeAlias = Literal["calibration", "accuracy", "both", "chance", "sharpness"]
"""What a metric may measure."""

Weights: TypeAlias = Literal["frequency", "pairs"]
"""Whether a weight is a number of copies of a row, or a weight of its pairs; see `Metric`."""


class Metric(ABC):
    """A number computed from predictions; concrete metrics are frozen dataclasses of their settings.

    A metric defines `prepare`, which computes once what does not depend on the weights, and returns a function from a
    matrix of weights to values: resampling rows means choosing weights. Bins and bandwidths are chosen in `prepare` and
    stay fixed over the replicates. A bandwidth may also be chosen beforehand, on these rows or on others, by
    `fit_bandwidth`.

    Attributes
    ----------
    label, meaning : str
        A short name, and one sentence that says what it measures.
    caution : str
        When it misleads, as the end of a sentence that begins with its label; empty if it does not.
    group : str
        The heading under which it is shown.
    principal : bool
        Whether it is shown by default.
    family : {"score", "binned", "kernel", "smooth", "rank"}
        Its statistical behaviour, which decides which confidence limits are valid.
    accepts : {"any", "binary"}
        "binary" metrics reduce more than two classes to confidence against correctness, as `TopLabel` does.
    better : {"lower", "higher", "none"}
        "none" if it describes rather than judges.
    weights : {"frequency", "pairs"}
        Weights are relative: a constant factor changes nothing. "frequency": an integer weight equals as many copies of
        the row. "pairs": a row is one draw at any weight; a pair of different rows weighs the product of their
        weights, and a row is never paired with its own copies.
    measures : {"calibration", "accuracy", "both", "chance", "sharpness"}
        The property of predictions that it measures.
    predictions, forecasts : bool
        Whether it can be computed from class `Predictions`, and from predictive distributions, `Forecasts`.
    least_rows : int
        Smallest number of rows.
    cells : bool
        Whether it can be computed from the cells of a sketch, which stand for many rows (`Predictions.copies`).
    methods : tuple of str
        Methods of `calibrant.intervals` whose limits are known to cover; the first is used unless another is requested.
    is_unbiased : bool
        Whether it is a calibration error that is 0 on average for a calibrated model.
    redraws_quickly : bool
        Whether values for redrawn labels take little time.
    """

    label: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    caution: ClassVar[str] = ""
    group: ClassVar[str] = CALIBRATION
    principal: ClassVar[bool] = False
    family: ClassVar[Literal["score", "binned", "kernel", "smooth", "rank"]]
    accepts: ClassVar[Literal["any", "binary"]] = "any"
    better: ClassVar[Literal["lower", "higher", "none"]] = "lower"
    weights: ClassVar[Weights] = "frequency"
    measures: ClassVar[Measured]
    predictions: ClassVar[bool] = True
    forecasts: ClassVar[bool] = False
    least_rows: ClassVar[int] = 1
    cells: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = ()
    redraws_quickly: ClassVar[bool] = True

    @property
    def is_unbiased(self) -> bool:
        """Whether it is 0 on average for a calibrated model."""
        return False

    @property
    def limits(self) -> str | None:
        """The method of `calibrant.intervals` that is used unless another is requested; None if none is known."""
        return self.methods[0] if self.methods else None

    def about(self) -> Description:
        """Return how it is presented; without a label, by the name of its class."""
        return Description(
            label=self.label or type(self).__name__,
            meaning=self.meaning,
            caution=self.caution,
            better=self.better,
            group=self.group,
            principal=self.principal,
        )

    @abstractmethod
    def prepare(self, predictions: Any) -> Evaluator:
        """Return the map from weights, (n, B), to B values; every column needs a positive sum."""

    def fit_bandwidth(self, predictions: Any) -> Self:  # noqa: ARG002 (most have none)
        """Return the metric with bandwidths chosen on these predictions in place of rules.

        It is the metric itself if there is nothing to choose.
        """
        return self

    def prepare_labels(self, predictions: Any) -> Evaluator:
        """Return the map from class indices, or targets of forecasts, (n, B), to B values at the data's own weights."""
        of_events = self.prepare_events(self.view(predictions)) if isinstance(predictions, Predictions) else None
        if of_events is not None:
            event = 1 if self.view(predictions) is predictions else predictions.predicted[:, None]
            return lambda labels: of_events(labels == event)
        relabel = predictions.with_labels if isinstance(predictions, Predictions) else predictions.with_targets

        def evaluate(labels: IntArray) -> FloatArray:
            return np.array([self.value(relabel(labels[:, b])) for b in range(labels.shape[1])])

        return evaluate

    def prepare_events(self, view: Predictions) -> Evaluator | None:  # noqa: ARG002 (some have no quicker way)
        """Return the map from whether the event of `view` happens, (n, B), to B values.

        None if values for other labels are those of relabelled predictions.
        """
        return None

    def by_chance(self, forecasts: Forecasts, n_redraws: int, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 (those of forecasts have one)
        """Return B values that calibrated forecasts have by chance; None if their law is not known."""
        return None

    def prepare_counts(self, predictions: Predictions) -> CountedMetric | None:
        """Return the map from event counts in cells of rows to values, if a binary metric needs only these.

        None if the metric needs the labels of single rows, as most do unless the rows are cells of a sketch, or if
        there are so few rows that using the labels is as fast. Rows of a cell that differ in weight or coefficient
        count with the mean of their cell.
        """
        return None if predictions.copies is None else as_counted_metric(predictions, self.fit_bandwidth(predictions))

    def influence(self, predictions: Predictions) -> FloatArray:
        """Return what each row contributes to the error of the value, to first order, for the limits "sandwich"."""
        raise NotImplementedError

    def class_values(self, predictions: Predictions) -> FloatArray:
        """Return the value of every class against the rest, (K,), at the data's own weights."""
        return np.array([self.value(predictions.one_vs_rest(c)) for c in range(predictions.n_classes)])

    def prepare_classes(self, predictions: Predictions) -> Evaluator | None:  # noqa: ARG002 (most go class by class)
        """Return the map from class indices, (n, B), to values of every class against the rest, (K, B).

        None if each class is prepared by itself.
        """
        return None

    def is_affordable(self, data: Any) -> bool:  # noqa: ARG002 (most are)
        """Return whether the value takes seconds at most; a report omits slower metrics unless they are requested."""
        return True

    def fit_shared_bandwidth(self, predictions: Predictions, rows: ClassRows) -> "SharedBandwidths | None":  # noqa: ARG002 (most choose nothing)
        """Return the metrics of many classes, with a bandwidth chosen jointly; None if each class has its own."""
        return None

    def details(self, predictions: Any) -> Mapping[str, object]:  # noqa: ARG002 (most have nothing to add)
        """Return the details of an estimate."""
        return {}

    def view(self, predictions: Predictions) -> Predictions:
        """Return the data from which the metric is computed: the top-label view where a binary metric needs it."""
        if self.accepts == "binary" and predictions.n_classes > 2:
            return predictions.top_label()
        return predictions

    def __call__(self, data: object, y_prob: object = None, sample_weight: object = None) -> float:
        """Return the value of predictions or forecasts at their own weights, or of labels and probabilities."""
        given = as_data(data, y_prob, sample_weight)
        value = self.value(given)
        if math.isnan(value):
            why = why_without_value(self.describe(given)) or "the data do not determine one"
            warn(f"{self!r} has no value: {why}. NaN is returned.")
        return value

    def estimate(self, data: object, y_prob: object = None, sample_weight: object = None) -> Estimate:
        """Return the value with its details."""
        return self.describe(as_data(data, y_prob, sample_weight))

    def value(self, data: Any) -> float:
        """Return the value at the data's own weights."""
        self.check(data)
        return float(self.prepare(data)(data.weights[:, None])[0]) if self.has_value(data) else math.nan

    def has_value(self, data: Any) -> bool:  # noqa: ARG002 (most have one)
        """Return whether the data determine a value; it is NaN otherwise, and the details say why."""
        return True

    def describe(self, data: Any) -> Estimate:
        """Return the value with its details."""
        value = self.value(data)
        return Estimate(name=repr(self), value=value, details=self.details(data), about=self.about())

    def suits(self, data: object) -> bool:
        """Return whether the metric can be computed from this data."""
        return isinstance(data, self._kinds()) and self._takes_copies(data)

    def _takes_copies(self, data: object) -> bool:
        return self.cells or getattr(data, "copies", None) is None

    def _kinds(self) -> tuple[type, ...]:
        """Return the kinds of data that it can be computed from."""
        taken = {Predictions: self.predictions, Forecasts: self.forecasts}
        return tuple(kind for kind, is_taken in taken.items() if is_taken)

    def check(self, data: object) -> None:
        """Refuse data that the metric cannot be computed from."""
        if not isinstance(data, self._kinds()):
            kinds = " or ".join(kind.__name__ for kind in self._kinds())
            remedy = "" if isinstance(data, (Predictions, Forecasts)) else " Pass Predictions, or (y_true, y_prob)."
            found = type(data).__name__
            raise TypeError(f"{type(self).__name__} is computed from {kinds}, but got {found}.{remedy}")
        if not self._takes_copies(data):
            raise InputError(f"{type(self).__name__} needs single rows, which a sketch does not hold. Read the rows.")


def check_metric(value: object, name: str = "metric") -> None:
    """Refuse anything but a metric, such as the name of one."""
    if not isinstance(value, Metric):
        raise TypeError(f"{name} must be a metric such as ECE() or METRICS['ece'], but is {value!r:.60}.")


def check_norm(norm: object, *, largest: bool) -> None:
    """Refuse anything but the exponent of a norm; infinity is admitted only if `largest`."""
    is_number = isinstance(norm, Real) and not isinstance(norm, bool)
    if is_number and 1 <= norm <= np.inf and (largest or norm < np.inf):  # type: ignore[operator]
        return
    needed = "a number of at least 1 (inf for the maximum)" if largest else "a finite number of at least 1"
    raise InputError(f"norm must be {needed}, but is {norm!r}.")


def root(means: FloatArray, norm: float) -> FloatArray:
    """Return the norm, given the mean of the gaps raised to its exponent."""
    return means if norm == 1 else means ** (1 / norm)


def infinite_rows(scores: FloatArray, weights: FloatArray) -> dict[str, object]:
    """Return the details of a mean of scores: how many are infinite, and the first of these rows, counted from 0.

    Examples
    --------
    >>> infinite_rows(np.array([1.0, np.inf, np.inf]), np.array([1.0, 1.0, 0.0]))
    {'infinite_rows': 1, 'first_rows': (1,)}
    """
    found = np.flatnonzero(np.isinf(scores) & (weights > 0)).tolist()
    return {"infinite_rows": len(found), "first_rows": tuple(found[:MOST_LISTED])} if found else {}


def relative(weights: FloatArray) -> FloatArray:
    """Return weights divided by the largest of each column, so that products of huge weights do not overflow."""
    return np.asarray(weights / weights.max(axis=0))
