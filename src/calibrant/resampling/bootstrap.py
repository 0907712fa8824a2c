"""Bootstrap samples of rows, as counts: each row alone, in clusters, within strata."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import convert
from calibrant._border.types import FloatArray, IntArray, RowIndex
from calibrant._core.redraws import count_draws
from calibrant.exceptions import InputError

BLOCK_CELLS = 2**19
"""Largest number of counts drawn at a time: few enough to be in the cache when they are used."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How bootstrap samples of the rows are drawn.

    Parameters
    ----------
    n_resamples : int
    clusters : array-like of shape (n,), optional
        Rows with the same value are drawn together: patients, documents, days.
    strata : array-like of shape (n,), optional
        Within each stratum as many rows, or clusters, are drawn as it has.

    Examples
    --------
    >>> counts = next(Bootstrap(5, clusters=["a", "a", "b"]).counts(3, np.random.default_rng(0)))
    >>> counts.shape, bool((counts[0] == counts[1]).all())
    ((3, 5), True)
    """

    n_resamples: int
    clusters: object = None
    strata: object = None

    def take(self, rows: RowIndex) -> "Bootstrap":
        """Return the bootstrap of these rows only."""
        clusters, strata = (None if x is None else _keys(x)[rows] for x in (self.clusters, self.strata))
        return Bootstrap(self.n_resamples, clusters, strata)

    def counts(self, n: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield blocks of counts, (n, block): how often each row occurs in each sample.

        The draws depend on the seed alone, not on the size of the blocks.
        """
        codes = self._codes(n)
        for counts in self.cluster_counts(n, rng):
            yield counts if self.clusters is None else counts[codes]

    def cluster_counts(self, n: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield the draws of `counts` as counts of the clusters of n rows, in sorted order of the clusters."""
        codes = self._codes(n)
        strata = np.zeros(n, dtype=np.int64) if self.strata is None else _codes(self.strata, "strata", n)
        members = _clusters_of_strata(codes, strata)
        streams = rng.spawn(len(members))
        block = _block(n, self.n_resamples)
        for start in range(0, self.n_resamples, block):
            size = min(block, self.n_resamples - start)
            parts = [
                count_draws(stream.integers(0, 2**64, size, dtype=np.uint64), len(clusters))
                for clusters, stream in zip(members, streams, strict=True)
            ]
            yield parts[0] if len(parts) == 1 else np.concatenate(parts)[np.argsort(np.concatenate(members))]

    def cluster_sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of the rows, (n, m), over each cluster."""
        if self.clusters is None:
            return values
        codes = self._codes(len(values))
        return np.stack([np.bincount(codes, column) for column in values.T], axis=1)

    def _codes(self, n: int) -> IntArray:
        return np.arange(n) if self.clusters is None else _codes(self.clusters, "clusters", n)


def _block(n: int, n_resamples: int) -> int:
    most = max(1, BLOCK_CELLS // n)
    return min(n_resamples, most - most % 8 if most > 8 else most)  # Whole registers of eight samples.


def _clusters_of_strata(clusters: IntArray, strata: IntArray) -> list[IntArray]:
    _, first = np.unique(clusters, return_index=True)
    split = np.flatnonzero(strata[first][clusters] != strata)
    if len(split):
        raise InputError(
            f"a cluster must lie in one stratum, but that of row {split[0]} lies in several. Omit strata or clusters."
        )
    order = np.argsort(strata[first], kind="stable")
    return np.split(order, np.flatnonzero(np.diff(strata[first][order])) + 1)


def group_rows(by: object, n: int) -> dict[str, IntArray]:
    """Return the row numbers of every group, by its name."""
    names, codes = np.unique(_keys(by), return_inverse=True)
    _check_length(codes, "by", n)
    order = np.argsort(codes, kind="stable")  # One pass for any number of groups.
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return dict(zip(names.tolist(), rows, strict=True))


def _codes(values: object, name: str, n: int) -> IntArray:
    codes = np.unique(_keys(values), return_inverse=True)[1]
    _check_length(codes, name, n)
    return codes


def _keys(values: object) -> NDArray[np.str_] | NDArray[np.object_]:
    keys = convert(values, "groups").values.ravel()
    if keys.dtype.kind != "O":
        return keys.astype(str)
    # A string array would reserve the length of the longest text for each.
    return np.array([*map(str, keys), ""], dtype=object)[:-1]


def _check_length(values: IntArray, name: str, n: int) -> None:
    if len(values) != n:
        raise InputError(f"{name} must have one value per row, but there are {len(values)} for {n} rows.")
