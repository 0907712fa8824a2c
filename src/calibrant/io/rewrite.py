"""Files written again with other probabilities: the same rows, and the same other columns."""

import gzip
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from calibrant._typing import FloatArray
from calibrant.exceptions import InputError
from calibrant.io.archives import Archive, ArrayFile
from calibrant.io.columnar import Columnar
from calibrant.io.columns import Columns, as_request
from calibrant.io.delimited import Delimited
from calibrant.io.read import ADVICE, READERS
from calibrant.io.rewrite_text import replace_cells, typed
from calibrant.io.sniff import Kind
from calibrant.io.sources import located, open_source
from calibrant.io.tables import Table
from calibrant.io.text import brief, damaged, listing, printable, quoted
from calibrant.io.write import write_atomically

if TYPE_CHECKING:
    import polars as pl

_KINDS = {
    ".csv": Kind.CSV,
    ".tsv": Kind.CSV,
    ".gz": Kind.GZIP,
    ".parquet": Kind.PARQUET,
    ".pq": Kind.PARQUET,
    ".arrow": Kind.IPC_FILE,
    ".feather": Kind.IPC_FILE,
    ".ipc": Kind.IPC_FILE,
    ".arrows": Kind.IPC_STREAM,
    ".npz": Kind.NPZ,
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
        Its extension tells the format. Tables can be turned into one another, and archives written as archives; from
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
    with open_source(path, READERS) as source:
        write = _writer(source, out)
        columns = source.choose(request)
        values = source.scores(columns)
        with located(source, {"probs": columns.probs, "logits": columns.probs}, ADVICE):
            new = transform(values)
        with write_atomically(out) as handle:
            write(source, columns, new, handle)
            source.file.check_unchanged()
    return columns.probs


def _writer(source: Table | ArrayFile, out: str | os.PathLike[str]) -> Callable[..., None]:
    """Return the function that writes the format of the output, if it can be made from the source."""
    kind = _KINDS.get(PurePath(out).suffix.lower())
    if kind is None:
        raise InputError(f"{printable(out)} must have an extension that tells its format: {', '.join(_KINDS)}.")
    if (kind is Kind.NPZ) != isinstance(source, ArrayFile):
        have, ending = ("arrays", ".npz") if isinstance(source, ArrayFile) else ("a table", ".csv or .parquet")
        raise InputError(f"{source.file.name} holds {have}, so the output must end in {ending}.")
    if isinstance(source, ArrayFile) and not isinstance(source, Archive):
        raise InputError(f"{source.file.name} must be an NPZ file: save the array with numpy.savez(file, probs=...).")
    if kind is Kind.NPZ:
        return _write_archive
    separator = "\t" if str(out).endswith(".tsv") else getattr(source, "separator", ",")

    def write_texts(source: Table, columns: Columns, new: FloatArray, handle: BinaryIO) -> None:
        with _text(handle, gzipped=kind is Kind.GZIP) as content:
            _write_csv(source, columns, new, content, separator)

    return write_texts if kind in (Kind.CSV, Kind.GZIP) else _FRAME_WRITERS[kind]


@contextmanager
def _text(handle: BinaryIO, *, gzipped: bool) -> Iterator[BinaryIO]:
    if not gzipped:
        yield handle
        return
    with gzip.GzipFile(fileobj=handle, mode="wb", filename="", mtime=0) as content:
        yield cast("BinaryIO", content)


def _write_csv(source: Table, columns: Columns, new: FloatArray, content: BinaryIO, separator: str) -> None:
    if isinstance(source, Delimited):
        replace_cells(source, columns, new, content, separator)
    else:
        _check_flat(_replaced(source, columns, new)).write_csv(content, separator=separator)


def _check_flat(frame: "pl.DataFrame") -> "pl.DataFrame":
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise InputError(f"CSV cannot hold lists, which {listing(nested)} does. Write Parquet.")
    return frame


def _write_parquet(source: Table, columns: Columns, new: FloatArray, handle: BinaryIO) -> None:
    _replaced(source, columns, new).write_parquet(handle)


def _write_ipc(source: Table, columns: Columns, new: FloatArray, handle: BinaryIO) -> None:
    _replaced(source, columns, new).write_ipc(handle)


def _write_ipc_stream(source: Table, columns: Columns, new: FloatArray, handle: BinaryIO) -> None:
    _replaced(source, columns, new).write_ipc_stream(handle)


_FRAME_WRITERS = {
    Kind.PARQUET: _write_parquet,
    Kind.IPC_FILE: _write_ipc,
    Kind.IPC_STREAM: _write_ipc_stream,
}


def _replaced(source: Table, columns: Columns, new: FloatArray) -> "pl.DataFrame":
    """Return the whole table with the new numbers."""
    import polars as pl

    frame = source.frame() if isinstance(source, Columnar) else typed(cast("Delimited", source))
    if columns.probs[0] in source.nested:
        cells = pl.Series(columns.probs[0], new)
        is_list = isinstance(frame.schema[columns.probs[0]], pl.List)
        return frame.with_columns(cells.arr.to_list() if is_list else cells)
    matrix = new.reshape(len(new), -1)
    return frame.with_columns([pl.Series(name, matrix[:, j]) for j, name in enumerate(columns.probs)])


def _write_archive(source: Archive, columns: Columns, new: FloatArray, handle: BinaryIO) -> None:
    """Copy all arrays but one, byte by byte; `Archive` has checked their sizes."""
    target = f"{columns.probs[0]}.npy"
    try:
        with zipfile.ZipFile(source.file.handle) as old, zipfile.ZipFile(handle, "w") as written:
            for member in old.infolist():
                copy = zipfile.ZipInfo(member.filename, member.date_time)
                copy.compress_type = member.compress_type
                with written.open(copy, "w", force_zip64=member.file_size >= 2**31) as sink:
                    if member.filename == target:
                        np.lib.format.write_array(sink, new, allow_pickle=False)
                    else:
                        with old.open(member) as content:
                            shutil.copyfileobj(content, sink)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise damaged(source.file.name, Kind.NPZ, f"{quoted(target)}, {brief(error)}") from error
