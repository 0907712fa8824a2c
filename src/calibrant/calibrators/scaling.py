"""The identity, and how scaling methods replace the logarithm of 0."""

from typing import ClassVar, Literal

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator

SMALLEST_LOG_PROB = float(np.log(np.finfo(np.float64).tiny))
"""Replaces -inf, the logarithm of 0, in fitting, so that the likelihood stays finite."""


def finite(log_probs: FloatArray) -> FloatArray:
    """Replace -inf by `SMALLEST_LOG_PROB`, or by the smallest finite entry if that is smaller.

    Examples
    --------
    >>> finite(np.log([[1.0, np.exp(-3.0)]])).round(3).tolist()
    [[0.0, -3.0]]
    >>> finite(np.array([[0.0, -np.inf]])).round(3).tolist()
    [[0.0, -708.396]]
    """
    if log_probs.min(initial=0.0) > -np.inf:
        return log_probs
    impossible = np.isneginf(log_probs)
    floor = min(SMALLEST_LOG_PROB, float(log_probs[~impossible].min()))
    return np.where(impossible, floor, log_probs)


class Unlearnt(Calibrator):
    """Base of the maps that do not depend on the rows of the fit."""

    kind: ClassVar = "parametric"
    preserves_argmax = True
    n_parameters: ClassVar = "0"
    data_efficiency: ClassVar = "high"
    expressiveness: ClassVar = "low"

    def __init__(self, scores: Literal["probs", "logits"] = "probs") -> None:
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn nothing."""


class Identity(Unlearnt):
    """Leave the probabilities unchanged: the baseline of every comparison.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"
    """

    use_when: ClassVar = "As the baseline: a calibrator that does not beat it on new rows is not needed."

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        return x
