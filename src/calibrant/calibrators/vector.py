"""Vector scaling."""

from typing import ClassVar, Literal

from calibrant._border.types import FloatArray, IntArray
from calibrant._core.newton import Minimum
from calibrant.calibrators.affine import RIDGE, AffineScaling, scaled_diagonal
from calibrant.calibrators.newton import minimise
from calibrant.calibrators.rules import AFFINE, Rule
from calibrant.calibrators.softmax import Diagonal, PenalisedLikelihood


class VectorScaling(AffineScaling):
    r"""Multiply every class's log-probability by a number, add a number, and take the softmax.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of Newton steps.
    scores : {"probs", "logits", "raw-logits"}, default="probs"

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (K,)
        Of a class without a row, the probability is driven towards 0.
    converged_ : bool
    gradient_norm_ : float
    n_iter_ : int

    Notes
    -----
    :math:`q = \mathrm{softmax}(a \odot \ln p + b)` by maximum likelihood, beginning with temperature scaling, hence
    never worse than it on the rows of the fit. It acts on log-probabilities, so that a number added to all logits of a
    row does not matter. A log-probability below -708, such as that of 0, counts as -708.

    With `scores="raw-logits"` it is :math:`\mathrm{softmax}(a \odot z + b)` of the logits z as they are, as first
    published. A number c added to the logits of a row then adds :math:`a_k c` to the score of class k. So the map can
    learn from how large the logits of a row are, which probabilities do not tell.

    If the classes can be separated without error, or one has no row, the likelihood has no maximum. So the squared
    distance from the parameters of temperature scaling, times :math:`10^{-10}`, is added to the mean loss: the solution
    is finite and unique, and a weight counts as that many rows.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> probs = np.repeat([[0.8, 0.2], [0.5, 0.5]], 10, axis=0)
    >>> labels = [0] * 6 + [1] * 4 + [0] * 3 + [1] * 7
    >>> VectorScaling().fit(probs, labels).predict_proba([[0.8, 0.2], [0.5, 0.5]]).round(3).tolist()
    [[0.6, 0.4], [0.3, 0.7]]
    """

    kind: ClassVar = "parametric"
    n_parameters: ClassVar = "2K"
    data_efficiency: ClassVar = "medium"
    expressiveness: ClassVar = "medium"
    use_when: ClassVar = "When some classes are predicted too often, and there are dozens of rows for each class."
    accepts_raw_logits: ClassVar[bool] = True
    sensitive_to_zeros: ClassVar[bool] = True
    rules: ClassVar[tuple[Rule, ...]] = (AFFINE,)

    def __init__(self, max_iter: int = 100, scores: Literal["probs", "logits", "raw-logits"] = "probs") -> None:
        self.max_iter = max_iter
        self.scores = scores

    def _fit(self, log_probs: FloatArray, labels: IntArray, weights: FloatArray) -> None:
        scores, centre, unit = self._standardised(log_probs, weights)
        self._keep(best_diagonal(scores, labels, weights, self.max_iter), scores.shape[1], centre, unit)


def best_diagonal(scores: FloatArray, labels: IntArray, weights: FloatArray, max_iter: int) -> Minimum:
    """Return the diagonal map of largest likelihood."""
    start = scaled_diagonal(scores, labels, weights)
    likelihood = PenalisedLikelihood(Diagonal(len(start)), scores, labels, weights, penalty=RIDGE, target=start)
    return minimise(likelihood, start.ravel(), max_iter=max_iter)
