"""Sketches of many files on this machine, in bounded memory; an interrupted run continues from its checkpoint."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from calibrant._border.files import write_atomically
from calibrant._border.types import Progress
from calibrant._core.threads import available_threads, in_order
from calibrant.exceptions import InputError
from calibrant.scale.reading import AnySketch, Reading
from calibrant.scale.summary import MANY_CLASSES

MOST_THREADS = 8
"""Largest number of files that are read at the same time."""

SAVED_EVERY = 10.0
"""Seconds after which a run with a checkpoint saves what it has."""


@dataclass(frozen=True, eq=False)
class Sketched:
    """The sketch of many files.

    Attributes
    ----------
    sketch : Sketch or GroupedSketch
    bad : mapping of str to str
        Files that could not be read and were left out, with what is wrong with them.
    """

    sketch: Any
    bad: Mapping[str, str] = field(default_factory=dict)


def sketch_files(
    files: Sequence[str],
    reading: Reading,
    *,
    skip_bad: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Sketched:
    """Return the sketch of many files; one file more than there are processors is read at a time.

    Parameters
    ----------
    files : sequence of str
    reading : Reading
    skip_bad : bool, default=False
        Leave out files that cannot be read, and name them, rather than stop.
    checkpoint : path, optional
        File in which the sketch of the files so far is saved every ten seconds. A run that finds it continues after
        these files, and removes it at the end. The result is the same to the last byte, since sums do not depend on
        the order.
    progress : callable, optional
        Called with (files done, files in all).
    """
    if checkpoint is None and not skip_bad and reading.is_exact:
        return Sketched(_summed(files, reading, progress))
    total, bad, done = reading.empty(), dict[str, str](), set[str]()
    if checkpoint is not None and Path(checkpoint).exists():
        total, bad, done = _load(checkpoint, reading)
    saved = time.monotonic()
    left = [file for file in files if _stamp(file) not in done]
    parts = in_order(lambda file: part_of(file, reading, skip_bad=skip_bad), left, _threads(reading))
    for count, (file, found) in enumerate(zip(left, parts, strict=True), 1 + len(files) - len(left)):
        total += found.sketch
        bad |= found.bad
        done.add(_stamp(file))
        if checkpoint is not None and time.monotonic() > saved + SAVED_EVERY:
            _save(checkpoint, reading, total, bad, done)
            saved = time.monotonic()
        if progress is not None:
            progress(count, len(files))
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    return Sketched(total, bad)


def _summed(files: Sequence[str], reading: Reading, progress: Progress | None) -> AnySketch:
    """Return the sketch of files of which none may be left out; files are added in no particular order.

    Each thread adds to a sketch of its own: to create and add one for every file would take as long as counting 100 000
    rows.
    """
    idle: list[Any] = []  # All of one kind.

    def add(file: str) -> None:
        try:
            own = idle.pop()
        except IndexError:
            own = reading.empty()
        idle.append(reading.sketch(file, own))

    for count, _ in enumerate(in_order(add, files, _threads(reading)), 1):
        if progress is not None:
            progress(count, len(files))
    total, *others = idle or [reading.empty()]
    for other in others:
        total += other
    return cast("AnySketch", total)


def _threads(reading: Reading) -> int:
    """Return how many files are read at a time: one if there are many classes, whose sketches are large.

    Otherwise one more than there are processors: while one file waits for its rows, another is counted.
    """
    return min(available_threads() + 1, MOST_THREADS) if reading.n_classes <= MANY_CLASSES else 1


def part_of(file: str, reading: Reading, *, skip_bad: bool) -> Sketched:
    """Return the sketch of one file: all of it or, if it cannot be read and may be left out, nothing."""
    try:
        return Sketched(reading.sketch(file))
    except (InputError, OSError) as error:
        if not skip_bad:
            raise
        return Sketched(reading.empty(), {file: str(error)})


def _stamp(file: str) -> str:
    """Return a text that identifies a file and its present content."""
    try:
        found = Path(file).stat()
    except OSError:
        return file
    return f"{Path(file).resolve()}|{found.st_size}|{found.st_mtime_ns}"


def _save(
    path: str | os.PathLike[str], reading: Reading, total: AnySketch, bad: Mapping[str, str], done: set[str]
) -> None:
    head: dict[str, object] = {"reading": repr(reading), "bad": bad, "done": sorted(done)}
    with write_atomically(path) as handle:
        handle.write(json.dumps(head).encode() + b"\n" + total.to_bytes())


def _load(path: str | os.PathLike[str], reading: Reading) -> tuple[AnySketch, dict[str, str], set[str]]:
    text, _, data = Path(path).read_bytes().partition(b"\n")
    try:
        head = json.loads(text)
        sketch = reading.empty().from_bytes(data)
    except ValueError as error:
        raise InputError(f"{path} is not a checkpoint of a sketch, or is damaged. Remove it to start again.") from error
    if head["reading"] != repr(reading):
        raise InputError(f"{path} was made with different columns or options. Remove it to start again.")
    return sketch, head["bad"], set(head["done"])
