"""Files written again with other probabilities: the same rows, and the same other columns."""

import gzip
import io
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from calibrant._border.files import write_atomically
from calibrant._border.text import listing, printable
from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.arrays import Archive, Arrays
from calibrant.io.columns import as_request
from calibrant.io.delimited import Delimited
from calibrant.io.read import ADVICE, open_source
from calibrant.io.sources import Source, located
from calibrant.io.tables import Table

if TYPE_CHECKING:
    import polars as pl

_TEXT = (".csv", ".tsv", ".gz")
_FRAMES: dict[str, Callable[["pl.DataFrame", BinaryIO], Any]] = {
    ".parquet": lambda frame, handle: frame.write_parquet(handle),
    ".pq": lambda frame, handle: frame.write_parquet(handle),
    ".arrow": lambda frame, handle: frame.write_ipc(handle),
    ".feather": lambda frame, handle: frame.write_ipc(handle),
    ".ipc": lambda frame, handle: frame.write_ipc(handle),
    ".arrows": lambda frame, handle: frame.write_ipc_stream(handle),
}


def rewrite_probabilities(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    transform: Callable[[NDArray[Any]], FloatArray],
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    logits: bool = False,
    classes: Sequence[Any] | None = None,
) -> tuple[str, ...]:
    """Write a file again with its columns of probabilities replaced, completely or not at all.

    Parameters
    ----------
    path : str or path
        CSV, Parquet, Arrow IPC or NPZ. Labels are not needed.
    out : str or path
        Its extension names the format. Tables can be turned into one another, and archives written as archives; from
        CSV to CSV, all other cells stay the same texts.
    transform : callable
        Given the numbers in the file, (n, K) or (n,), returns others of the same shape.
    label : str, optional
        Column of labels, which is then never taken for probabilities.
    probs, logits, classes
        As for `read_predictions`.

    Returns
    -------
    tuple of str
        The columns that were replaced, in the order of the classes.
    """
    request = replace(as_request(label, probs, None, logits, classes), needs_label=False)
    with open_source(path) as source:
        _check_formats(source, out)
        columns = source.choose(request).probs
        values = source.read({"probs": columns})["probs"]
        with located(source, {"probs": columns, "logits": columns}, ADVICE):
            new = transform(values)
        with write_atomically(out) as handle:
            if isinstance(source, Archive):
                _write_archive(source, columns[0], new, handle)
            else:
                _write_table(cast("Table", source), columns, new, handle, PurePath(out).suffix.lower())
            source.file.check_unchanged()
    return columns


def _check_formats(source: Source, out: str | os.PathLike[str]) -> None:
    """Refuse an output whose format is unknown or cannot hold what the source holds."""
    suffix = PurePath(out).suffix.lower()
    known = (*_TEXT, *_FRAMES, ".npz")
    if suffix not in known:
        raise InputError(f"{printable(out)} must have an extension that names its format: {', '.join(known)}.")
    if (suffix == ".npz") != isinstance(source, Arrays):
        have, ending = ("arrays", ".npz") if isinstance(source, Arrays) else ("a table", ".csv or .parquet")
        raise InputError(f"{source.file.name} holds {have}, so the output must end in {ending}.")
    if isinstance(source, Arrays) and not isinstance(source, Archive):
        raise InputError(f"{source.file.name} must be an NPZ file: save the array with numpy.savez(file, probs=...).")


def _write_archive(source: Archive, name: str, new: FloatArray, handle: BinaryIO) -> None:
    """Copy all members but one; `Archive` has checked their sizes."""
    with source.undamaged(), zipfile.ZipFile(handle, "w") as written:
        for member in source.zip.infolist():
            copy = zipfile.ZipInfo(member.filename, member.date_time)
            copy.compress_type = member.compress_type
            with written.open(copy, "w", force_zip64=member.file_size >= 2**31) as target:
                if member.filename == f"{name}.npy":
                    np.lib.format.write_array(target, new, allow_pickle=False)
                else:
                    with source.zip.open(member) as content:
                        shutil.copyfileobj(content, target)


def _write_table(source: Table, columns: Sequence[str], new: FloatArray, handle: BinaryIO, suffix: str) -> None:
    if suffix in _FRAMES:
        _FRAMES[suffix](_replaced(source, columns, new), handle)
        return
    separator = "\t" if suffix == ".tsv" else getattr(source, "separator", ",")
    with _compressed(handle) if suffix == ".gz" else nullcontext(handle) as content:
        if isinstance(source, Delimited):
            _replace_cells(source, columns, new, content, separator)
            return
        frame = _replaced(source, columns, new)
        nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
        if nested:
            raise InputError(f"CSV cannot hold lists, which {listing(nested)} does. Write Parquet.")
        frame.write_csv(content, separator=separator)


def _compressed(handle: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Return a file that is compressed with gzip; its bytes do not depend on the clock."""
    return cast("AbstractContextManager[BinaryIO]", gzip.GzipFile(fileobj=handle, mode="wb", filename="", mtime=0))


def _replaced(source: Table, columns: Sequence[str], new: FloatArray) -> "pl.DataFrame":
    """Return the whole table with the new numbers."""
    import polars as pl

    frame = source.frame()
    if columns[0] in source.nested:
        cells = pl.Series(columns[0], new)
        is_list = isinstance(frame.schema[columns[0]], pl.List)
        return frame.with_columns(cells.arr.to_list() if is_list else cells)
    matrix = new.reshape(len(new), -1)
    return frame.with_columns([pl.Series(name, matrix[:, j]) for j, name in enumerate(columns)])


def _replace_cells(
    source: Delimited, columns: Sequence[str], new: FloatArray, content: BinaryIO, separator: str
) -> None:
    """Write a text table with new numbers and every other byte as it is."""
    text = io.TextIOWrapper(content, encoding="utf-8", newline="")
    places = [source.names.index(name) for name in columns]
    numbers = new.reshape(len(new), -1).tolist()
    row = -1  # The header.
    for line in _joined(source.lines(), ""):
        body = line.rstrip("\r\n")
        fields = body.split(source.separator)
        if '"' in body:
            fields = list(_joined(fields, source.separator))
        if body and 0 <= row < len(numbers):
            for place, number in zip(places, numbers[row], strict=True):
                fields[place] = repr(number)
        row += bool(body)
        if separator != source.separator:
            fields = [f'"{f}"' if separator in f and not f.lstrip().startswith('"') else f for f in fields]
        text.write(separator.join(fields) + line[len(body) :])
    if row != len(numbers):
        raise InputError(f"{source.file.name} has {len(numbers)} rows or {row}: quotation marks are misplaced.")
    text.flush()
    text.detach()


def _joined(pieces: Iterable[str], between: str) -> Iterator[str]:
    """Yield the pieces, those together between which a quotation mark is open."""
    parts: list[str] = []
    is_open = False
    for piece in pieces:
        parts.append(piece)
        is_open ^= piece.count('"') % 2 == 1
        if not is_open:
            yield between.join(parts)
            parts = []
    if parts:
        yield between.join(parts)
