"""Files written again with calibrated probabilities beside the original ones, or in their place."""

import gzip
import os
import shutil
import warnings
import zipfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from calibrant._border.files import write_atomically
from calibrant._border.text import listing, printable, quoted
from calibrant._border.types import BoolArray, FloatArray
from calibrant.exceptions import DataWarning, InputError
from calibrant.io.arrays import Archive, Arrays
from calibrant.io.columns import as_request
from calibrant.io.delimited import Delimited
from calibrant.io.opening import open_source
from calibrant.io.sources import Source, located
from calibrant.io.tables import Table, TextTable
from calibrant.io.values import LeftOut, read_complete, taken

if TYPE_CHECKING:
    import polars as pl


# Rows in a group of a Parquet file: what polars takes by itself, or fewer if there are many columns.
_MOST_ROWS, _CELLS_PER_GROUP = 512**2, 2**23


def _write_parquet(frame: "pl.DataFrame", handle: BinaryIO) -> None:
    """Write rows in groups, each of which is encoded in memory, so that wide tables take no further copy of all."""
    rows = max(1, min(_MOST_ROWS, _CELLS_PER_GROUP // max(frame.width, 1)))
    frame.write_parquet(handle, row_group_size=rows)


_TEXT = (".csv", ".tsv", ".gz")
FRAMES: dict[str, Callable[["pl.DataFrame", BinaryIO], object]] = {
    **dict.fromkeys((".parquet", ".pq"), _write_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), lambda frame, handle: frame.write_ipc(handle)),
    ".arrows": lambda frame, handle: frame.write_ipc_stream(handle),
    **dict.fromkeys((".jsonl", ".ndjson"), lambda frame, handle: frame.write_ndjson(handle)),
}

ADDED = "calibrated_"
"""What stands before the name of a column that is added to that which it was made from."""


def rewrite_probabilities(  # noqa: PLR0913 (each is one decision of the user)
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    transform: Callable[..., FloatArray],
    *,
    others: Sequence[str] = (),
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: bool = False,
    classes: Sequence[Hashable] | None = None,
    replace: bool = False,
    percent: bool = False,
    drop_missing: bool = False,
) -> tuple[str, ...]:
    """Write a table or an archive again with new columns of probabilities, and return their names.

    Parameters
    ----------
    path : str or path
        Labels are not needed.
    out : str or path
        Its extension names the format. Tables can be turned into one another; from CSV to CSV, all other cells stay the
        same texts.
    transform : callable
        Given the numbers in the file, (n, K) or (n,), returns others of the same shape. If `others` are named, it is
        also given these columns of the same rows, by name.
    others : sequence of str, optional
    label, probs, logits, classes, percent
        As for `read_predictions`. New numbers are written as the old ones are, as percentages too.
    replace : bool, default=False
        Whether the new columns replace the old ones. Else they are added, with "calibrated_" before their names.
    drop_missing : bool, default=False
        Whether rows in which a number is missing have nothing in the new columns. Else they are refused.
    """
    request = as_request(label=label, probs=probs, logits=logits, classes=classes, needs_label=False)

    def choose(source: Source) -> Mapping[str, Sequence[str]]:
        if percent and isinstance(source, TextTable):
            source.percent = True
        chosen = source.choose(request).probs
        if not replace:
            _check_new(source, added(chosen))  # Before long work.
        return {"probs": chosen}

    def added(chosen: Sequence[str]) -> list[str]:
        return [f"{'' if replace else ADDED}{name}" for name in chosen]

    def calibrated(
        _: Source, columns: Mapping[str, Sequence[str]], arrays: dict[str, Any], *more: object
    ) -> dict[str, FloatArray]:
        values = arrays.pop("probs")
        new = transform(values / 100, *more) * 100 if percent else transform(values, *more)
        return by_column(added(columns["probs"]), new)

    return rewrite(path, out, choose, calibrated, others=others, replace=replace, drop_missing=drop_missing)


def rewrite(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    choose: Callable[[Source], Mapping[str, Sequence[str]]],
    calibrated: Callable[..., dict[str, FloatArray]],
    *,
    others: Sequence[str] = (),
    replace: bool,
    drop_missing: bool,
) -> tuple[str, ...]:
    """Read a file, make new columns, write all of them, and return the names of the new ones.

    The columns that are read, by argument, are chosen by `choose`. Of the source, these columns, their arrays and, if
    any are named, `others`, `calibrated` makes the new columns, by name.
    """

    def new_columns() -> dict[str, FloatArray]:
        left_out = LeftOut() if drop_missing else None
        arrays, rows = read_complete(source, columns, left_out=left_out)
        more = [{name: taken(source.column(name), rows) for name in others}] if others else []
        with located(source, {**columns, "logits": columns.get("probs", ())}):
            new = calibrated(source, columns, arrays, *more)
        if left_out is not None and left_out.rows:
            message = f"values are missing in {left_out}: nothing is calibrated in these rows."
            warnings.warn(message, DataWarning, stacklevel=4)
        if not replace:
            _check_new(source, new)
        return new if rows is None else {name: _complete(values, rows) for name, values in new.items()}

    with open_source(path) as source:
        check_formats(source, out)
        columns = choose(source)
        return write_copy(source, out, [name for names in columns.values() for name in names], new_columns())


def _check_new(source: Source, names: Iterable[str]) -> None:
    """Refuse to add columns that exist already."""
    exists = next((name for name in names if name in source.names), None)
    if exists is not None:
        raise InputError(
            f"{source.file.name} has a column {quoted(exists)} already, which is what the new one would be called. "
            "Remove it first, or write over the original columns with replace=True."
        )


def by_column(names: Sequence[str], values: FloatArray) -> dict[str, FloatArray]:
    """Return one column per number of a row, or all of them in one."""
    return {names[0]: values} if len(names) == 1 else {name: values[:, j] for j, name in enumerate(names)}


def _complete(new: FloatArray, rows: BoolArray) -> FloatArray:
    """Return numbers for all rows of the file, NaN where a value is missing."""
    full = np.full((len(rows), *new.shape[1:]), np.nan)
    full[rows] = new
    return full


def check_formats(source: Source, out: str | os.PathLike[str]) -> None:
    """Refuse an output whose format is unknown or cannot hold what the source holds."""
    suffix = PurePath(out).suffix.lower()
    known = (*_TEXT, *FRAMES, ".npz")
    if suffix not in known:
        raise InputError(f"{printable(out)} must have an extension that names its format: {', '.join(known)}.")
    if (suffix == ".npz") != isinstance(source, Arrays):
        have, ending = ("arrays", ".npz") if isinstance(source, Arrays) else ("a table", ".csv or .parquet")
        raise InputError(f"{source.file.name} holds {have}, so the output must end in {ending}.")
    if isinstance(source, Arrays) and not isinstance(source, Archive):
        raise InputError(f"{source.file.name} must be an NPZ file: save the array with numpy.savez(file, probs=...).")


def write_copy(
    source: Source, out: str | os.PathLike[str], old: Sequence[str], new: Mapping[str, FloatArray]
) -> tuple[str, ...]:
    """Write a file again with new columns, made from the old ones, completely or not at all; return their names.

    A column whose name the file has takes the place of that one; others come last.
    """
    names, suffix = tuple(new), PurePath(out).suffix.lower()
    frame = with_columns(cast("Table", source), old, new) if suffix in FRAMES else None
    if frame is not None:
        del new  # The table has its own copy, and the first need not be kept while it is written.
    with write_atomically(out) as handle:
        if frame is not None:
            FRAMES[suffix](frame, handle)
        elif isinstance(source, Archive):
            _write_archive(source, new, handle)
        else:
            _write_text(cast("Table", source), old, new, handle, suffix)
        source.file.check_unchanged()
        source.close()  # It may be the target, and Windows replaces no file that is open.
    return names


def _write_archive(source: Archive, new: Mapping[str, FloatArray], handle: BinaryIO) -> None:
    """Write new arrays and copy all other members; `Archive` has checked their sizes."""
    arrays = {f"{name}.npy": values for name, values in new.items()}
    members = {member.filename: member for member in source.zip.infolist()}
    with source.undamaged(), zipfile.ZipFile(handle, "w") as written:
        for name in [*(name for name in arrays if name not in members), *members]:
            copy = zipfile.ZipInfo(name)
            size = arrays[name].nbytes if name in arrays else members[name].file_size
            if name in members:
                copy.date_time, copy.compress_type = members[name].date_time, members[name].compress_type
            with written.open(copy, "w", force_zip64=size >= 2**31) as target:
                if name in arrays:
                    np.lib.format.write_array(target, arrays[name], allow_pickle=False)
                else:
                    with source.zip.open(members[name]) as content:
                        shutil.copyfileobj(content, target)


def _write_text(
    source: Table, old: Sequence[str], new: Mapping[str, FloatArray], handle: BinaryIO, suffix: str
) -> None:
    """Write a table as text."""
    separator = "\t" if suffix == ".tsv" else getattr(source, "separator", ",")
    with _compressed(handle) if suffix == ".gz" else nullcontext(handle) as content:
        if isinstance(source, Delimited):
            _write_cells(source, new, content, separator)
            return
        frame = with_columns(source, old, new)
        nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
        if nested:
            raise InputError(f"CSV cannot hold lists, which {listing(nested)} does. Write Parquet.")
        frame.write_csv(content, separator=separator)


def _compressed(handle: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Return a file that is compressed with gzip; its bytes do not depend on the clock."""
    return cast("AbstractContextManager[BinaryIO]", gzip.GzipFile(fileobj=handle, mode="wb", filename="", mtime=0))


def with_columns(source: Table, old: Sequence[str], new: Mapping[str, FloatArray]) -> "pl.DataFrame":
    """Return the whole table with the new columns, made from the old ones."""
    import polars as pl

    frame = source.frame()
    if isinstance(source, Delimited):  # Which has read numbers of more digits than fit as text.
        frame = frame.with_columns(pl.col(old).cast(pl.Float64, strict=False))
    if old[0] in source.nested:
        cells = [pl.Series(name, values) for name, values in new.items()]
        is_list = isinstance(frame.schema[old[0]], pl.List)
        return frame.with_columns([cell.arr.to_list() for cell in cells] if is_list else cells)
    return frame.with_columns([pl.Series(name, values.reshape(-1)).fill_nan(None) for name, values in new.items()])


def _write_cells(source: Delimited, new: Mapping[str, FloatArray], content: BinaryIO, separator: str) -> None:
    """Write a text table with new numbers, in the old cells or after the last; all other cells stay the same texts."""
    import polars as pl

    header, cells = source.cells()
    added = [name for name in new if name not in source.names]
    places = [str(len(source.names) + j if added else source.names.index(name)) for j, name in enumerate(new)]
    numbers = [pl.Series(place, values.reshape(-1)) for place, values in zip(places, new.values(), strict=True)]
    frame = cells.with_columns([one.fill_nan(None) for one in numbers])
    names = pl.DataFrame([[*header, *added]], schema=dict.fromkeys(frame.columns, pl.String), orient="row")
    end = "\r\n" if next(source.lines()).endswith("\r\n") else "\n"
    for part in (names, frame):
        part.write_csv(content, include_header=False, separator=separator, line_terminator=end)
