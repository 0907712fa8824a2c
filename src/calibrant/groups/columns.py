"""Columns of features cut into levels: by their own values, never by labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from calibrant._border.convert import convert, is_missing
from calibrant._border.numerals import count, counted, decimals, significant
from calibrant._border.text import listing, printable, suggestion
from calibrant._border.types import FloatArray, IntArray
from calibrant.exceptions import InputError

FEW_VALUES = 12
"""Numbers with at most this many distinct values are taken as categories."""

ROWS_PER_VALUE = 20
"""A column of texts with fewer rows per distinct value than this names rows, not groups."""

MISSING_TEXTS = frozenset(["", "na", "n/a", "nan", "null", "none", "<na>"])

LONGEST_LEVEL = 40
"""Longest text of a level in a label."""


@dataclass(frozen=True)
class Levels:
    """The levels 0, 1, ... that the values of a column are cut into; the last is "missing".

    Attributes
    ----------
    name : str
    texts : tuple of str
        The categories of a column of categories; empty for a column of numbers.
    edges : tuple of float
        Where a column of numbers is cut: level j holds the numbers above edge j - 1, up to and including edge j.
    are_numbers : bool
        Whether the values are numbers, also if they are categories.
    """

    name: str
    texts: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    are_numbers: bool = False

    def __len__(self) -> int:
        """Return the number of levels, including that of missing values."""
        return len(self.texts or (*self.edges, None)) + 1

    @property
    def is_cut(self) -> bool:
        """Whether the levels are ranges of numbers."""
        return not self.texts

    def codes(self, values: NDArray[np.generic]) -> IntArray:
        """Return the level of each value of a column of `as_table`; -1 for an unknown category."""
        if self.is_cut:
            found = np.searchsorted(np.asarray(self.edges), values, side="left")
            return np.where(np.isnan(values), len(self) - 1, found).astype(np.int64)
        table: dict[str | None, int] = {text: place for place, text in enumerate(self.texts)}
        table[None] = len(self) - 1
        texts = number_texts(np.asarray(values, dtype=np.float64)) if self.are_numbers else values.tolist()
        return np.fromiter(map(table.get, texts, repeat(-1)), dtype=np.int64, count=len(texts))

    def label(self, code: int) -> str:
        """Return a level in words."""
        name = printable(self.name, LONGEST_LEVEL)
        if code == len(self) - 1:
            return f"{name} is missing"
        if self.texts:
            return f"{name} = {printable(self.texts[code], LONGEST_LEVEL) or '(empty)'}"
        return range_label(name, self.edges, code, code)


def range_label(name: str, edges: Sequence[float], first: int, last: int) -> str:
    """Return the words for the ranges from the first to the last; the outermost are unbounded.

    Examples
    --------
    >>> range_label("age", (30.0, 50.0), 0, 1), range_label("age", (30.0, 50.0), 1, 1)
    ('age <= 50', '30 < age <= 50')
    >>> range_label("income", (33146.2,), 1, 1)
    'income > 33150'
    """
    low = f"{_written(edges[first - 1])} < " if first > 0 else ""
    high = f" <= {_written(edges[last])}" if last < len(edges) else ""
    return f"{name} > {_written(edges[first - 1])}" if low and not high else f"{low}{name}{high}"


def _written(number: float) -> str:
    """Write a number with four significant digits, and without a power of ten unless it is very large."""
    text = significant(number, 4)
    return decimals(float(text), 0) if "e+" in text and abs(number) < 1e9 else text


def as_table(
    features: object, n_rows: int, are_numbers: Mapping[str, bool] | None = None
) -> dict[str, NDArray[np.generic]]:
    """Return the columns of a data frame, a mapping, or a matrix, by name.

    Each is an array of floats, in which NaN is missing, or of objects: texts, and None where a value is missing.

    Parameters
    ----------
    features : data frame, mapping of names to arrays, or array of shape (n, d)
    n_rows : int
    are_numbers : mapping of str to bool, optional
        Columns whose kind is known, as they were learnt from before. The kind of others depends on their values.
    """
    columns = _columns_of(features)
    if not columns:
        raise InputError(
            "features must have at least one column, but have none. Pass a data frame or a dict of arrays."
        )
    for name, values in columns.items():
        if values.ndim != 1 or len(values) != n_rows:
            raise InputError(
                f"features must have one value per row in every column, but {printable(name, 60)!r} has shape "
                f"{values.shape} for {n_rows} rows. Make sure that both come from the same rows."
            )
    kinds = are_numbers or {}
    return {
        name: _of_kind(name, values, are_numbers=kinds[name]) if name in kinds else as_values(values)
        for name, values in columns.items()
    }


def _of_kind(name: str, values: NDArray[np.generic], *, are_numbers: bool) -> NDArray[np.generic]:
    """Return a column as numbers or as texts, whichever it was when the groups were learnt."""
    if not are_numbers:
        return as_texts(values)
    found = as_values(values)
    if found.dtype.kind == "f":
        return found
    text = next((value for value in found.tolist() if value is not None), None)
    if text is None:
        return np.full(len(found), np.nan)
    raise InputError(
        f"features must hold numbers in the column {name!r}, as they did when the groups were learnt, but hold "
        f"{text!r:.60}."
    )


def _columns_of(features: object) -> dict[str, NDArray[np.generic]]:
    if isinstance(features, Mapping):
        return {str(name): _column(values, str(name)) for name, values in features.items()}
    import narwhals as nw

    try:
        frame = nw.from_native(features, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("features must have distinct columns, but some names occur twice. Rename them.") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return {str(name): _column(frame[name].to_native(), str(name)) for name in frame.columns}
    values = convert(features, "features").values
    if values.ndim != 2:
        raise TypeError(
            "features must be a data frame, a dict of arrays, or an array of shape (n, d), but have shape "
            f"{values.shape}. Pass {{'name': values}}."
        )
    return {f"x{place}": values[:, place] for place in range(values.shape[1])}


def _column(values: object, name: str) -> NDArray[np.generic]:
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":  # Times have no text of their own in NumPy's arrays.
        return np.asarray(values).astype(str).astype(object)
    return convert(values, f"features[{name!r}]").values


def as_values(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return a column as floats with NaN where a value is missing, or as texts with None.

    Texts become numbers if all of them are, as in a column of a file in which some fields are empty.

    Examples
    --------
    >>> as_values(np.array(["1", "", "2.5"], dtype=object)).tolist()
    [1.0, nan, 2.5]
    >>> as_values(np.array([True, False])).tolist()
    ['True', 'False']
    """
    if values.dtype.kind in "fiu":
        found = values.astype(np.float64)
        found[np.isinf(found)] = np.sign(found[np.isinf(found)]) * np.finfo(float).max
        return found
    distinct: dict[object, str | None] = {value: _text(value) for value in dict.fromkeys(values.tolist())}
    texts = [text for text in distinct.values() if text is not None]
    try:
        numbers = {text: float(text) for text in texts}
    except ValueError:
        numbers = {}
    if numbers and all(np.isfinite(number) for number in numbers.values()):
        table: dict[object, float] = {key: np.nan if text is None else numbers[text] for key, text in distinct.items()}
        return np.array([*map(table.__getitem__, values.tolist())], dtype=np.float64)
    return as_texts(values)


def as_texts(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return a column as texts with None where a value is missing.

    Examples
    --------
    >>> as_texts(np.array(["007", ""], dtype=object)).tolist(), as_texts(np.array([7.0, 2.5])).tolist()
    (['007', None], ['7', '2.5'])
    """
    if values.dtype.kind in "fiu":
        texts = number_texts(np.asarray(as_values(values), dtype=np.float64))
    else:
        distinct: dict[object, str | None] = {value: _text(value) for value in dict.fromkeys(values.tolist())}
        texts = [*map(distinct.__getitem__, values.tolist())]
    return np.array([*texts, None], dtype=object)[:-1]  # With None at the end, so that it is an array of objects.


def _text(value: object) -> str | None:
    if is_missing(value):
        return None
    text = str(value).strip()
    return None if text.lower() in MISSING_TEXTS else text


def number_texts(values: FloatArray) -> list[str | None]:
    """Return numbers as texts, integers without a decimal point, and None for NaN.

    Examples
    --------
    >>> number_texts(np.array([1.0, 2.5, np.nan]))
    ['1', '2.5', None]
    """
    written = {v: str(int(v)) if v == int(v) else repr(v) for v in np.unique(values[~np.isnan(values)]).tolist()}
    return [*map(written.get, values.tolist())]


def cut_into_levels(name: str, values: NDArray[np.generic], n_cuts: int) -> Levels | str:
    """Return the levels of a column, which depend on its values only, or the reason why it cannot define groups.

    Numbers are cut at `n_cuts` quantiles, unless they have few distinct values.

    Examples
    --------
    >>> cut_into_levels("x", np.arange(100.0) ** 2, 1).edges
    (2401.0,)
    >>> cut_into_levels("id", np.array([f"row {i}" for i in range(100)], dtype=object), 2)
    '100 different texts for 100 rows: names of rows, not of groups'
    """
    if values.dtype.kind == "f":
        return _ranges(name, np.asarray(values, dtype=np.float64), n_cuts)
    return _categories(name, values)


def _ranges(name: str, values: FloatArray, n_cuts: int) -> Levels | str:
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if (reason := _no_groups(len(distinct), len(known) < len(values))) is not None:
        return reason
    if len(distinct) <= FEW_VALUES:
        return Levels(name, tuple(filter(None, number_texts(distinct))), are_numbers=True)
    if len(distinct) == len(values) and np.all(np.diff(known) == 1):
        return "it counts the rows"
    places = np.quantile(known, np.arange(1, n_cuts + 1) / (n_cuts + 1), method="inverted_cdf")
    edges = np.unique(places[places < distinct[-1]])
    return Levels(name, edges=tuple(edges.tolist()), are_numbers=True)


def _categories(name: str, values: NDArray[np.generic]) -> Levels | str:
    found = set(values.tolist())
    texts = sorted(found - {None})
    if (reason := _no_groups(len(texts), None in found)) is not None:
        return reason
    if len(texts) > max(FEW_VALUES, len(values) / ROWS_PER_VALUE):
        return f"{count(len(texts))} different texts for {counted(len(values))}: names of rows, not of groups"
    return Levels(name, tuple(texts))


def _no_groups(n_distinct: int, some_missing: bool) -> str | None:
    """Return the reason why a column does not define two groups, or None."""
    if not n_distinct:
        return "all values are missing"
    return "all values are the same" if n_distinct == 1 and not some_missing else None


def need_columns(names: Sequence[str], table: Mapping[str, object]) -> None:
    """Refuse features that lack a column from which the groups were learnt."""
    for name in names:
        if name not in table:
            raise InputError(
                f"features must have the column {name!r}, which the groups were learnt from, but have "
                f"{listing([*table])}.{suggestion(name, table)}"
            )
