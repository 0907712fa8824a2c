"""The identity and the uniform distribution: maps that learn nothing."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator


@dataclass(eq=False, repr=False)
class Unlearnt(Calibrator):
    """Base of the maps that do not depend on the rows of the fit."""

    scores: Literal["probs", "logits"] = "probs"

    kind = "parametric"
    preserves_argmax = True
    n_parameters = "0"
    data_efficiency = "high"
    expressiveness = "low"

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn nothing."""


class Identity(Unlearnt):
    """Leave the probabilities unchanged: the baseline of every comparison.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"
    """

    use_when = "As the baseline: a calibrator that does not beat it on new rows is not needed."

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        return x


class Uniform(Unlearnt):
    """Give every class the same probability; in an ensemble, it reduces confidence.

    It preserves the predicted class in a mixture with maps that do. On its own it does so too: the predicted class
    is ahead by the last digit of its probability.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"
    """

    use_when = "In an ensemble: its weight bounds every probability from below."

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return np.full(log_probs.shape, -np.log(log_probs.shape[1]))

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        return ops.uniform(x, k)
