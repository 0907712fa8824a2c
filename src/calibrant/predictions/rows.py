"""Rows of probabilities, labels and weights: read-only arrays, what follows from them, and the memo of shared work."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray, Scalar
from calibrant._core.blocks import logarithms

_BLOCK_CELLS = 1 << 20
"""Probabilities processed at a time, to avoid temporary arrays as large as their whole matrix."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Rows:
    """What `Predictions` hold."""

    probs: FloatArray
    labels: IntArray
    weights: FloatArray
    classes: tuple[Hashable, ...]

    def _store(
        self,
        probs: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        classes: tuple[Hashable, ...],
        **cached: NDArray[np.generic] | None,
    ) -> None:
        arrays = {"probs": probs, "labels": labels, "weights": weights, **cached}
        for name, array in arrays.items():
            if array is not None:
                self.__dict__[name] = read_only(array)
        self.__dict__["classes"] = classes

    def once(self, key: Hashable, compute: Callable[[], T], *, of_labels: bool = True) -> T:
        """Return what `compute` returns, which is computed once and kept with these predictions.

        Nothing kept can go stale: the arrays are read-only. Several metrics, tests and curves of the same predictions
        share their sorted order, bandwidth or median distance in this way.

        Parameters
        ----------
        key : hashable
            Everything that the value depends on beside the predictions: a name, and the frozen choices that it takes.
        compute : callable
            Takes nothing; its value must not be changed by anyone.
        of_labels : bool, default=True
            Whether it depends on the labels. If not, `with_labels` keeps it as well.

        Examples
        --------
        >>> from calibrant import Predictions
        >>> p = Predictions([0.2, 0.9], labels=[0, 1])
        >>> p.once("mean", lambda: 0.55, of_labels=False), p.with_labels(p.labels).once("mean", lambda: None)
        (0.55, None)
        >>> p.with_labels(p.labels).once("mean", lambda: None, of_labels=False)
        0.55
        """
        kept = self._kept[of_labels]
        if key not in kept:
            kept[key] = compute()
        return kept[key]

    @cached_property
    def _kept(self) -> tuple[dict[Hashable, Any], dict[Hashable, Any]]:
        """What does not depend on the labels, and what does."""
        return {}, {}

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.probs.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of classes, two for binary predictions."""
        return self.probs.shape[1]

    @cached_property
    def log_probs(self) -> FloatArray:
        """Logarithms of the probabilities, exact also where a logit's probability underflows."""
        return read_only(logarithms(self.probs))

    @property
    def observed_log_probs(self) -> FloatArray:
        """Logarithm of the probability of each label, for which those of the other classes are not computed."""
        return self.once("observed log-probabilities", self._observed_log_probs)

    def _observed_log_probs(self) -> FloatArray:
        at = np.arange(self.n_samples), self.labels
        if "log_probs" in self.__dict__:
            return read_only(self.log_probs[at])
        with np.errstate(divide="ignore"):
            return read_only(np.log(self.probs[at]))

    @property
    def residuals(self) -> FloatArray:
        """One-hot labels minus probabilities, of shape (n, K)."""
        residuals = -self.probs
        residuals[np.arange(self.n_samples), self.labels] += 1.0
        return residuals

    @cached_property
    def predicted(self) -> IntArray:
        """Most probable class of each row; the lowest index wins a tie."""
        predicted = np.empty(self.n_samples, dtype=np.int64)
        for rows in row_blocks(self.probs.shape):  # NumPy copies what is read-only.
            self.probs[rows].argmax(axis=1, out=predicted[rows])
        return read_only(predicted)

    @cached_property
    def copies(self) -> FloatArray | None:
        """How many rows each row stands for, which share its weight: the cells of a sketch. None if it is one row."""
        return None

    @property
    def n_rows(self) -> int:
        """Number of rows that these stand for, which is `n_samples` unless they are the cells of a sketch."""
        return self.n_samples if self.copies is None else round(float(self.copies.sum()))

    @property
    def row_weights(self) -> FloatArray:
        """Weight of each of the rows that a row stands for."""
        return self.weights if self.copies is None else self.weights / self.copies

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return the squares of weights, (n,) or (n, B), of the rows that each row stands for, added up."""
        if self.copies is None:
            return np.asarray(weights**2)
        return np.asarray((weights.T**2 / self.copies).T)

    @property
    def is_weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool(np.any(self.row_weights != 1.0))

    @cached_property
    def has_equal_weights(self) -> bool:
        """Whether all weights are the same."""
        return bool((self.weights == self.weights[0]).all())


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield the rows of a matrix in blocks of about a million entries.

    Examples
    --------
    >>> [(rows.start, rows.stop) for rows in row_blocks((2500, 1000))]
    [(0, 1048), (1048, 2096), (2096, 2500)]
    """
    height = max(1, _BLOCK_CELLS // shape[1])
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a view that cannot be written through; the array itself stays as it is."""
    view = array.view()
    view.setflags(write=False)
    return view
