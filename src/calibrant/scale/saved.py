"""Sketches in files."""

import os
from typing import Any

from calibrant._border.files import open_regular, write_atomically
from calibrant.exceptions import InputError
from calibrant.scale.grouped import MAGIC as GROUPS
from calibrant.scale.grouped import GroupedSketch
from calibrant.scale.passes import MAGIC as PASSES
from calibrant.scale.passes import Pass
from calibrant.scale.sketch import Sketch


def write_sketch(sketch: Sketch | GroupedSketch, path: str | os.PathLike[str]) -> int:
    """Write a sketch to a file, which is replaced only when the new one is complete; return the size in bytes."""
    data = sketch.to_bytes()
    with write_atomically(path) as handle:
        handle.write(data)
    return len(data)


KINDS = {GROUPS: GroupedSketch, PASSES: Pass}
"""What bytes may hold other than a `Sketch`, by their first bytes."""


def read_bytes(data: bytes) -> Any:
    """Return what bytes hold: a sketch, a sketch of groups, or the sums of a pass."""
    kind: Any = KINDS.get(data[: len(GROUPS)], Sketch)
    return kind.from_bytes(data)


def read_sketch(path: str | os.PathLike[str]) -> Sketch | GroupedSketch:
    """Return the sketch in a file: a `Sketch` or, of groups, a `GroupedSketch`."""
    with open_regular(path) as file:
        try:
            found: Sketch | GroupedSketch = read_bytes(file.handle.read())
        except InputError as error:
            raise InputError(f"{file.name}: {error}") from error
    return found
