"""Maps that do not depend on the labels: the identity, the uniform distribution, and a lower bound."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant._border.settings import check_not_negative
from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.rules import Rule, number


class FixedMap(Calibrator):
    """Base of the maps that do not depend on the labels of the fit."""

    kind = "parametric"
    preserves_argmax = True
    n_parameters = "0"
    data_efficiency = "high"
    expressiveness = "low"

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        """Learn nothing."""


@dataclass(eq=False, repr=False)
class Identity(FixedMap):
    """Leave the probabilities unchanged: the baseline of every comparison.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"
    """

    scores: Literal["probs", "logits"] = "probs"

    use_when = "As the baseline: a calibrator that does not beat it on new rows is not needed."

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return log_probs

    def _operations(self, x: ops.Value, k: int) -> ops.Value:  # noqa: ARG002 (one signature)
        return x


@dataclass(eq=False, repr=False)
class Uniform(FixedMap):
    """Give every class the same probability; in an ensemble, it reduces confidence.

    It preserves the predicted class in a mixture with maps that do. On its own it does so too: the predicted class
    is ahead by the last digit of its probability.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"
    """

    scores: Literal["probs", "logits"] = "probs"

    use_when = "In an ensemble: its weight bounds every probability from below."

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        return np.full(log_probs.shape, -np.log(log_probs.shape[1]))

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        return ops.uniform(x, k)


@dataclass(eq=False, repr=False)
class LaplaceGuard(FixedMap):
    r"""Mix the probabilities with the uniform distribution, as if it had been observed in a few additional rows.

    No probability is 0 afterwards, so the log loss of a single row is bounded. It can follow another calibrator, as in
    ``Compose([TemperatureScaling(), LaplaceGuard()])``: "ts>guard" is known as ts-mix.

    Parameters
    ----------
    rows : float, default=1.0
        The number r of rows that the uniform distribution counts as. With 0 the probabilities do not change.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    share_ : float
        Share of the uniform distribution, :math:`r / (n + r)`, where n is the sum of the weights.

    Notes
    -----
    .. math:: q_k = \frac{n p_k + r/K}{n + r} \ge \frac{r}{(n + r) K}.

    Examples
    --------
    >>> guard = LaplaceGuard().fit([0.9, 0.8, 1.0, 0.1], [1, 1, 1, 0])
    >>> guard.predict_proba([1.0]).round(3).tolist()
    [[0.1, 0.9]]
    """

    rows: float = 1.0
    scores: Literal["probs", "logits"] = "probs"

    rules = (Rule(("share_",), lambda v: 0 <= number(v) <= 1, "must be a share"),)

    @property
    def use_when(self) -> str:  # type: ignore[override]  # depends on a setting
        """Advice in one sentence."""
        if self.rows < 1.0:
            return "As a bound that changes next to nothing; a stack uses it as the member that keeps the predictions."
        return "After a calibrator that can give events that occur a probability of 0, as isotonic maps do."

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:  # noqa: ARG002 (counts rows)
        check_not_negative(self.rows, "rows")
        self.share_ = float(self.rows / (weights.sum() + self.rows))

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        if self.share_ == 0:
            return log_probs
        mixed = np.exp(log_probs)
        mixed *= 1.0 - self.share_
        mixed += self.share_ / mixed.shape[1]
        return np.log(mixed, out=mixed)

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        return (x.exp() * (1.0 - self.share_) + self.share_ / k).log() if self.share_ else x


def fit_guard(rows: float, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> LaplaceGuard:
    """Return a fitted guard of `rows` rows, or of one row if an observed label had probability 0."""
    impossible = bool(log_probs[np.arange(len(labels)), labels].min() == -np.inf)
    return LaplaceGuard(rows=1.0 if impossible else rows).learn(log_probs, labels, weights)


def guarded(guard: LaplaceGuard, log_probs: FloatArray) -> FloatArray:
    """Return log-probabilities after a guard, or the same array if its share is 0."""
    return guard.transform(log_probs) if guard.share_ > 0 else log_probs


GUARD = Rule(("zeros_",), lambda v: isinstance(v, LaplaceGuard), "must be a LaplaceGuard")
"""Condition on calibrators that guard against observed labels of probability 0."""
