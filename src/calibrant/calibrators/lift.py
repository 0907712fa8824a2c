"""Lifts: calibrators of two classes applied to many."""

from typing import Any, ClassVar, Literal

import numpy as np

from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.laws import softplus
from calibrant._core.steps import told
from calibrant.calibrators.base import Calibrator, normalised
from calibrant.calibrators.binary import BinaryCalibrator, Score, class_scores
from calibrant.calibrators.estimator import clone
from calibrant.calibrators.isotonic import IsotonicCalibration
from calibrant.calibrators.raw_logits import RAW_LOGITS, uses_raw_logits
from calibrant.exceptions import InputError

SMALLEST_SHARE = 1e-6
"""What is added to a map, as a multiple of the probability: it keeps a class possible that the map sends to 0."""


class Lifted(Calibrator):
    """Base of the lifts, which are as their calibrator of two classes is."""

    calibrator: BinaryCalibrator

    @property
    def kind(self) -> Any:  # type: ignore[override]  # of the inner calibrator
        """As for the inner calibrator."""
        return self.calibrator.kind

    @property
    def sensitive_to_zeros(self) -> bool:  # type: ignore[override]  # of the inner calibrator
        """Whether the inner calibrator is."""
        return _checked(self.calibrator).sensitive_to_zeros


class OneVsRest(Lifted):
    """Fit one calibrator of two classes to each class against the rest, then divide by the sum.

    Parameters
    ----------
    calibrator : BinaryCalibrator
        Cloned for each class.
    score : {"probability", "logit", "margin"}, default="probability"
        What the map of a class is a function of: its probability (as log-odds), its canonical logit, which is the
        logarithm of its probability, or how far this is ahead of the best other class. Probability and logit have the
        same order, so that isotonic maps of them differ only between the scores that were fitted. Of raw logits, which
        need "logit", it is the logit as it was given, a ranker's score for each class: this is what the inner
        calibrator is told by its own `scores="raw"`.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    calibrators_ : list of BinaryCalibrator
        One per class, fitted.

    Notes
    -----
    With the map :math:`g_k` of class k the probabilities are :math:`g_k(p_k) + 10^{-6} p_k`, divided by their sum. So a
    label never becomes impossible that was possible before, classes that come out equal stay in order, and a row that
    all maps send to 0 keeps its probabilities.

    Examples
    --------
    >>> from calibrant.calibrators import PlattScaling
    >>> probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    >>> OneVsRest(PlattScaling()).fit(probs, [0, 1, 2, 0]).predict_proba(probs).shape
    (4, 3)
    """

    preserves_argmax = False
    use_when: ClassVar[str] = "The classes are miscalibrated in different ways and each has many rows."
    accepts_raw_logits: ClassVar[bool] = True

    def __init__(
        self,
        calibrator: BinaryCalibrator,
        score: Score = "probability",
        scores: Literal["probs", "logits", "raw-logits"] = "probs",
    ) -> None:
        self.calibrator = calibrator
        self.score = score
        self.scores = scores

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # of the inner calibrator
        """Those of the inner calibrator for every class."""
        return f"K ({self.calibrator.n_parameters})"

    @property
    def data_efficiency(self) -> Any:  # type: ignore[override]  # of the inner calibrator
        """As for the inner calibrator: every class has as many rows."""
        return self.calibrator.data_efficiency

    @property
    def expressiveness(self) -> Any:  # type: ignore[override]  # of the inner calibrator
        """As for the inner calibrator."""
        return self.calibrator.expressiveness

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        columns = self._columns(log_probs)
        inner = _checked(self.calibrator)
        if uses_raw_logits(self):
            inner = clone(inner).set_params(scores="raw")
        self.calibrators_ = [
            clone(inner).fit_line(x, labels == k, weights) for k, x in enumerate(told(columns, len(columns)))
        ]

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        columns = self._columns(log_probs)
        result = np.empty(log_probs.shape)
        for k, (fitted, x) in enumerate(zip(self.calibrators_, columns, strict=True)):
            result[:, k] = -softplus(-fitted.log_odds(x))
        shares = normalised(log_probs) if uses_raw_logits(self) else log_probs
        return np.logaddexp(result, shares + np.log(SMALLEST_SHARE))

    def _columns(self, log_probs: FloatArray) -> FloatArray:
        """Return one score for every class, (K, n)."""
        return log_probs.T if uses_raw_logits(self) else class_scores(log_probs, self.score).T

    def check_raw_logits(self) -> None:
        """Refuse raw logits where they make no sense."""
        if self.score != "logit":
            raise InputError(
                f"OneVsRest with score={self.score!r} does not depend on a number that is added to all logits of a "
                'row: pass score="logit" as well, or build it with scores="logits".'
            )
        if not _checked(self.calibrator).accepts_raw:
            raise InputError(
                f"{type(self.calibrator).__name__} needs probabilities, and raw logits have no scale that it could "
                "use. IsotonicCalibration, ROCConvexHull and PlattScaling accept them."
            )


class Pooled(Lifted):
    r"""Learn one map from the probabilities of all classes together, then divide by the sum.

    Parameters
    ----------
    calibrator : BinaryCalibrator
        Fitted to all pairs of a class's probability and whether it was the label: n K of them for n rows.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    calibrator_ : BinaryCalibrator
        The shared map.

    Notes
    -----
    With the shared map g the probabilities are :math:`g(p_k) + 10^{-6} p_k`, divided by their sum. Every row keeps the
    order of its classes, ties included: a class that was ahead of another stays ahead by a factor of at least
    :math:`1 + 2^{-21}`, also where g is constant or falls. Single precision distinguishes such numbers.

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

    preserves_argmax = True
    use_when: ClassVar[str] = "The predicted class must not change and a temperature is not flexible enough."

    def __init__(self, calibrator: BinaryCalibrator, scores: Literal["probs", "logits"] = "probs") -> None:
        self.calibrator = calibrator
        self.scores = scores

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # of the inner calibrator
        """Those of the inner calibrator."""
        return self.calibrator.n_parameters

    @property
    def data_efficiency(self) -> str:  # type: ignore[override]  # one step above the inner calibrator
        """Better than that of the inner calibrator: it sees all classes at once."""
        return "medium" if self.calibrator.data_efficiency == "low" else "high"

    @property
    def expressiveness(self) -> str:  # type: ignore[override]  # one step below the inner calibrator
        """Below that of the inner calibrator: all classes share one map."""
        return "medium" if self.calibrator.expressiveness == "high" else "low"

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        n_classes = log_probs.shape[1]
        pairs = class_scores(log_probs, "probability").ravel()
        hits: BoolArray = (labels[:, None] == np.arange(n_classes)).ravel()
        self.calibrator_ = clone(_checked(self.calibrator)).fit_line(pairs, hits, np.repeat(weights, n_classes))

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        log_odds = self.calibrator_.log_odds(class_scores(log_probs, "probability").ravel()).reshape(log_probs.shape)
        shared = -softplus(-log_odds)
        return keep_order(np.logaddexp(shared, log_probs + np.log(SMALLEST_SHARE)), log_probs)


def irova(score: Score | None = None, scores: Literal["probs", "logits", "raw-logits"] = "probs") -> OneVsRest:
    """Return isotonic regression of each class against the rest (IROvA): by default on its probability or raw logit."""
    usual: Score = "logit" if scores == RAW_LOGITS else "probability"
    return OneVsRest(IsotonicCalibration(), score or usual, scores)


def irm(scores: Literal["probs", "logits"] = "probs") -> Pooled:
    """Return isotonic regression on the probabilities of all classes together (IRM)."""
    return Pooled(IsotonicCalibration(), scores)


def _checked(calibrator: object) -> BinaryCalibrator:
    if not isinstance(calibrator, BinaryCalibrator):
        raise TypeError(
            f"calibrator must be one of two classes, such as IsotonicCalibration(), but is {calibrator!r:.80}."
        )
    return calibrator


SMALLEST_GAP = 2.0**-21
"""Classes that differ stay this far apart in log-probability: four steps of single precision."""


def keep_order(values: FloatArray, originals: FloatArray) -> FloatArray:
    """Raise values, row by row and as little as possible, until they are ordered as the originals are.

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
    # Ties are adjacent and share their climb; the last of them has seen all of them.
    raised = np.maximum.accumulate(np.take_along_axis(values, order, axis=1) - climb, axis=1)
    last_of_ties = np.minimum.accumulate(
        np.where(np.roll(larger, -1, axis=1) > 0, np.arange(order.shape[1]), order.shape[1] - 1)[:, ::-1], axis=1
    )[:, ::-1]
    result = np.empty(order.shape)
    np.put_along_axis(result, order, np.take_along_axis(raised, last_of_ties, axis=1) + climb, axis=1)
    return result
