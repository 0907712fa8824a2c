"""Old shares that are known from rows only: their chance, and limits that hold it."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from calibrant._border.types import FloatArray
from calibrant.predictions import Predictions

LEAST_LEFT = 0.1
"""Old shares are not moved below this part of themselves."""


class SharesFit(Protocol):
    """The most likely shares, given the old ones, and the limits of each."""

    @property
    def best(self) -> FloatArray:
        """Of all classes."""

    def limits(self, k: int, loss: float) -> tuple[float, float]:
        """Return where the likelihood has fallen by `loss`."""


def old_shares(reference: Predictions) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each class's probabilities, and a root of the covariance of these means, (K, K).

    Examples
    --------
    >>> means, root = old_shares(Predictions([0.2, 0.4, 0.6, 0.8], labels=[0, 0, 1, 1]))
    >>> means.tolist(), round(float((root @ root.T)[1, 1]), 6)
    ([0.5, 0.5], 0.0125)
    """
    parts = reference.weights / reference.weights.sum()
    means = parts @ reference.probs
    rows = parts[:, None] * (reference.probs - means)
    sizes, directions = np.linalg.eigh(rows.T @ rows)
    return means, directions * np.sqrt(np.maximum(sizes, 0.0))


def widened_limits(
    fit: Callable[[FloatArray], SharesFit], old: FloatArray, root: FloatArray, *, loss: float, reach: float
) -> FloatArray:
    r"""Return the limits of every share, (K, 2), if the old shares have chance of their own.

    Parameters
    ----------
    fit : callable
        Of old shares.
    old : ndarray of shape (K,)
    root : ndarray of shape (K, K)
        A root of the covariance of the old shares.
    loss : float
        Of likelihood, at the limits for known old shares.
    reach : float
        The quantile of the normal law at which limits lie.

    Notes
    -----
    For every class the old shares are moved by `reach` standard errors in the direction that changes its share the
    most. How far its value moves, or its limit if that moves further, is added to the distance of the limit from the
    value as in a right triangle, as errors of different rows are independent (G. Y. Zou and A. Donner, "Construction of
    confidence limits about effect measures", Statistics in Medicine 27, 2008).
    """
    centre = fit(old)
    slopes = np.column_stack([(fit(_moved(old, a)).best - fit(_moved(old, -a)).best) / 2 for a in root.T])
    found = np.empty((len(old), 2))
    for k in range(len(old) == 2, len(old)):  # Of two classes, what one has the other lacks.
        best = float(centre.best[k])
        size = float(np.linalg.norm(slopes[k]))
        # A share at 0 does not move: its limit may, most of all with the old share of its own class.
        step = root @ (slopes[k] / size) if size > 0 else root @ root[k] / max(float(np.linalg.norm(root[k])), 1e-300)
        ends = [fit(_moved(old, sign * reach * step)) for sign in (-1, 1)]
        low, high = centre.limits(k, loss)
        lows, highs = zip(*(end.limits(k, loss) for end in ends), strict=True)
        values = [float(end.best[k]) for end in ends]
        below = max(best - min(values), low - min(lows), 0.0)
        above = max(max(values) - best, max(highs) - high, 0.0)
        found[k] = best - np.hypot(best - low, below), best + np.hypot(high - best, above)
    if len(old) == 2:
        found[0] = 1 - found[1, ::-1]
    return np.clip(found, 0.0, 1.0)


def _moved(old: FloatArray, step: FloatArray) -> FloatArray:
    moved = np.maximum(old + step, LEAST_LEFT * old)
    return np.asarray(moved / moved.sum())
