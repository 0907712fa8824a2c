"""Increasing maps of [0, 1] onto itself."""

from dataclasses import dataclass

import numpy as np

from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError


@dataclass(frozen=True, eq=False, init=False)
class ProbabilityMap:
    """An increasing, piecewise linear map from predicted probabilities to observed shares.

    Parameters
    ----------
    levels : array-like of shape (K,)
        Predicted probabilities strictly between 0 and 1, ascending.
    shares : array-like of shape (K,)
        What they are mapped to, likewise. 0 and 1 are mapped to themselves.

    Attributes
    ----------
    levels, shares : ndarray of shape (K + 2,)
        With both ends.

    Examples
    --------
    >>> shrink = ProbabilityMap([0.1, 0.9], [0.25, 0.75])
    >>> shrink(np.array([0.05, 0.5, 0.9])).tolist()
    [0.125, 0.5, 0.75]
    >>> shrink.inverse(np.array([0.125, 0.5])).tolist()
    [0.05, 0.5]
    """

    levels: FloatArray
    shares: FloatArray

    def __init__(self, levels: object, shares: object) -> None:
        for name, values in (("levels", levels), ("shares", shares)):
            knots = np.concatenate([[0.0], np.asarray(values, dtype=np.float64).ravel(), [1.0]])
            if not np.all(np.diff(knots) > 0):
                raise InputError(f"{name} must ascend strictly between 0 and 1, but are {values!r:.80}.")
            knots.setflags(write=False)
            object.__setattr__(self, name, knots)
        if len(self.levels) != len(self.shares):
            raise InputError(
                f"there must be as many levels as shares, but there are {len(self.levels) - 2} and "
                f"{len(self.shares) - 2}."
            )

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Return the shares of predicted probabilities."""
        return np.interp(probabilities, self.levels, self.shares)

    def inverse(self, shares: FloatArray) -> FloatArray:
        """Return the predicted probabilities of shares."""
        return np.interp(shares, self.shares, self.levels)

    @property
    def slopes(self) -> FloatArray:
        """The slope of every segment, of shape (K + 1,)."""
        return np.diff(self.shares) / np.diff(self.levels)

    def segment(self, probabilities: FloatArray) -> IntArray:
        """Return the index of the segment that each probability lies in; a knot belongs to the segment above it."""
        return np.searchsorted(self.levels[1:-1], probabilities, side="right")
