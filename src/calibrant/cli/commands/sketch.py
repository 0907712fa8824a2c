"""`calibrant sketch`: the predictions in many files as one small file that can be added to others."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from calibrant._border.numerals import count
from calibrant.cli.options.engines import SKETCH, Engine
from calibrant.cli.options.reading import INPUT, File, Out, Source, check_out, expanded
from calibrant.cli.printing import show

PART = ".part"
"""Suffix that is appended to the name of a sketch until it is complete, from which an interrupted run continues."""


def command(
    *files: File,
    source: Source = Source(),
    engine: Annotated[Engine, Parameter(name="*")] = Engine(),
    by: Annotated[str | None, Parameter(group=INPUT)] = None,
    out: Out = Path("predictions.sketch"),
) -> None:
    """Summarise the predictions in FILES in a small file, a sketch.

    evaluate, report and fit take sketches instead of rows, and add up several of them. An interrupted run on this
    machine continues where it stopped when it is started again.

    For example:
      calibrant sketch 'logs/monday/*.parquet' --label y --probs score --out monday.sketch
      calibrant sketch logs/ --engine dask --scheduler tcp://host:8786 --out all.sketch
      calibrant evaluate monday.sketch tuesday.sketch

    Parameters
    ----------
    files
        Files, patterns, folders, or - for standard input: Parquet, CSV, JSON Lines, Arrow IPC or NPZ. Every file must
        have the columns of the first.
    by
        Column of groups; the file then holds one sketch per group.
    out
        Where to write the sketch; it must end in .sketch.
    """
    from calibrant.scale import write_sketch

    paths = expanded(files)
    check_out(out, paths, (SKETCH,))
    found = engine.run(paths, source, out.with_name(out.name + PART), by)
    size = write_sketch(found.sketch, out)
    if source.json:
        counters = vars(found.sketch.counters)
        show.print_json({"sketch": str(out), "bytes": size, **counters, "bad_files": dict(found.bad)})
        return
    groups = "" if by is None else f", {count(len(found.sketch))} groups"
    heading = f"{show.rows(found.sketch.n_samples)}, {found.sketch.n_classes} classes{groups}, {count(size)} bytes"
    show.print_heading(heading)
    show.print_path("sketch", out)
