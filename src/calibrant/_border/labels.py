"""Raw labels and class names to class indices."""

import difflib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from calibrant._border.checks import bad_rows, check_length
from calibrant._border.convert import Raw, convert, is_missing
from calibrant._border.numerals import as_given
from calibrant._border.types import IntArray
from calibrant.exceptions import InputError

Names = tuple[Hashable, ...]

ONE_EACH = "Pass one column of probabilities for each class."
"""Advice if there are more than two classes for one column."""


def as_classes(classes: Any, n_classes: int) -> Names | None:
    """Return the caller's class names, checked for number and repetition."""
    if classes is None:
        return None
    orderless = isinstance(classes, (str, bytes, Mapping, AbstractSet, Iterator)) or not isinstance(classes, Iterable)
    if orderless or getattr(classes, "ndim", 1) != 1:
        raise TypeError(f"classes must be a list of names, but got {type(classes).__name__}. Pass them in order.")
    names = tuple(name.item() if hasattr(name, "item") else name for name in classes)
    if len(names) != n_classes:
        raise InputError(
            f"classes must name {n_classes} classes, one per column of probs, but has {len(names)}. "
            "Name every column, including classes that never occur."
        )
    texts = Counter(str(int(name)) if _is_whole(name) else str(name) for name in names)
    [(commonest, times)] = texts.most_common(1)
    if times > 1:
        raise InputError(f"classes must be distinct, but {commonest!r} occurs {times} times. Rename them.")
    return names


def with_positive(classes: object, positive: Hashable | None, labels: object, probs: Raw) -> object:
    """Return the caller's classes; if `positive` is given, the other class and the positive one."""
    if positive is None:
        return classes
    if classes is not None:
        raise InputError("positive and classes both name the classes. Pass one of them.")
    if probs.values.ndim == 2 and probs.values.shape[1] != 1:
        raise InputError(
            f"positive is for one column, the probability of that class, but {probs.name} has "
            f"{probs.values.shape[1]}. Pass classes= in the order of the columns."
        )
    return _other_and(positive, _distinct(convert(labels, "labels").values))


def _distinct(values: NDArray[np.generic]) -> list[object]:
    """Return the distinct values, in no particular order."""
    flat = values.ravel()
    entries = np.unique(flat).tolist() if flat.dtype.kind != "O" else dict.fromkeys(flat.tolist())
    return [entry for entry in entries if not is_missing(entry)]


def _other_and(positive: Hashable, found: list[object]) -> Names:
    """Return the other class among those found, and the positive one as the labels write it."""
    if isinstance(positive, str) and all(map(_is_whole, found)):
        [positive] = _read_integers((positive,))
    same = [value for value in found if _plain(value) == _plain(positive)]
    others = [value for value in found if _plain(value) != _plain(positive)]
    if len(others) > 1:
        what = f"are {len(found)} classes" if same else f"is no {positive!r}"
        near = difflib.get_close_matches(str(positive), [str(value) for value in others], n=1)
        raise InputError(
            f"labels must be {positive!r}, the positive class, or one other, but there {what}: "
            f"{', '.join(repr(value) for value in found[:5])}. " + _remedy(near, is_label=bool(same))
        )
    if not others:
        others = [int(not positive)] if _is_whole(positive) else [f"not {positive}"]
    return (*others, *(same or [positive]))


def _remedy(near: list[str], *, is_label: bool) -> str:
    """Return advice if there are more labels than the positive class and one other."""
    if is_label:  # Naming another label would not help.
        return ONE_EACH
    return f"Did you mean {near[0]!r}?" if near else "Pass one column per class, or name one of these labels."


def _plain(label: object) -> str | None:
    """Return a label as text; 1 and 1.0 give the same."""
    return str(int(label)) if _is_whole(label) and not isinstance(label, bool) else _as_text(label)


def column_order(columns: Names | None, classes: Names | None) -> list[int] | None:
    """Return the position of each class among the columns if both are named; None if the order is the same."""
    if columns is None or classes is None or columns == classes:
        return None
    places = {str(column): i for i, column in enumerate(columns)}
    order = [places.get(str(name), -1) for name in classes]
    return order if sorted(order) == list(range(len(columns))) else None


def as_labels(raw: Raw, probs: Raw, shape: tuple[int, int], classes: Names | None) -> tuple[IntArray, Names]:
    """Return class indices 0..K-1 and the names of the classes, by default the columns of probs."""
    n_samples, n_classes = shape
    values = _squeeze(raw, n_classes)
    _check_transposed(probs, n_samples, len(values))
    check_length(raw, n_samples)
    names = classes
    if names is None and probs.columns is not None and len(probs.columns) == n_classes:
        names = _read_integers(probs.columns) if values.dtype.kind in "fiub" else probs.columns
    if values.ndim == 2:
        return _from_one_hot(values, column_order(raw.columns, names)), names or tuple(range(n_classes))
    if values.dtype.kind in "OUS":
        return _look_up(values, _need_names(values, names, probs, n_classes), _as_text), names or ()
    _check_whole(values, probs.values, n_classes)
    if names is None or not all(_is_whole(name) for name in names) or names == tuple(range(n_classes)):
        one_column = probs.values.ndim == 1 or probs.values.shape[1] == 1
        return _check_indices(values, n_classes, one_column=one_column), names or tuple(range(n_classes))
    return _look_up(values, names, int), names


def _squeeze(raw: Raw, n_classes: int) -> NDArray[Any]:
    """Return labels without a needless second dimension."""
    values = raw.values
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim == 2 and values.shape[1] == n_classes and values.dtype.kind in "fiub":
        return values
    if values.ndim != 1:
        raise InputError(
            f"labels must have one entry per row, or {n_classes} columns if they are one-hot, but have shape "
            f"{values.shape}. Pass an array of shape (n,)."
        )
    return values


def _check_transposed(probs: Raw, n_samples: int, n_labels: int) -> None:
    if n_labels != n_samples and probs.values.ndim == 2 and probs.values.shape[1] == n_labels:
        raise InputError(
            f"{probs.name} must have one row per sample, but has shape {probs.values.shape} for {n_labels} labels: "
            f"it looks transposed. Pass {probs.name}.T."
        )


def _from_one_hot(values: NDArray[np.generic], order: list[int] | None) -> IntArray:
    hot = values == 1
    bad = ~np.all(hot | (values == 0), axis=1) | (hot.sum(axis=1) != 1)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"one-hot labels must have exactly one 1 in each row, but row {row} has the entries "
            f"{np.unique(values[row])[:3].tolist()} and the sum {as_given(values[row].sum())}. "
            "Soft labels are not observations: draw or round them first."
        )
    return (hot if order is None else hot[:, order]).argmax(axis=1)


def _is_whole(name: object) -> TypeGuard[int | float]:
    return isinstance(name, int) or (isinstance(name, float) and name.is_integer())


def _read_integers(names: Names) -> Names:
    """Read the names "0", "1", ... as the integers they are."""
    if all(isinstance(name, str) and name.lstrip("-").isdecimal() for name in names):
        return tuple(int(str(name)) for name in names)
    return names


def _check_whole(values: NDArray[np.number], probs: NDArray[np.number], n_classes: int) -> None:
    """Refuse labels that are not whole numbers."""
    if values.dtype.kind == "b" and n_classes > 2:
        raise InputError(
            f"labels must be classes, but are booleans for {n_classes} classes. "
            "Pass which class was observed, not whether the prediction was right."
        )
    if values.dtype.kind != "f":
        return
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"labels must not be missing, but row {row} is {as_given(values[row])}. Drop such rows.")
    bad = values != np.round(values)
    if bad.any():
        row = int(bad.argmax())
        swapped = probs.size == len(values) and bool(np.all((probs == 0) | (probs == 1)))
        raise InputError(
            f"labels must be whole numbers or names, but row {row} is {as_given(values[row])}. "
            + (
                "Probabilities and labels look swapped: here the probabilities come first."
                if swapped
                else "Soft labels are not observations: draw or round them first."
            )
        )


def _check_indices(labels: NDArray[np.number], n_classes: int, *, one_column: bool) -> IntArray:
    if labels.size and (labels.min() < 0 or labels.max() >= n_classes):
        bad = (labels < 0) | (labels >= n_classes)
        row = int(bad.argmax())
        raise InputError(
            f"labels must be 0 to {n_classes - 1}, but row {row} is {labels[row].item()} "
            f"({bad_rows(bad)}). {_hint(labels, labels[row].item(), n_classes, one_column=one_column)}"
        )
    return labels.astype(np.int64)


def _hint(labels: NDArray[np.number], value: float, n_classes: int, *, one_column: bool) -> str:
    if labels.min() == 1 and labels.max() == n_classes:
        return f"They look numbered from 1: pass labels - 1, or classes=range(1, {n_classes + 1})."
    if n_classes == 2 and np.all(np.abs(labels) == 1):
        return "They look like signs: pass classes=[-1, 1]."
    if value in (-1, 255):
        return f"{as_given(value)} is often a code for 'ignore': drop these rows first."
    if one_column and len(np.unique(labels)) > 2:
        return f"One column of probabilities is for two classes. {ONE_EACH}"
    return "Pass classes= to map other values."


def _need_names(labels: NDArray[np.generic], names: Names | None, probs: Raw, n_classes: int) -> Names:
    if names is None:
        found = _distinct(labels)
        if len(found) > n_classes and (probs.values.ndim == 1 or probs.values.shape[1] == 1):
            some = ", ".join(map(repr, found[:5]))
            raise InputError(f"there is one column of probabilities, but {len(found)} classes: {some}. {ONE_EACH}")
        raise InputError(
            f"labels are names like {labels[:1].tolist()[0]!r:.60}, so their order is needed. Pass classes=[...] "
            "in the order of the columns of probs, or for one column positive=, the class whose probability it is."
        )
    return names


def _as_text(label: object) -> str | None:
    if is_missing(label):
        return None
    return label.decode(errors="replace") if isinstance(label, bytes) else str(label)


def _look_up(labels: NDArray[np.generic], names: Names, read: Callable[[Any], Hashable]) -> IntArray:
    """Return the position of each label among the names; `read` makes the two comparable."""
    places = {read(name): i for i, name in enumerate(names)}
    entries = labels.tolist()
    indices = np.fromiter((places.get(read(entry), -1) for entry in entries), np.int64, len(entries))
    bad = indices < 0
    if bad.any():
        row = int(bad.argmax())
        if is_missing(entries[row]):
            raise InputError(f"labels must not be missing, but row {row} is {entries[row]}. Drop such rows.")
        known = [str(name) for name in names]
        near = difflib.get_close_matches(str(entries[row]), known, n=3) or known[:5]
        raise InputError(
            f"labels must be found in classes, but row {row} is {entries[row]!r} ({int(bad.sum())} of {len(bad)} rows "
            f"are unknown). Nearest classes: {', '.join(near)}. Drop such rows or pass other classes=."
        )
    return indices
