"""One binary map shared by all classes, and isotonic regression for more than two classes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import softplus
from calibrant.calibrators import operations as ops
from calibrant.calibrators.binary.binary_calibrator import (
    SMALLEST_SHARE,
    BinaryCalibrator,
    Lifted,
    OneVsRest,
    checked_binary,
)
from calibrant.calibrators.binary.isotonic import IsotonicCalibration
from calibrant.calibrators.calibrator import Level
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.fitting.log_odds import Score, class_scores, score_operations
from calibrant.calibrators.inputs import RAW_LOGITS


@dataclass(eq=False, repr=False)
class Pooled(Lifted):
    r"""Fit one binary calibrator to the probabilities of all classes together, and normalise the rows.

    Parameters
    ----------
    calibrator : BinaryCalibrator
        Fitted to the n K pairs of a probability of a class and whether this class was the label.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    calibrator_ : BinaryCalibrator
        The shared map.

    Notes
    -----
    With the shared map g the probabilities are :math:`g(p_k) + 10^{-6} p_k`, divided by their sum. Every row keeps the
    order of its classes, ties included: a class that was ahead of another stays ahead by a factor of at least
    :math:`1 + 2^{-21}`, even if g is constant or decreases. Single precision can represent this difference.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: ensemble and compositional methods for uncertainty calibration
    in deep learning", ICML 2020.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibration
    >>> probs = np.array([[0.6, 0.3, 0.1], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6], [0.1, 0.6, 0.3]])
    >>> irm = Pooled(IsotonicCalibration()).fit(probs, [0, 2, 2, 1])
    >>> irm.predict_proba([[0.6, 0.3, 0.1], [0.3, 0.1, 0.6]]).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    calibrator: BinaryCalibrator
    scores: Literal["probs", "logits"] = "probs"

    preserves_argmax = True
    use_when = "The predicted class must not change and a temperature is not flexible enough."

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # of the inner calibrator
        """The parameters of the inner calibrator."""
        return self.calibrator.n_parameters

    @property
    def data_efficiency(self) -> Level:  # type: ignore[override]  # one step above the inner calibrator
        """One level above that of the inner calibrator: it learns from all classes at once."""
        return "medium" if self.calibrator.data_efficiency == "low" else "high"

    @property
    def expressiveness(self) -> Level:  # type: ignore[override]  # one step below the inner calibrator
        """One level below that of the inner calibrator: all classes share one map."""
        return "medium" if self.calibrator.expressiveness == "high" else "low"

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        n_classes = log_probs.shape[1]
        pairs = class_scores(log_probs, "probability").ravel()
        hits: BoolArray = (labels[:, None] == np.arange(n_classes)).ravel()
        self.calibrator_ = clone(checked_binary(self.calibrator)).fit_line(pairs, hits, np.repeat(weights, n_classes))

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        log_odds = self.calibrator_.log_odds(class_scores(log_probs, "probability").ravel()).reshape(log_probs.shape)
        shared = -softplus(-log_odds)
        return keep_order(np.logaddexp(shared, log_probs + np.log(SMALLEST_SHARE)), log_probs)

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        shared = -ops.softplus(-self.calibrator_.line_operations(score_operations(x, "probability", k)))
        return _order_operations(ops.log_add_exp(shared, x + float(np.log(SMALLEST_SHARE))), x, k)


def irova(score: Score | None = None, scores: Literal["probs", "logits", "raw-logits"] = "probs") -> OneVsRest:
    """Return isotonic regression of each class against the rest (IROvA), by default on its probability or raw logit."""
    usual: Score = "logit" if scores == RAW_LOGITS else "probability"
    return OneVsRest(IsotonicCalibration(), score or usual, scores)


def irm(scores: Literal["probs", "logits"] = "probs") -> Pooled:
    """Return isotonic regression on the probabilities of all classes together (IRM)."""
    return Pooled(IsotonicCalibration(), scores)


SMALLEST_GAP = 2.0**-21
"""Least difference of the log-probabilities of classes that were not tied: four steps of single precision."""


def keep_order(values: FloatArray, originals: FloatArray) -> FloatArray:
    """Raise the values of each row, as little as possible, until they have the order of the originals.

    Examples
    --------
    >>> (keep_order(np.array([[2.0, 2.0, 1.0]]), np.array([[3.0, 5.0, 5.0]])) - 2 > 0).tolist()
    [[False, True, True]]
    """
    order = np.argsort(originals, axis=1)
    ascending = np.take_along_axis(originals, order, axis=1)
    larger = np.zeros(order.shape)
    larger[:, 1:] = ascending[:, 1:] > ascending[:, :-1]
    climb = SMALLEST_GAP * np.cumsum(larger, axis=1)
    # Ties are adjacent and share their climb; the running maximum at the last one covers all of them.
    raised = np.maximum.accumulate(np.take_along_axis(values, order, axis=1) - climb, axis=1)
    last_of_ties = np.minimum.accumulate(
        np.where(np.roll(larger, -1, axis=1) > 0, np.arange(order.shape[1]), order.shape[1] - 1)[:, ::-1], axis=1
    )[:, ::-1]
    result = np.empty(order.shape)
    np.put_along_axis(result, order, np.take_along_axis(raised, last_of_ties, axis=1) + climb, axis=1)
    return result


def _order_operations(values: ops.Value, originals: ops.Value, k: int) -> ops.Value:
    """Return `keep_order` as operations."""
    order = originals.argsort()
    ascending = originals.along(order)
    later, earlier, backwards = range(1, k), range(k - 1), range(k - 1, -1, -1)
    rises = (ascending.columns(earlier) < ascending.columns(later)).choose(1.0, 0.0)
    climb = rises.after(0.0, 1).running_sum() * SMALLEST_GAP
    raised = (values.along(order) - climb).running_max(k)
    # The running maximum at the last of several ties covers all of them; backwards, that is the first.
    ends = rises.columns(range(k - 2, -1, -1)).after(1.0, 1)
    last = -(ends.equals(1.0).choose(-raised.columns(backwards), -np.inf).running_max(k).columns(backwards))
    return (last + climb).along(order.argsort())
