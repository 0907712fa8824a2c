"""`calibrant watch`: whether calibration changes from day to day, since when, how, and what repairs it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from calibrant.cli.options.engines import SKETCH
from calibrant.cli.options.reading import INPUT, JUDGING, OUTPUT, PAGE, Source, check_out, expanded
from calibrant.cli.printing import show
from calibrant.exceptions import InputError
from calibrant.io import printable, write_text

if TYPE_CHECKING:
    from calibrant.predictions import Predictions
    from calibrant.scale import GroupedSketch, Sketch

ENDINGS = (SKETCH, ".csv", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".npz")
"""Suffixes of files of days; other files in a folder are ignored."""


def command(
    *days: Annotated[Path, Parameter(group=INPUT)],
    source: Source = Source(),
    reference: Annotated[tuple[Path, ...], Parameter(group=INPUT, consume_multiple=True)] = (),
    alpha: Annotated[float, Parameter(group=JUDGING)] = 0.05,
    classwise: Annotated[bool, Parameter(group=JUDGING)] = False,
    fail_if_drift: Annotated[bool, Parameter(group=JUDGING)] = False,
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
) -> int:
    """Watch calibration over DAYS: one file per day, or a folder of such files.

    A day is a sketch, made by calibrant sketch, or a file of predictions. Run the command after every day, over all
    days so far: the test stays valid however often you look.

    For example:
      calibrant watch days/ --fail-if-drift
      calibrant watch days/ --reference days/2026-01-*.sketch --out drift.html
      calibrant watch days/2026-03-*.parquet --label y --probs score

    Parameters
    ----------
    days
        Files, patterns or folders. Each row belongs to one day. Days are sorted by name, with 9 before 10; this must be
        the order in which their labels became complete.
    reference
        Sketches, or files of predictions, of a period to compare with. They are not watched, even if they are in the
        folder. By default, days are compared with perfect calibration.
    alpha
        Largest probability of a false alarm, over the whole run, if nothing changes.
    classwise
        With more than two classes, watch each class against the rest instead of the predicted class.
    fail_if_drift
        Exit with code 1 if the alarm was raised on any day.
    out
        Where to write a page with the findings, the evidence and the calibration of every day; it must end in .html
        or .htm.
    """
    from calibrant.scale.over_time import Watch

    choice, before = Watch(alpha=alpha, classwise=classwise), expanded(reference) if reference else []
    files = day_files(expanded(days) if days else [], before)
    _check_columns([*files, *before], source)
    if out is not None:
        check_out(out, files, PAGE)
    with show.progress_bar("watching", quiet=source.silent) as progress:
        result = choice(_read_all(files, source, progress), _reference(before, source))
    if out is not None:
        from calibrant.report.over_time import render_watch

        write_text(out, render_watch(result))
    if source.json:
        show.print_json(result)
    else:
        show.print_lines([result.headline], show.STYLES[result.kind])
        show.print_lines([*result.story, *(f"Note: {note}" for note in result.notes)])
        if out is not None:
            show.print_path("page", out)
    if fail_if_drift and result.change is not None:
        return show.report_failures([f"the alarm was raised after {result.change.alarm}"])
    return 0


def _check_columns(files: list[Path], source: Source) -> None:
    """Refuse options about reading rows if all files are sketches."""
    if source.first_of_rows and all(file.suffix.lower() == SKETCH for file in files):
        raise InputError(
            f"{source.first_of_rows} says how to read rows, but all days are sketches, which hold no rows. Leave it "
            "out, or give it to calibrant sketch when they are made."
        )


def day_files(days: list[Path], reference: list[Path]) -> list[Path]:
    """Return the files of all days, sorted by name, without the reference."""
    from calibrant.io.header import natural

    found = [file for path in days for file in (_folder(path) if path.is_dir() else [path])]
    kept = [file for file in found if not any(_same(file, other) for other in reference)]
    if not kept:
        where = ", ".join(printable(path) for path in days) or "the command"
        raise InputError(f"{where} must name at least one day, but holds none. A day ends in {', '.join(ENDINGS)}.")
    kept.sort(key=lambda file: natural(file.stem))
    stems = [file.stem for file in kept]
    if len(set(stems)) < len(stems):
        twice = next(stem for stem in stems if stems.count(stem) > 1)
        raise InputError(f"each day must have its own name, but {printable(twice)} occurs twice. Rename one.")
    return kept


def _folder(path: Path) -> list[Path]:
    """Return the days in a folder: its sketches or, if there are none, its files of predictions."""
    files = [file for file in path.iterdir() if file.suffix.lower() in ENDINGS and not file.name.startswith(".")]
    return [file for file in files if file.suffix.lower() == SKETCH] or files


def _same(file: Path, other: Path) -> bool:
    return file.exists() and other.exists() and file.samefile(other)


def _read_all(
    files: list[Path], source: Source, progress: Callable[[int, int], None]
) -> "Iterator[tuple[str, Sketch | GroupedSketch | Predictions]]":
    for done, file in enumerate(files):
        progress(done, len(files))
        yield file.stem, _read(file, source)
    progress(len(files), len(files))


def _reference(files: list[Path], source: Source) -> "Sketch | Predictions | None":
    """Read the reference period: the sum of its sketches, or the rows of all its files."""
    from calibrant.scale import GroupedSketch, read_sketch

    sketches = [file for file in files if file.suffix.lower() == SKETCH]
    if not sketches:
        return source.rows(files)[0] if files else None
    if len(sketches) < len(files):
        raise InputError(
            f"--reference must name either sketches or files of predictions, but names both ({len(sketches)} of "
            f"{len(files)} are sketches). Make a sketch of each file."
        )
    found = [read_sketch(file) for file in sketches]
    first, *others = (one.total() if isinstance(one, GroupedSketch) else one for one in found)
    return sum(others, first)


def _read(file: Path, source: Source) -> "Sketch | GroupedSketch | Predictions":
    from calibrant.scale import read_sketch

    return read_sketch(file) if file.suffix.lower() == SKETCH else source.rows([file])[0]
