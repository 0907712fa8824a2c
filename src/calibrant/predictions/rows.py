"""Rows of probabilities, labels and weights: read-only arrays, quantities derived from them, and a cache."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._border.types import FloatArray, IntArray, Scalar
from calibrant._core.blocks import logarithms

_BLOCK_CELLS = 1 << 20
"""Probabilities processed at a time, to avoid temporary arrays as large as the whole matrix."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Rows:
    """The data of `Predictions`, and a cache of values computed from it."""

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
        """Return the value of `compute`, which is called once; the value is kept with these predictions.

        No value can go stale, because the arrays are read-only. In this way, the metrics, tests and curves of the same
        predictions share a sorted order, a bandwidth or a median distance.

        Parameters
        ----------
        key : hashable
            Everything besides the predictions that determines the value: a name, and the frozen choices it depends on.
        compute : callable
            Takes no arguments. Its value must never be modified.
        of_labels : bool, default=True
            Whether the value depends on the labels. If not, `with_labels` keeps it.

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
        """Kept values that do not depend on the labels, and those that do."""
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
        """Logarithms of the probabilities; from logits, exact even where the probability underflows."""
        return read_only(logarithms(self.probs))

    @property
    def observed_log_probs(self) -> FloatArray:
        """Logarithm of the probability of each row's label, computed without the other classes."""
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
        for rows in row_blocks(self.probs.shape):  # NumPy copies read-only arrays, so do it by blocks.
            self.probs[rows].argmax(axis=1, out=predicted[rows])
        return read_only(predicted)

    @cached_property
    def copies(self) -> FloatArray | None:
        """Number of rows that each row stands for and that share its weight, for cells of a sketch; otherwise None."""
        return None

    @property
    def n_rows(self) -> int:
        """Number of rows that these rows stand for: `n_samples`, except for the cells of a sketch."""
        return self.n_samples if self.copies is None else round(float(self.copies.sum()))

    @property
    def row_weights(self) -> FloatArray:
        """Weight of each of the rows that a row stands for."""
        return self.weights if self.copies is None else self.weights / self.copies

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return for each row the sum of squared weights, (n,) or (n, B), over the rows that it stands for."""
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
    """Return a read-only view; the array itself stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view


def effective_rows(weights: FloatArray, copies: FloatArray | None = None) -> float:
    r"""Return Kish's effective number of rows, :math:`(\sum w_i)^2 / \sum w_i^2`.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    copies : ndarray of shape (n,), optional
        The number of rows that share each weight, if not one.

    Examples
    --------
    >>> effective_rows(np.array([2.0, 2.0, 0.0])), effective_rows(np.array([6.0, 2.0]), copies=np.array([3.0, 1.0]))
    (2.0, 4.0)
    """
    relative = weights / weights.max()
    squares = np.square(relative) if copies is None else relative**2 / copies
    return float(relative.sum() ** 2 / squares.sum())
