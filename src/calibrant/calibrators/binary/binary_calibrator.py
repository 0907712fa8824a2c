"""Binary calibrators, which are functions of one score, and their one-vs-rest extension to more classes."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from calibrant._border.checks import check_copies
from calibrant._border.types import BoolArray, FloatArray, IntArray
from calibrant._core.blocks import log_softmax
from calibrant._core.laws import softplus
from calibrant._core.progress import told
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator, Kind, Level, are_calibrators
from calibrant.calibrators.estimator import check_is_fitted, clone
from calibrant.calibrators.fitting.log_odds import (
    Score,
    class_scores,
    log_odds_of_two,
    log_probs_of,
    operations_of_two,
    probs_of,
    score_operations,
)
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.calibrators.rules import Rule
from calibrant.exceptions import InputError
from calibrant.predictions import Predictions
from calibrant.roc.ranker_scores import as_ranking, as_scores

SMALLEST_SHARE = 1e-6
"""Multiple of the original probability that is added to a mapped one, so that no class becomes impossible."""


class BinaryCalibrator(Calibrator):
    """Base of the binary calibrators; a subclass defines `fit_line` and `log_odds`.

    The score is the log-odds of class 1, or with scores="raw" the given number. With more than two classes the
    calibrator acts as `OneVsRest` of itself.

    Attributes
    ----------
    accepts_raw : bool
        Whether `scores="raw"` is supported: real numbers on an unknown scale, higher for class 1.
    """

    preserves_argmax = False
    accepts_raw: ClassVar[bool] = False

    @abstractmethod
    def fit_line(self, scores: FloatArray, hits: BoolArray, weights: FloatArray) -> Self:
        """Learn from one score per row, which may be infinite, and whether class 1 occurred; weights are positive."""

    @abstractmethod
    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds of class 1; they are infinite for the probabilities 0 and 1."""

    def line_operations(self, x: ops.Value) -> ops.Value:
        """Return `log_odds` as operations on one score per row, for export."""
        ops.check_own(self, "_line_operations")
        return self._line_operations(x)

    def _line_operations(self, x: ops.Value) -> ops.Value:
        """Express `log_odds` in terms of `Value`."""
        raise NotImplementedError

    @np.errstate(under="ignore")  # Whatever the caller has set.
    def _fit_raw(self, scores: object, labels: object, sample_weight: object, classes: object) -> Self:
        check_copies(sample_weight)
        values, hits, weights = as_ranking(scores, labels, sample_weight)
        self._remember_columns(scores)
        self.classes_ = np.arange(2) if classes is None else np.array(classes)
        return self.fit_line(values, hits, weights)

    @np.errstate(under="ignore")
    def predict_proba(self, scores: object) -> FloatArray:
        """Return calibrated probabilities, of shape (n, K), whose rows sum to 1."""
        check_is_fitted(self)
        if self._kind() == "raw" and not isinstance(scores, Predictions):
            return self.line_probs(self._read_raw(scores))
        given, log_probs = self._read(scores)
        if log_probs.shape[1] == 2 == len(self.classes_):
            return self.line_probs(log_odds_of_two(log_probs))
        return self.calibrated(given, log_probs)[0]

    def _read_raw(self, scores: object) -> FloatArray:
        """Return a ranker's scores."""
        self._order_of_columns(scores)
        return as_scores(scores)

    def line_probs(self, scores: FloatArray) -> FloatArray:
        """Return both calibrated probabilities, (n, 2), for one score per row."""
        return probs_of(self.log_odds(scores))

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        if log_probs.shape[1] == 2:
            self.fit_line(log_odds_of_two(log_probs), labels == 1, weights)
            return
        self.lifted_ = OneVsRest(clone(self)).learn(log_probs, labels, weights)

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        if log_probs.shape[1] == 2:
            return log_probs_of(self.log_odds(log_odds_of_two(log_probs)))
        return self.lifted_.transform(log_probs)

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        if k > 2:
            return self.lifted_.operations(x, k)
        return ops.of_log_odds(self.line_operations(operations_of_two(x)))

    def _kind(self) -> str:
        if self.scores == "raw":
            if not self.accepts_raw:
                raise InputError(
                    f'{type(self).__name__} needs scores="probs" or scores="logits", because raw scores have no known '
                    "scale. IsotonicCalibration, ROCConvexHull and PlattScaling accept raw scores."
                )
            return "raw"
        return super()._kind()


class Lifted(Calibrator):
    """Base of the extensions of a binary calibrator to more classes; they inherit its properties."""

    calibrator: BinaryCalibrator

    @property
    def kind(self) -> Kind:  # type: ignore[override]  # of the inner calibrator
        """The kind of the inner calibrator."""
        return self.calibrator.kind

    @property
    def sensitive_to_zeros(self) -> bool:  # type: ignore[override]  # of the inner calibrator
        """Whether the inner calibrator is."""
        return checked_binary(self.calibrator).sensitive_to_zeros


def _ranks_raw(scores: object, members: Sequence[Calibrator]) -> bool:
    return scores != RAW_LOGITS or all(member.scores == "raw" for member in members)


@dataclass(eq=False, repr=False)
class OneVsRest(Lifted):
    """Fit a binary calibrator to each class against the rest, and normalise the rows.

    Parameters
    ----------
    calibrator : BinaryCalibrator
        Cloned for each class.
    score : {"probability", "logit", "margin"}, default="probability"
        The argument of the map of a class: "probability" is the log-odds of the class, "logit" its log-probability, and
        "margin" its log-probability minus that of the best other class. Probability and logit have the same order, so
        their isotonic maps differ only between the fitted scores. Raw logits need "logit", which is then the given
        logit; the inner calibrators are fitted with `scores="raw"`.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    calibrators_ : list of BinaryCalibrator
        One per class, fitted.

    Notes
    -----
    With the map :math:`g_k` of class k the probabilities are :math:`g_k(p_k) + 10^{-6} p_k`, divided by their sum. The
    second term keeps possible labels possible, keeps the order of classes with equal :math:`g_k(p_k)`, and leaves a row
    unchanged if all maps give 0.

    Examples
    --------
    >>> from calibrant.calibrators import PlattScaling
    >>> probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    >>> OneVsRest(PlattScaling()).fit(probs, [0, 1, 2, 0]).predict_proba(probs).shape
    (4, 3)
    """

    calibrator: BinaryCalibrator
    score: Score = "probability"
    scores: Literal["probs", "logits", "raw-logits"] = "probs"

    preserves_argmax = False
    use_when = "The classes are miscalibrated in different ways and each has many rows."
    accepts_raw_logits = True
    rules = (
        Rule(("calibrators_",), are_calibrators, "must be calibrators"),
        Rule(("scores", "calibrators_"), _ranks_raw, "must agree: raw logits are raw scores of every class"),
    )

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # of the inner calibrator
        """The parameters of the inner calibrator, once per class."""
        return f"K ({self.calibrator.n_parameters})"

    @property
    def data_efficiency(self) -> Level:  # type: ignore[override]  # of the inner calibrator
        """The level of the inner calibrator: each map is fitted to all rows."""
        return self.calibrator.data_efficiency

    @property
    def expressiveness(self) -> Level:  # type: ignore[override]  # of the inner calibrator
        """The level of the inner calibrator."""
        return self.calibrator.expressiveness

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        columns = self._columns(log_probs)
        inner = checked_binary(self.calibrator)
        if self.scores == RAW_LOGITS:
            inner = clone(inner).set_params(scores="raw")
        self.calibrators_ = [
            clone(inner).fit_line(x, labels == k, weights) for k, x in enumerate(told(columns, len(columns)))
        ]

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        columns = self._columns(log_probs)
        result = np.empty(log_probs.shape)
        for k, (fitted, x) in enumerate(zip(self.calibrators_, columns, strict=True)):
            result[:, k] = -softplus(-fitted.log_odds(x))
        shares = log_softmax(log_probs) if self.scores == RAW_LOGITS else log_probs
        return np.logaddexp(result, shares + np.log(SMALLEST_SHARE))

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        is_raw = self.scores == RAW_LOGITS
        scores = x if is_raw else score_operations(x, self.score, k)
        lines = [c.line_operations(scores.columns([j])) for j, c in enumerate(self.calibrators_)]
        first, *others = [-ops.softplus(-line) for line in lines]
        shares = ops.log_softmax(x) if is_raw else x
        return ops.log_add_exp(first.beside(*others), shares + float(np.log(SMALLEST_SHARE)))

    def _columns(self, log_probs: FloatArray) -> FloatArray:
        """Return one score per class, (K, n)."""
        return log_probs.T if self.scores == RAW_LOGITS else class_scores(log_probs, self.score).T

    def check_raw_logits(self) -> None:
        """Refuse raw logits unless the score and the inner calibrator can use them."""
        if self.score != "logit":
            raise InputError(
                f"OneVsRest with score={self.score!r} ignores a number that is added to all logits of a row, so raw "
                'logits gain nothing: pass score="logit" as well, or build it with scores="logits".'
            )
        if not checked_binary(self.calibrator).accepts_raw:
            raise InputError(
                f"{type(self.calibrator).__name__} needs probabilities, because raw logits have no known scale. "
                "IsotonicCalibration, ROCConvexHull and PlattScaling accept raw logits."
            )


def checked_binary(calibrator: object) -> BinaryCalibrator:
    """Return the inner calibrator, or refuse it if it is not a binary one."""
    if not isinstance(calibrator, BinaryCalibrator):
        raise TypeError(
            f"calibrator must be a binary calibrator, such as IsotonicCalibration(), but is {calibrator!r:.80}."
        )
    return calibrator
