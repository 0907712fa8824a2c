"""A lower bound for every probability."""

from typing import ClassVar, Literal

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import Calibrator
from calibrant.calibrators.rules import Rule, number
from calibrant.exceptions import InputError

_NUMBERS = (int, float, np.integer, np.floating)


class LaplaceGuard(Calibrator):
    r"""Mix the probabilities with the uniform distribution, which then counts as much as some more rows.

    No probability is 0 afterwards, so that the log loss of a single row is bounded. After another calibrator, as in
    ``Compose([TemperatureScaling(), LaplaceGuard()])``, it bounds the loss of that one: "ts>guard" is known as ts-mix.

    Parameters
    ----------
    rows : float, default=1.0
        How many rows r the uniform distribution counts for. With 0 the probabilities stay as they are.
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

    kind: ClassVar = "parametric"
    preserves_argmax = True
    n_parameters: ClassVar = "0"
    data_efficiency: ClassVar = "high"
    expressiveness: ClassVar = "low"
    rules: ClassVar[tuple[Rule, ...]] = (Rule(("share_",), lambda v: 0 <= number(v) <= 1, "must be a share"),)

    def __init__(self, rows: float = 1.0, scores: Literal["probs", "logits"] = "probs") -> None:
        self.rows = rows
        self.scores = scores

    @property
    def use_when(self) -> str:  # type: ignore[override]  # depends on a setting
        """Advice in one sentence."""
        if self.rows < 1.0:
            return "As a bound that changes next to nothing; in a stack, what was predicted is a member by this name."
        return "After any other calibrator that can give 0 to events that occur, as isotonic maps do."

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:  # noqa: ARG002 (counts rows)
        check_rows(self.rows, "rows")
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


def check_rows(value: object, name: str) -> None:
    """Refuse a setting that is not a finite number of rows of at least 0."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS) or not 0 <= value < np.inf:
        raise InputError(f"{name} must be a finite number of rows, 1 for one and 0 for none, but is {value!r}.")


GUARD = Rule(("zeros_",), lambda v: isinstance(v, LaplaceGuard), "must be a LaplaceGuard")
"""What holds for calibrators that guard against labels of probability 0."""
