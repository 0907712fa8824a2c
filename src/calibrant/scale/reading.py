"""Which columns to read from each of many files, and how: decided once, by the first file."""

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import as_log_probabilities
from calibrant.exceptions import InputError
from calibrant.io.header import Columns
from calibrant.io.opening import as_paths, open_source
from calibrant.io.request import ReadOptions, Request
from calibrant.io.sources import Source, located
from calibrant.io.tables import Table
from calibrant.io.values import as_column, as_labels
from calibrant.scale.grouped import GroupedSketch
from calibrant.scale.sketch import Sketch

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet", ".pq", ".csv", ".csv.gz", ".jsonl", ".arrow", ".feather", ".ipc", ".npz")
"""Suffixes of the files that are read from a folder."""


AnySketch: TypeAlias = Sketch | GroupedSketch
"""A sketch of all rows, or one of each group."""


class Rows(NamedTuple):
    """Some rows of a file: scores, (n,) or (n, K), labels, (n,), and weights and groups, (n,), if there are any."""

    scores: NDArray[np.number]
    labels: NDArray[np.generic]
    weights: NDArray[np.generic] | None = None
    groups: NDArray[np.generic] | None = None


@dataclass(frozen=True)
class Reading:
    """What every file holds: the same columns, of the same classes.

    Parameters
    ----------
    columns : Columns
    n_classes : int
    logits : bool, default=False
        Whether the columns hold logits. Their probabilities are computed by the exponential function of this machine:
        other kinds of processors may round the last digit differently.
    percent : bool, default=False
        Whether they hold percentages.
    positive : hashable, optional
        The label of which one column holds the probability; all others are the other class.
    skip_bad : bool, default=False
        Whether rows that are not probabilities, or miss a number, are counted and left out rather than refused.
    by : str, optional
        Column of groups: each has a sketch.
    features : int, optional
        Number of random waves of the sketch; see `Sketch`.
    """

    columns: Columns
    n_classes: int
    logits: bool = False
    percent: bool = False
    positive: Hashable | None = None
    skip_bad: bool = False
    by: str | None = None
    features: int | None = None

    is_exact: ClassVar[bool] = True
    """Whether sums are of integers, which are the same in any order of the files."""

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        *,
        skip_bad: bool = False,
        by: str | None = None,
        features: int | None = None,
        **options: Unpack[ReadOptions],
    ) -> "Reading":
        """Choose the columns of a file.

        Parameters
        ----------
        path : str or path
        skip_bad : bool, default=False
        by : str, optional
        features : int, optional
        **options
            As for `read_predictions`, except `renormalise`, which sketches do not support.
        """
        request = Request(**options)
        if request.renormalise:
            raise InputError("renormalise is not for sketches. Leave it out, or read the rows.")
        with open_source(path) as source:
            columns = source.choose(request)
            if by is not None:
                source.header.find(by)
            n_classes = max(2, len(columns.probs), len(columns.classes or ()))
            if n_classes == 2 and columns.probs[0] in source.nested:
                rows = source.read({"probs": columns.probs}).numbers["probs"]
                n_classes = max(2, rows.shape[1])
        skipped = skip_bad or request.drop_missing
        return cls(columns, n_classes, request.logits, request.percent, request.positive, skipped, by, features)

    def empty(self) -> AnySketch:
        """Return a sketch without rows: a `Sketch`, or a `GroupedSketch`."""
        named = self.columns.classes if self.positive is None else ("rest", str(self.positive))
        found = Sketch(self.n_classes, named, features=self.features)
        return found if self.by is None else GroupedSketch(found)

    def total(self, parts: Iterable[bytes]) -> AnySketch:
        """Return the sum of sketches that were written as bytes."""
        found: Any = self.empty()
        for data in parts:
            found += found.from_bytes(data)
        return cast("AnySketch", found)

    def sketch(self, path: str | os.PathLike[str], to: AnySketch | None = None) -> AnySketch:
        """Return the sketch of one file, or `to` with its rows added; a few rows at a time are in memory."""
        found, columns = self.empty() if to is None else to, self.columns
        with open_source(path) as source:
            source.percent = self.percent
            missing = [name for name in (*self.texts, *self.numbers) if name not in source.names]
            if missing and isinstance(source, Table):
                raise InputError(f"{source.file.name}: column {missing[0]!r} is missing, which the first file has.")
            start = 0
            for rows in self._rows(source) if isinstance(source, Table) else self._arrays(source):
                with located(source, columns.numbers, start):
                    self.add(found, rows)
                start += len(rows.labels)
        return found

    def add(self, sketch: AnySketch, rows: Rows) -> None:
        """Add rows to a sketch."""
        scores, labels = rows.scores, rows.labels
        if self.logits:
            scores = as_log_probabilities(scores)[0]
        elif self.percent:
            scores = scores / 100
        if self.positive is not None:
            happened = (labels.astype(str) == str(self.positive)).astype(np.int64)
            labels = np.array(sketch.classes, dtype=object)[happened]
        if isinstance(sketch, GroupedSketch):
            sketch.update(scores, labels, rows.groups, rows.weights, skip_bad=self.skip_bad)
        else:
            sketch.update(scores, labels, rows.weights, skip_bad=self.skip_bad)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns that may hold texts."""
        return (self.columns.label, *((self.by,) if self.by else ()))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that hold numbers."""
        return (*self.columns.probs, *((self.columns.weight,) if self.columns.weight else ()))

    def _rows(self, source: Table) -> Iterator[Rows]:
        for frame in source.rows(self.texts, self.numbers):
            yield self.rows(frame, source)

    def rows(self, frame: "pl.DataFrame", source: Table) -> Rows:
        """Return scores, labels, weights and groups of some rows of a table."""
        names, weight = self.columns.probs, self.columns.weight
        # One column of floating point numbers, as most files have, is taken as it is.
        scores = frame[names[0]].to_numpy() if len(names) == 1 and names[0] not in source.nested else None
        if scores is None or scores.dtype.kind != "f":
            scores = source.matrix(frame, names, 0)
        weights = None if weight is None else source.matrix(frame, [weight], 0)[:, 0]
        groups = None if self.by is None else frame[self.by].to_numpy()
        column = frame[self.columns.label]
        if self.columns.classes is None and column.dtype.is_integer() and not column.null_count():
            return Rows(scores, column.to_numpy(), weights, groups)  # Mostly bytes, with nothing to look up.
        return Rows(scores, as_labels(source.file.name, as_column([column]), self.columns), weights, groups)

    def _arrays(self, source: Source) -> Iterator[Rows]:
        numbers, found = source.read(self.columns.numbers, self.columns.label)
        assert found is not None  # noqa: S101 (a column of labels was read)
        labels = as_labels(source.file.name, found, self.columns)
        groups = None if self.by is None else source.column(self.by)
        yield Rows(numbers["probs"], labels, numbers.get("weights"), groups)


def files_of(given: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files that are named, that match a pattern, or that are in a folder, sorted by name.

    Examples
    --------
    >>> files_of(["a.parquet"])
    ['a.parquet']
    """
    found: list[str] = []
    for name in as_paths(given):
        if not Path(name).is_dir():
            found.append(name)
            continue
        inside = sorted(str(path) for path in Path(name).rglob("*") if path.name.endswith(ENDINGS))
        if not inside:
            raise InputError(f"{name} holds no file whose name ends in {', '.join(ENDINGS)}.")
        found += inside
    return found
