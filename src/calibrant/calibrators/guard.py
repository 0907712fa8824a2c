"""A lower bound for every probability."""

from typing import ClassVar, Literal

import numpy as np

from calibrant._typing import FloatArray, IntArray
from calibrant.calibrators.base import Calibrator


class LaplaceGuard(Calibrator):
    r"""Mix the probabilities with the uniform distribution, which then counts as much as one more row.

    No probability is 0 afterwards, so that the log loss of a single row is bounded. After another calibrator, as in
    ``Compose([TemperatureScaling(), LaplaceGuard()])``, it bounds the loss of that one: "ts>guard" is known as ts-mix.

    Parameters
    ----------
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    share_ : float
        Share of the uniform distribution, :math:`1 / (n + 1)`, where n is the sum of the weights.

    Notes
    -----
    .. math:: q_k = \frac{n p_k + 1/K}{n + 1} \ge \frac{1}{(n + 1) K}.

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
    use_when: ClassVar = "After any other calibrator that can give 0 to what happens, as isotonic maps do."

    def __init__(self, scores: Literal["probs", "logits"] = "probs") -> None:
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:  # noqa: ARG002 (counts rows)
        self.share_ = 1.0 / (float(weights.sum()) + 1.0)

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        mixed = np.exp(log_probs)
        mixed *= 1.0 - self.share_
        mixed += self.share_ / mixed.shape[1]
        return np.log(mixed, out=mixed)
