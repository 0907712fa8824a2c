"""A sequence of order-preserving maps."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from calibrant._border.settings import check_count
from calibrant._border.types import FloatArray, IntArray
from calibrant._core.progress import portion, tell
from calibrant.calibrators import operations as ops
from calibrant.calibrators.calibrator import WarmStartCalibrator, are_calibrators
from calibrant.calibrators.combinations.members import all_converged
from calibrant.calibrators.fitting.log_odds import SMALLEST_LOG_PROB
from calibrant.calibrators.inputs import RAW_LOGITS
from calibrant.calibrators.multiclass.order_preserving import OrderPreserving
from calibrant.calibrators.rules import Rule

LEAST_GAIN = 0.1
"""A layer that raises the total log-likelihood of the rows by less than this is the last one."""


def _all_maps_of_lines(layers: Sequence[object]) -> bool:
    return are_calibrators(layers) and all(
        isinstance(layer, OrderPreserving) and layer.family == "diag" and layer.scores != RAW_LOGITS for layer in layers
    )


@dataclass(eq=False, repr=False)
class DeepOrderPreserving(WarmStartCalibrator):
    r"""Apply strictly increasing, piecewise linear maps to the log-probabilities of a row, one after another.

    Parameters
    ----------
    layers : int, default=8
        Largest number of maps.
    segments : int, default=8
    smoothness : float, default=10.0
    max_iter : int, default=100
        Settings of every map, as in `OrderPreserving`.
    scores : {"probs", "logits"}, default="probs"

    Attributes
    ----------
    layers_ : list of OrderPreserving
        Fitted, in order of application.
    converged_ : bool
        Whether every layer has converged.

    Notes
    -----
    Each layer is `OrderPreserving` with the family "diag",

    .. math:: z^{(j)} = f_j(z^{(j-1)}) - \ln \sum_k \exp f_j(z^{(j-1)}_k),

    fitted to the log-probabilities that the previous layers give for the same rows. Each fit is convex, and none
    lowers the likelihood of the rows. The last layer is the first that raises the log-likelihood, summed over the rows,
    by less than 0.1.

    It can do more than a single increasing map, because the normalisation between layers makes the result for a class
    depend on the other classes of its row. A row with two likely classes can become a draw between them without any
    gain for its other classes, while the same log-probabilities next to a single likely class do not change. Some
    networks need that. The penalty for unequal slopes applies to each layer separately, so several layers together can
    bend as far as the rows require; only the number of layers limits them.

    The order of the classes in every row is kept. Nearly equal numbers can become equal, but cannot change order.

    Examples
    --------
    >>> probs = np.repeat([[0.9, 0.06, 0.04], [0.5, 0.3, 0.2]], 100, axis=0)
    >>> labels = np.repeat([0, 1, 2, 0, 1, 2], [70, 16, 14, 50, 30, 20])
    >>> fitted = DeepOrderPreserving().fit(probs, labels)
    >>> fitted.predict_proba([[0.06, 0.9, 0.04]]).round(1).tolist()
    [[0.2, 0.7, 0.1]]
    """

    layers: int = 8
    segments: int = 8
    smoothness: float = 10.0
    max_iter: int = 100
    scores: Literal["probs", "logits"] = "probs"

    kind = "parametric"
    preserves_argmax = True
    data_efficiency = "high"
    expressiveness = "medium"
    use_when = "No ranking may change, and no single temperature fits both high and low confidence."
    sensitive_to_zeros = True
    rules = (Rule(("layers_",), _all_maps_of_lines, "must be fitted maps of the family diag"),)

    @property
    def n_parameters(self) -> str:  # type: ignore[override]  # depends on the settings
        """The largest possible number of slopes."""
        return str(self.layers * self.segments)

    def _search(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray, near: Self | None) -> None:
        """Learn the layers; the search for each starts at the same layer of `near`, if there is one."""
        check_count(self.layers, "layers")
        known = [] if near is None else near.layers_
        self.layers_: list[OrderPreserving] = []
        gain = np.inf
        while len(self.layers_) < self.layers and gain >= LEAST_GAIN:
            with portion(len(self.layers_), self.layers):
                layer = self._layer(known[len(self.layers_) :], (log_probs, labels, weights))
            after = layer.transform(log_probs)
            gain = _log_likelihood(after, labels, weights) - _log_likelihood(log_probs, labels, weights)
            self.layers_.append(layer)
            tell(len(self.layers_), self.layers)
            log_probs = after
        self.converged_ = all_converged(list(self.layers_))

    def _layer(self, near: list[OrderPreserving], rows: tuple[FloatArray, IntArray, FloatArray]) -> OrderPreserving:
        if near:
            return copy(near[0]).learn_again(*rows)
        return OrderPreserving("diag", self.segments, self.smoothness, self.max_iter).learn(*rows)

    def _apply(self, log_probs: FloatArray) -> FloatArray:
        for layer in self.layers_:
            log_probs = layer.transform(log_probs)
        return log_probs

    def _operations(self, x: ops.Value, k: int) -> ops.Value:
        for layer in self.layers_:
            x = ops.log_softmax(layer.operations(x, k))
        return x


def _log_likelihood(log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> float:
    own = log_probs[np.arange(len(labels)), labels]
    return float(weights @ np.maximum(own, SMALLEST_LOG_PROB))
