"""Base classes of all calibration tests and of those of binary predictions, and what they share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from calibrant._border.types import Evaluator, FloatArray, Progress, Rng
from calibrant._core.laws import SMALLEST_PVALUE
from calibrant.binning.ties import NEGLIGIBLE
from calibrant.exceptions import InputError
from calibrant.forecasts import Forecasts
from calibrant.hypotest.events import label_variances
from calibrant.predictions import Predictions
from calibrant.predictions.two_arrays import as_data
from calibrant.resampling.redraws import redraw_events
from calibrant.results import Description, TestResult

ROUGH = "Approximate here: the weights depend on the labels, but the test treats them as fixed."
"""Caution shown with any test of such rows, for example rows that were reweighted to another base rate."""


FOLLOW_LABELS = "weights follow labels"
"""Key under which this is kept with predictions."""

FEWEST_PER_CLASS = 2
"""In a class with fewer rows, equal weights do not show whether weights depend on the labels."""


def mark_weights(predictions: Predictions) -> Predictions:
    """Mark the weights as derived from the labels."""
    predictions.once(FOLLOW_LABELS, lambda: True)
    return predictions


def weights_follow_labels(predictions: Predictions) -> bool:
    """Return whether weights are marked as derived from labels, or are constant within classes and differ between them.

    Examples
    --------
    >>> p = [0.2, 0.4, 0.6, 0.9]
    >>> weights_follow_labels(Predictions(p, [0, 0, 1, 1], [1, 1, 3, 3]))
    True
    >>> weights_follow_labels(Predictions(p, [0, 1, 0, 1], [1, 1, 3, 3]))
    False
    """
    return predictions.once(FOLLOW_LABELS, lambda: _weights_follow(predictions))


def _weights_follow(predictions: Predictions) -> bool:
    if predictions.copies is not None or predictions.has_equal_weights:
        return False
    present = predictions.weights > 0
    labels, weights = predictions.labels[present], predictions.weights[present]
    if np.ptp(weights) == 0:
        return False
    counts = np.bincount(labels)
    means = np.bincount(labels, weights)[labels] / counts[labels]
    return bool(counts[counts > 0].min() >= FEWEST_PER_CLASS and np.allclose(weights, means, rtol=1e-9, atol=0))


class CalibrationTest(ABC):
    """A test of the hypothesis that the predictions are calibrated; large statistics speak against it.

    Weights are relative: each row counts as one independent draw, regardless of its weight, a constant factor changes
    nothing, and rows of weight 0 are left out here, before any test sees the data.

    Attributes
    ----------
    label, meaning : str
        A short name, and one sentence that says what it detects.
    caution : str
        What its validity rests on.
    principal : bool
        Whether it is shown beside the verdict on the page.
    cells : bool
        Whether it is valid for the cells of a sketch, each of which stands for many rows (`Predictions.copies`).
    takes_forecasts : bool
        Whether it also tests predictive distributions.
    """

    label: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    caution: ClassVar[str] = ""
    principal: ClassVar[bool] = False
    cells: ClassVar[bool] = False
    takes_forecasts: ClassVar[bool] = True

    def about(self) -> Description:
        """Return how it is presented; without a label, by the name of its class."""
        return Description(
            label=self.label or type(self).__name__,
            meaning=self.meaning,
            caution=self.caution,
            principal=self.principal,
        )

    @abstractmethod
    def run(self, data: Any, rng: Rng, progress: Progress | None) -> TestResult:
        """Run the test on rows of positive weight."""

    def __call__(
        self,
        data: object,
        y_prob: object = None,
        sample_weight: object = None,
        *,
        rng: Rng = None,
        progress: Progress | None = None,
    ) -> TestResult:
        """Run the test on predictions or forecasts, or on labels and probabilities."""
        present = _present(as_data(data, y_prob, sample_weight))
        if not self.cells and getattr(present, "copies", None) is not None:
            raise InputError(
                f"{type(self).__name__} needs single rows, which a sketch does not hold. Use OmnibusTest, or pass rows."
            )
        return replace(self.run(present, rng, progress), about=self.about_data(present))

    def about_data(self, data: object) -> Description:
        """Return how it is presented for these data, with a caution if the weights depend on the labels."""
        rough = isinstance(data, Predictions) and weights_follow_labels(data)
        return replace(self.about(), caution=ROUGH) if rough else self.about()


def _present(data: object) -> object:
    """Leave out rows of weight 0. Anything but predictions or forecasts is passed on, for the test to refuse."""
    if not isinstance(data, (Predictions, Forecasts)):
        return data
    if isinstance(data, Predictions) and data.has_equal_weights:
        return data
    present = data.weights > NEGLIGIBLE * data.weights.max()
    return data if present.all() else data.take(np.flatnonzero(present))


def check_rows(data: Predictions | Forecasts, least: int) -> None:
    """Refuse data with too few rows to test."""
    if data.n_samples < least:
        are = "is" if data.n_samples == 1 else "are"
        raise InputError(f"the test needs at least {least} rows, but there {are} {data.n_samples}.")


def monte_carlo_pvalue(statistic: float, null: FloatArray) -> float:
    """Return (1 + number of null draws at or above the statistic) / (1 + number of draws): never 0.

    A draw that equals the statistic up to rounding is a tie, and ties count.
    """
    scale = np.abs(null[np.isfinite(null)]).max(initial=0.0)
    reached = null >= statistic - 1e-12 * scale
    return float((1 + reached.sum()) / (1 + len(null)))


LEAST_EVENTS = 20.0
"""With fewer effective events the large-sample law is rough, and is simulated instead."""

DRAWN_IF_FEW = "Asymptotic; with few events its distribution is simulated by redrawing the labels."
"""Caution of the tests that define `redrawn`."""

N_REDRAWS = 999

SAFE_SQUARE = 1e-200
"""In a sum of squares above this, terms that underflow do not matter."""


class Finding(NamedTuple):
    """What a test found in the binary view."""

    statistic: float
    pvalue: float
    estimate: float
    details: Mapping[str, object]


class BinaryTest(CalibrationTest):
    """A test of binary predictions whose null law for large samples is known in closed form.

    Where that law is unreliable, by a rule that depends on predictions and weights only, the labels are redrawn 999
    times from the predictions, and the p-value is the exact one of `ConsistencyTest`.

    More than two classes are reduced to confidence against correctness; the result's details say which ``view`` was
    tested, "binary" or "top-label". They also hold ``smallest_pvalue``, the floor of the p-values, and ``redraws``,
    which is 0 if the p-value is that of the closed form; otherwise ``closed_form`` holds the p-value of the latter.
    """

    takes_forecasts = False

    @abstractmethod
    def examine(self, view: Predictions, weights: FloatArray) -> Finding:
        """Test binary predictions; the weights are positive, and the largest is 1."""

    def redrawn(self, view: Predictions, weights: FloatArray) -> Evaluator | None:  # noqa: ARG002 (most need none)
        """Return a function from indicators of class 1, (n, B), to statistics, (B,); None if the closed form is valid.

        A statistic is NaN where `examine` would refuse the labels. Such redraws are left out. Given that the observed
        labels are not refused, they are exchangeable with the remaining redraws, so the p-value is exact.
        """
        return None

    def null(self, view: Predictions, weights: FloatArray, rng: Rng, progress: Progress | None) -> FloatArray | None:
        """Return the statistics of labels drawn from the predictions; None if the closed form is valid."""
        evaluate = self.redrawn(view, weights)
        if evaluate is None:
            return None
        blocks = redraw_events(view, N_REDRAWS, np.random.default_rng(rng), progress=progress)
        return np.concatenate([evaluate(events) for events in blocks])

    @np.errstate(under="ignore")  # Tails underflow to 0, regardless of what the caller has set with numpy.seterr.
    def run(self, predictions: Predictions, rng: Rng, progress: Progress | None) -> TestResult:
        """Run the test on the binary view."""
        if not isinstance(predictions, Predictions):
            raise TypeError(f"{type(self).__name__} tests Predictions, but got {type(predictions).__name__}.")
        reduced = predictions.n_classes > 2
        view = predictions.top_label() if reduced else predictions
        even = predictions.has_equal_weights
        weights = np.ones(view.n_samples) if even else view.weights / view.weights.max()
        found = self.examine(view, weights)
        pvalue = min(1.0, max(found.pvalue, SMALLEST_PVALUE))
        shared = {"view": "top-label" if reduced else "binary", "smallest_pvalue": SMALLEST_PVALUE, "redraws": 0}
        null = self.null(view, weights, rng, progress) if found.statistic < np.inf else None
        if null is not None:
            null = null[~np.isnan(null)]
            shared |= {"smallest_pvalue": 1 / (1 + len(null)), "redraws": len(null), "closed_form": pvalue}
            pvalue = monte_carlo_pvalue(found.statistic, null)
        return TestResult(
            name=repr(self),
            statistic=found.statistic,
            pvalue=pvalue,
            estimate=found.estimate,
            details={**found.details, **shared},
        )


def refuse_certainty(view: Predictions) -> None:
    """Refuse predictions that leave nothing to chance."""
    if not label_variances(view).any():
        wrong = int((view.predicted != view.labels).sum())
        raise InputError(
            f"some predictions must lie strictly between 0 and 1, but all {view.n_samples} are exactly 0 or 1, so that "
            f"chance plays no part: one wrong row refutes them, and {wrong} {'is' if wrong == 1 else 'are'} wrong. "
            "Test predicted probabilities, not decisions."
        )


def root_sum_of_squares(values: FloatArray) -> float:
    """Return the Euclidean norm, also where the squares alone would underflow."""
    square = float(values @ values)
    if SAFE_SQUARE < square < math.inf:
        return math.sqrt(square)
    largest = float(np.abs(values).max())
    if largest == 0:
        return 0.0
    scaled = values / largest
    return largest * math.sqrt(scaled @ scaled)
