"""Sketches in files."""

import os

from calibrant._border.files import open_regular, write_atomically
from calibrant.exceptions import InputError
from calibrant.scale.sketch import Sketch


def write_sketch(sketch: Sketch, path: str | os.PathLike[str]) -> int:
    """Write a sketch to a file, which is replaced when all of it is written; return its size in bytes."""
    data = sketch.to_bytes()
    with write_atomically(path) as handle:
        handle.write(data)
    return len(data)


def read_sketch(path: str | os.PathLike[str]) -> Sketch:
    """Return the sketch in a file."""
    with open_regular(path) as file:
        data = file.handle.read()
        try:
            return Sketch.from_bytes(data)
        except InputError as error:
            raise InputError(f"{file.name}: {error}") from error
