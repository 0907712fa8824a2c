"""Recognising files by their content."""

from enum import StrEnum
from typing import BinaryIO

from calibrant._border.files import OpenFile
from calibrant.exceptions import FileError

HEAD_BYTES = 65536
"""How much of the beginning of a file is looked at to recognise it."""


class Kind(StrEnum):
    """The formats that can be read."""

    CSV = "CSV"
    GZIP = "gzip-compressed CSV"
    PARQUET = "Parquet"
    IPC_FILE = "Arrow IPC (file)"
    IPC_STREAM = "Arrow IPC (stream)"
    NPZ = "NPZ"
    NPY = "NPY"
    JSONL = "JSON Lines"


_MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.IPC_FILE,
    b"\xff\xff\xff\xff": Kind.IPC_STREAM,
    b"PK\x03\x04": Kind.NPZ,
    b"PK\x05\x06": Kind.NPZ,
    b"\x93NUMPY": Kind.NPY,
    b"\x1f\x8b": Kind.GZIP,
}

_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")

_FOREIGN: dict[bytes | tuple[bytes, ...], str] = {
    (b"\xff\xfe", b"\xfe\xff"): "UTF-16 text. Save it as UTF-8.",
    b"PARE": "Parquet with an encrypted footer. Decrypt it first.",
    b"FEA1": "Feather version 1. Write it again as Arrow IPC (Feather version 2).",
    b"\x28\xb5\x2f\xfd": "compressed with zstd. Decompress it first.",
    b"\xfd7zXZ": "compressed with xz. Decompress it first.",
    b"BZh": "compressed with bzip2. Decompress it first.",
    _PICKLES: "a Python pickle, which is never loaded because it can run code. Save the arrays with numpy.savez.",
    b"\x89HDF": "HDF5. Save the columns as CSV, Parquet or NPZ.",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save the sheet as CSV.",
    b"SQLite format 3": "an SQLite database. Export the table as CSV.",
    b"%PDF": "a PDF document. Predictions are read from CSV, Parquet, Arrow IPC, NPZ or NPY.",
    b"[": "a JSON array. Write one object per line (JSON Lines), or save the columns as CSV, Parquet or NPZ.",
    b"<": "HTML or XML. Was an error page downloaded in place of the file?",
}

_SUFFIXES = {
    ".csv": (Kind.CSV,),
    ".tsv": (Kind.CSV,),
    ".gz": (Kind.GZIP,),
    ".parquet": (Kind.PARQUET,),
    ".pq": (Kind.PARQUET,),
    ".arrow": (Kind.IPC_FILE, Kind.IPC_STREAM),
    ".arrows": (Kind.IPC_STREAM,),
    ".feather": (Kind.IPC_FILE,),
    ".ipc": (Kind.IPC_FILE, Kind.IPC_STREAM),
    ".npz": (Kind.NPZ,),
    ".npy": (Kind.NPY,),
    ".jsonl": (Kind.JSONL,),
    ".ndjson": (Kind.JSONL,),
    ".json": (Kind.JSONL,),
}


def recognise(file: OpenFile) -> Kind:
    """Return the format by content; an extension that says otherwise is an error."""
    head = read_head(file.handle)
    if not head:
        raise FileError(f"{file.name} is empty. It needs a header line and at least one row.")
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), Kind.CSV)
    if kind is Kind.CSV:
        check_text(file, head)
        kind = Kind.JSONL if looks_like_json(head) and file.suffix not in (".csv", ".tsv") else kind
    expected = _SUFFIXES.get(file.suffix, (kind,))
    if kind not in expected:
        raise FileError(
            f"{file.name} has the extension {file.suffix} of {expected[0]}, but its content is {kind}. "
            "Rename the file, or save it in the format of its name."
        )
    return kind


def looks_like_json(head: bytes) -> bool:
    """Whether a text begins with a JSON object."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def read_head(handle: BinaryIO) -> bytes:
    """Return the beginning of a file without moving in it."""
    head = handle.read(HEAD_BYTES)
    handle.seek(0)
    return head


def check_text(file: OpenFile, head: bytes) -> None:
    """Refuse what cannot be a text table."""
    for magic, description in _FOREIGN.items():
        # A text table may begin with a bracket if its name says that it is one.
        if head.startswith(magic) and not (len(magic) == 1 and file.suffix in (".csv", ".tsv", ".gz")):
            raise FileError(f"{file.name} cannot be read: its content is {description}")
    if _is_wide(head):
        raise FileError(f"{file.name} cannot be read: its content is UTF-16 text. Save it as UTF-8.")
    if _is_binary(head):
        said = f" although its extension is {file.suffix}" if file.suffix in _SUFFIXES else ""
        raise FileError(
            f"{file.name} cannot be read: its content is unknown binary data{said}. "
            "CSV, Parquet, Arrow IPC, NPZ, NPY and JSON Lines can be read."
        )


def _is_wide(head: bytes) -> bool:
    """Whether every other byte is NUL, as in UTF-16 without a mark at its beginning."""
    few, many = sorted([head[0::2].count(0), head[1::2].count(0)])
    return many > 0.2 * len(head) and few < 0.05 * len(head)


def _is_binary(head: bytes) -> bool:
    """Whether the first line holds what no header line holds."""
    line = head.lstrip(b"\r\n").split(b"\n", 1)[0]
    controls = sum(byte < 32 and byte not in b"\t\r\x1b" for byte in line)
    if controls and line.decode("utf-8", "ignore").encode() != line:
        return True
    return b"\0" in line or controls > len(line) / 10
