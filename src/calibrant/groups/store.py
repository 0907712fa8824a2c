"""Files with fixes of groups: JSON, which cannot run code, with a checksum."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant._border.files import open_regular
from calibrant._border.sealed import Kind, read_sealed, write_sealed
from calibrant.calibrators.estimator import check_is_fitted
from calibrant.calibrators.store import StoredCalibrator
from calibrant.exceptions import InputError
from calibrant.groups.boosting import GroupBoosting, keep_report
from calibrant.groups.columns import Levels
from calibrant.groups.steps import STEEPEST, STEEPEST_SLOPE

KIND = Kind("group-boosting", "fix of groups", format=1, most_bytes=20 * 2**20)
"""What the files are."""

HEAD_BYTES = 200
"""Number of bytes at the beginning of a file in which its kind occurs."""


def save(fixed: GroupBoosting, path: str | os.PathLike[str], *, details: Mapping[str, object] | None = None) -> str:
    """Write a fitted `GroupBoosting` to a file, completely or not at all, and return its checksum.

    Parameters
    ----------
    fixed : GroupBoosting
    path : str or path
        Usually with the extension .json. An existing file is replaced.
    details : mapping, optional
        Texts and numbers to store with it, such as the name of the model.
    """
    if not isinstance(fixed, GroupBoosting):
        raise TypeError(
            f"fixed must be a GroupBoosting, but is {type(fixed).__name__}. See calibrant.calibrators.save."
        )
    check_is_fitted(fixed)
    content = {
        "settings": fixed.get_params(),
        "classes": fixed.classes_.tolist(),
        "levels": [[each.name, list(each.texts), list(each.edges), each.are_numbers] for each in fixed.levels_],
        "cells": [[list(pair) for pair in cell] for cell in fixed.cells_],
        "slope": fixed.slope_,
        "steps": [[step.label, step.offset, step.z, step.n_rows] for step in fixed.report_.steps],
        "events": fixed.events_.tolist(),
        "report": [fixed.report_.headline, fixed.report_.bar, fixed.report_.n_candidates, fixed.report_.n_samples],
    }
    return write_sealed(path, KIND, content, details or {})


def load(path: str | os.PathLike[str]) -> GroupBoosting:
    """Return the `GroupBoosting` in a file that `save` has written.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> fixed = GroupBoosting().fit([0.5] * 100, [0, 1] * 50, features={"x": ["a", "b"] * 50})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save(fixed, f"{folder}/groups.json")
    ...     load(f"{folder}/groups.json").report_.headline
    '2 steps among 3 groups.'
    """
    fixed: GroupBoosting = load_with_details(path).calibrator
    return fixed


def holds_groups(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like one written by `save`."""
    with open_regular(path) as file:
        return f'"{KIND.key}"'.encode() in file.handle.read(HEAD_BYTES)


def load_with_details(path: str | os.PathLike[str]) -> StoredCalibrator:
    """Return the `GroupBoosting` in a file, with the details that were stored with it and the checksum."""
    return StoredCalibrator(*read_sealed(path, KIND, _built))


def _built(content: Any) -> GroupBoosting:
    try:
        return _checked(_decoded(content))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("it is damaged. Write it again.") from error


def _decoded(content: Mapping[str, Any]) -> GroupBoosting:
    fixed = GroupBoosting(**content["settings"])
    fixed.classes_ = np.array(content["classes"])
    fixed.levels_ = tuple(
        Levels(str(name), tuple(map(str, texts)), tuple(map(float, edges)), bool(numbers))
        for name, texts, edges, numbers in content["levels"]
    )
    fixed.cells_ = tuple(tuple((int(column), int(level)) for column, level in cell) for cell in content["cells"])
    headline, bar, n_candidates, n_samples = content["report"]
    steps = zip(content["steps"], content["events"], strict=True)
    keep_report(
        fixed,
        [(str(label), float(offset), float(z), int(n), int(event)) for (label, offset, z, n), event in steps],
        slope=float(content["slope"]),
        headline=str(headline),
        bar=float(bar),
        n_candidates=int(n_candidates),
        n_samples=int(n_samples),
    )
    return fixed


def _checked(fixed: GroupBoosting) -> GroupBoosting:
    """Refuse content that no fit can give."""
    places = [(column, level) for cell in fixed.cells_ for column, level in cell]
    sound = (
        len(fixed.classes_) >= 2
        and bool(np.all((fixed.events_ >= 0) & (fixed.events_ < len(fixed.classes_))))
        and len(fixed.cells_) == len(fixed.offsets_)
        and bool(np.all(np.abs(fixed.offsets_) <= STEEPEST))
        and 1 / STEEPEST_SLOPE <= fixed.slope_ <= STEEPEST_SLOPE
        and all(0 <= column < len(fixed.levels_) for column, _ in places)
        and all(0 <= level < len(fixed.levels_[column]) for column, level in places)
        and all(list(each.edges) == sorted(each.edges) for each in fixed.levels_)
    )
    if not sound:
        raise InputError("its numbers cannot come from a fit. Write it again.")
    return fixed
