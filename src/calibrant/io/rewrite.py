"""Files written again with calibrated columns beside the original ones, or in their place."""

import gzip
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import PurePath
from typing import BinaryIO, TypeAlias, Unpack, cast

import numpy as np

from calibrant._border.files import write_atomically
from calibrant._border.text import listing, printable, quoted
from calibrant._border.types import BoolArray, FloatArray
from calibrant.exceptions import InputError
from calibrant.forecasts import Distribution, Normal, Quantiles, Samples
from calibrant.io.arrays import Archive, Arrays
from calibrant.io.columns import CALIBRATED
from calibrant.io.delimited import Delimited
from calibrant.io.forecasts import law_of
from calibrant.io.header import Chosen
from calibrant.io.opening import open_source
from calibrant.io.polars import pl
from calibrant.io.request import ForecastRequest, ReadOptions, Request
from calibrant.io.rows import LeftOut, Others, Part, read_part
from calibrant.io.sniff import TABLES
from calibrant.io.sources import Source
from calibrant.io.tables import Table

NewColumns: TypeAlias = dict[str, FloatArray]
"""New columns by name."""

SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles that describe a law which is no longer normal."""

_MOST_ROWS, _CELLS_PER_GROUP = 512**2, 2**23
"""Most rows of a row group in Parquet, as polars itself takes them, and most cells, which limit wide tables."""


def _write_parquet(frame: "pl.DataFrame", handle: BinaryIO) -> None:
    """Write rows in groups: a group is encoded in memory, so few groups would copy a wide table."""
    rows = max(1, min(_MOST_ROWS, _CELLS_PER_GROUP // max(frame.width, 1)))
    frame.write_parquet(handle, row_group_size=rows)


FRAMES: dict[str, Callable[["pl.DataFrame", BinaryIO], object]] = {
    **dict.fromkeys((".parquet", ".pq"), _write_parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), lambda frame, handle: frame.write_ipc(handle)),
    ".arrows": lambda frame, handle: frame.write_ipc_stream(handle),
    **dict.fromkeys((".jsonl", ".ndjson"), lambda frame, handle: frame.write_ndjson(handle)),
}


def rewrite_probabilities(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    transform: Callable[..., FloatArray],
    *,
    others: Sequence[str] = (),
    replace: bool = False,
    **options: Unpack[ReadOptions],
) -> tuple[str, ...]:
    """Write a table or an archive again with new columns of probabilities, and return their names.

    Parameters
    ----------
    path, out : str or path
        The extension of `out` determines the format. A table can be written in any format for tables; from CSV to CSV,
        all other cells keep their exact text.
    transform : callable
        Maps the numbers in the file, (n, K) or (n,), to new ones of the same shape. If `others` are named, its second
        argument is a dict of these columns of the same rows.
    others : sequence of str, optional
    replace : bool, default=False
        Replace the old columns. By default the new ones are added, with "calibrated_" before their names.
    **options
        As for `read_predictions`, without labels. New numbers are in the unit of the old ones, percentages included.
        With ``drop_missing=True``, rows with a missing number are kept, and their new columns are empty.
    """
    request = Request(needs_label=False, **options)

    def calibrated(part: Part, *others: Others) -> NewColumns:
        new = transform(part.numbers.pop("probs"), *others)  # Not kept once the new numbers are made.
        return _by_column(part.columns.probs, new * 100 if request.percent else new)

    return _rewrite(path, out, request, calibrated, others, replace=replace)


def rewrite_forecasts(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    transform: Callable[..., Distribution | Mapping[str, FloatArray]],
    request: ForecastRequest,
    *,
    others: Sequence[str] = (),
    replace: bool = False,
) -> tuple[str, ...]:
    """Do the same for forecasts: `transform` maps laws to laws, or to columns by name, such as the ends of intervals.

    Only laws of the same kind can replace those in the file. Laws that are no longer normal get a mean, an sd and five
    quantiles.
    """

    def calibrated(part: Part, *others: Others) -> NewColumns:
        law = law_of(part)
        return _columns_of(transform(law, *others), law, part.columns.numbers, needs_same=replace)

    return _rewrite(path, out, request, calibrated, others, replace=replace)


def _columns_of(
    law: Distribution | Mapping[str, FloatArray], before: Distribution, columns: Chosen, *, needs_same: bool
) -> NewColumns:
    """Return the columns that describe calibrated laws: those of the file if the laws are of the same kind."""
    if isinstance(law, Mapping):
        if needs_same:
            raise InputError("intervals cannot replace the distributions in the file: leave out replace=True.")
        return dict(law)
    if isinstance(law, Samples) and isinstance(before, Samples) and law.draws.shape == before.draws.shape:
        return _by_column(columns["draws"], law.draws)
    if isinstance(before, Quantiles):
        values = law.values if isinstance(law, Quantiles) else law.quantile(before.levels)
        return _by_column(columns["values"], values)
    if isinstance(law, Normal) and isinstance(before, Normal):
        return {columns["loc"][0]: law.loc, columns["scale"][0]: law.scale}
    if needs_same:
        raise InputError(
            "the calibrated distributions are of a different kind from those in the file: leave out replace=True."
        )
    sd, quantiles = law.sd(), law.quantile(list(SHOWN)).T
    (mean_name, *_), (sd_name, *_) = columns.get("loc", ["mean"]), columns.get("scale", ["sd"])
    moments = {mean_name: law.mean(), sd_name: np.where(np.isfinite(sd), sd, np.nan)}
    return moments | {f"q{level:g}": q for level, q in zip(SHOWN, quantiles, strict=True)}


def _by_column(names: Sequence[str], values: FloatArray) -> NewColumns:
    """Return the numbers of each row as one column per name, or in a single column if there is one name."""
    return {names[0]: values} if len(names) == 1 else {name: values[:, j] for j, name in enumerate(names)}


def _rewrite(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    request: Request | ForecastRequest,
    calibrated: Callable[..., NewColumns],
    others: Sequence[str],
    *,
    replace: bool,
) -> tuple[str, ...]:
    """Read a file, make new columns, write everything, all of it or nothing, and return the names of the new columns.

    New columns get a prefix, or replace those whose names they have; the rest come last.
    """
    prefix = "" if replace else CALIBRATED
    with open_source(path) as source:
        suffix = _check_formats(source, out)
        columns = source.choose(request)
        old = [name for names in columns.numbers.values() for name in names]
        if not replace:  # Before long work, which nearly always gives columns of the same names.
            _check_new(source, [f"{prefix}{name}" for name in columns.numbers.get("probs", ())])
        left_out = LeftOut()
        part = read_part(source, columns, request, left_out, others)
        with part.located():
            found = calibrated(part, *[part.others] * bool(others))
            new = {f"{prefix}{name}": _in_rows(values, part.rows) for name, values in found.items()}
            del found  # Nothing but `new` holds them.
        left_out.warn("nothing is calibrated in these rows")
        if not replace:
            _check_new(source, new)
        names = tuple(new)
        table = _with_columns(source, old, new, suffix) if isinstance(source, Table) else None
        if table is not None:
            del part, new  # The table has its own copy.
        with write_atomically(out) as handle:
            if table is None:
                _write_archive(cast("Archive", source), new, handle)
            elif suffix in FRAMES:
                FRAMES[suffix](table, handle)
            else:
                _write_text(source, table, names, handle, suffix)
            source.file.check_unchanged()
            source.close()  # It may be the target, and Windows replaces no file that is open.
    return names


def _in_rows(values: FloatArray, rows: BoolArray | None) -> FloatArray:
    """Return numbers of some rows as numbers of all, NaN in the others."""
    if rows is None:
        return values
    every = np.full((len(rows), *values.shape[1:]), np.nan)
    every[rows] = values
    return every


def _check_new(source: Source, names: Iterable[str]) -> None:
    """Refuse to add columns that exist already."""
    exists = next((name for name in names if name in source.names), None)
    if exists is not None:
        raise InputError(
            f"{source.file.name} already has a column {quoted(exists)}, the name of a new one. "
            "Remove it first, or write over the original columns with replace=True."
        )


def _check_formats(source: Source, out: str | os.PathLike[str]) -> str:
    """Return the suffix of the output, whose format must be known and able to hold what the source holds."""
    suffix = PurePath(out).suffix.lower()
    known = (*TABLES, *FRAMES, ".npz")
    if suffix not in known:
        raise InputError(f"{printable(out)} must have an extension that names its format: {', '.join(known)}.")
    if (suffix == ".npz") != isinstance(source, Arrays):
        have, ending = ("arrays", ".npz") if isinstance(source, Arrays) else ("a table", ".csv or .parquet")
        raise InputError(f"{source.file.name} holds {have}, so the output must end in {ending}.")
    if isinstance(source, Arrays) and not isinstance(source, Archive):
        raise InputError(f"{source.file.name} must be an NPZ file: save the array with numpy.savez(file, probs=...).")
    return suffix


def _with_columns(source: Table, old: Sequence[str], new: Mapping[str, FloatArray], suffix: str) -> "pl.DataFrame":
    """Return the whole table with new columns; from text to text, its other cells stay the same texts."""
    is_nested = old[0] in source.nested
    columns = [pl.Series(name, values if is_nested else values.reshape(-1)) for name, values in new.items()]
    if isinstance(source, Delimited) and suffix in TABLES:
        # Columns are named by their position: in the header, names may be missing, or stand between spaces.
        places = [*source.names, *(name for name in new if name not in source.names)]
        numbers = [column.fill_nan(None).alias(str(places.index(column.name))) for column in columns]
        return source.cells().with_columns(numbers)
    frame = source.frame()
    if isinstance(source, Delimited):  # It leaves numbers with too many digits as text.
        frame = frame.with_columns(pl.col(old).cast(pl.Float64, strict=False))
    if is_nested:
        is_list = isinstance(frame.schema[old[0]], pl.List)
        return frame.with_columns([cell.arr.to_list() for cell in columns] if is_list else columns)
    return frame.with_columns([column.fill_nan(None) for column in columns])


def _write_text(source: Source, table: "pl.DataFrame", names: Sequence[str], handle: BinaryIO, suffix: str) -> None:
    """Write a table as text, with the separator, the header and the line ends of the source if that is text too."""
    nested = [name for name, dtype in table.schema.items() if dtype.is_nested()]
    if nested:
        raise InputError(f"CSV cannot hold lists, which {listing(nested)} does. Write Parquet.")
    separator, header, end = ",", table.columns, "\n"
    if isinstance(source, Delimited):
        separator, end = source.separator, "\r\n" if next(source.lines()).endswith("\r\n") else "\n"
        header = [*source.titles, *(name for name in names if name not in source.names)]
    separator = "\t" if suffix == ".tsv" else separator
    first = pl.DataFrame([header], schema=dict.fromkeys(table.columns, pl.String), orient="row")
    # The bytes of a compressed file do not depend on the clock.
    zipped = gzip.GzipFile(fileobj=handle, mode="wb", filename="", mtime=0) if suffix == ".gz" else nullcontext(handle)
    with zipped as content:
        for part in (first, table):
            part.write_csv(cast("BinaryIO", content), include_header=False, separator=separator, line_terminator=end)


def _write_archive(source: Archive, new: Mapping[str, FloatArray], handle: BinaryIO) -> None:
    """Write new arrays and copy all other members, whose sizes `Archive` has checked."""
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
