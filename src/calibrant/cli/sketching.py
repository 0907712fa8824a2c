"""`calibrant sketch`: many files, or a day of them, as one small file that can be added to others."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from calibrant._border.numerals import count
from calibrant.cli.engines import SKETCH, Engine
from calibrant.cli.options import INPUT, File, Out, Source, expanded

PART = ".part"
"""Suffix, after the name of the sketch, of the file that an interrupted run leaves behind."""


def sketch(
    *files: File,
    source: Source = Source(),
    engine: Annotated[Engine, Parameter(name="*")] = Engine(),
    by: Annotated[str | None, Parameter(group=INPUT)] = None,
    out: Out = Path("predictions.sketch"),
) -> None:
    """Write a sketch of the predictions in FILES: a small file that evaluate, report and fit take in their place.

    Sketches can be added: evaluate, report and fit take several. A run on this machine that was interrupted
    continues where it stopped when it is started again.

    For example:
      calibrant sketch 'logs/monday/*.parquet' --label y --probs score --out monday.sketch
      calibrant sketch logs/ --engine dask --scheduler tcp://host:8786 --out all.sketch
      calibrant evaluate monday.sketch tuesday.sketch

    Parameters
    ----------
    files
        Parquet, CSV, JSON Lines, Arrow IPC or NPZ: files, patterns, folders, or - for standard input. Every file must
        have the columns of the first.
    by
        Column whose values define groups: the file holds a sketch of each.
    out
        Where to write the sketch; it must end in .sketch.
    """
    from calibrant.cli import outputs, show
    from calibrant.scale import write_sketch

    paths = expanded(files)
    outputs.check_out(out, paths, (SKETCH,))
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
