"""Formats of files, recognised by content."""

from enum import StrEnum

from calibrant._border.files import OpenFile
from calibrant.exceptions import FileError

HEAD_BYTES = 65536
"""How many bytes at the beginning of a file are used to recognise it."""


class Kind(StrEnum):
    """The formats that can be read."""

    CSV = "CSV"
    GZIP = "gzip-compressed CSV"
    PARQUET = "Parquet"
    IPC = "Arrow IPC"
    NPZ = "NPZ"
    NPY = "NPY"
    JSONL = "JSON Lines"


_MAGIC = {
    b"PAR1": Kind.PARQUET,
    b"ARROW1": Kind.IPC,
    b"\xff\xff\xff\xff": Kind.IPC,
    b"PK\x03\x04": Kind.NPZ,
    b"PK\x05\x06": Kind.NPZ,
    b"\x93NUMPY": Kind.NPY,
    b"\x1f\x8b": Kind.GZIP,
}

_FOREIGN: dict[tuple[bytes, ...], str] = {
    (b"\xff\xfe", b"\xfe\xff"): "UTF-16 text. Save it as UTF-8.",
    (b"\x28\xb5\x2f\xfd",): "compressed with zstd. Decompress it first.",
    (b"\xfd7zXZ",): "compressed with xz. Decompress it first.",
    (b"BZh",): "compressed with bzip2. Decompress it first.",
    tuple(b"\x80" + bytes([version]) for version in range(2, 6)): "a Python pickle, which is never loaded because it "
    "can run code. Save the arrays with numpy.savez.",
    (b"\x89HDF",): "HDF5. Save the columns as CSV, Parquet or NPZ.",
    (b"[",): "a JSON array. Write one object per line (JSON Lines), or save the columns as CSV, Parquet or NPZ.",
    (b"calibrant sketch", b"calibrant groups"): "a sketch, which has no rows. Name the files that it was made from, or "
    "use a command that takes sketches: evaluate, report, fit, compare, watch.",
    (b"<",): "HTML or XML. Was an error page downloaded in place of the file?",
}

TABLES = (".csv", ".tsv", ".gz")
"""Suffixes of text tables, whose header may begin with a bracket."""

_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv"), Kind.CSV),
    **dict.fromkeys((".parquet", ".pq"), Kind.PARQUET),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), Kind.IPC),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), Kind.JSONL),
    ".gz": Kind.GZIP,
    ".npz": Kind.NPZ,
    ".npy": Kind.NPY,
}


def recognise(file: OpenFile) -> Kind:
    """Return the format by content; an extension that contradicts it is an error."""
    head = _head(file)
    if not head:
        raise FileError(f"{file.name} is empty. It needs a header line and at least one row.")
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None) or recognise_text(file)
    expected = _SUFFIXES.get(file.suffix, kind)
    if kind is not expected:
        raise FileError(
            f"{file.name} has the extension {file.suffix} of {expected}, but its content is {kind}. "
            "Rename the file, or save it in the format of its name."
        )
    return kind


def recognise_text(file: OpenFile) -> Kind:
    """Return whether a text is JSON Lines or CSV; refuse content that is neither."""
    head = _head(file)
    for beginnings, description in _FOREIGN.items():
        is_text = len(beginnings[0]) == 1 and file.suffix in TABLES
        if head.startswith(beginnings) and not is_text:
            raise FileError(f"{file.name} cannot be read: its content is {description}")
    line = head.lstrip(b"\r\n").split(b"\n", 1)[0]
    if any(byte < 32 and byte not in b"\t\r\x1b" for byte in line):  # No header line contains such bytes.
        said = f" although its extension is {file.suffix}" if file.suffix in _SUFFIXES else ""
        raise FileError(
            f"{file.name} cannot be read: its content is unknown binary data{said}. CSV in UTF-8, Parquet, Arrow IPC, "
            "NPZ, NPY and JSON Lines can be read."
        )
    is_json = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and file.suffix not in (".csv", ".tsv")
    return Kind.JSONL if is_json else Kind.CSV


def _head(file: OpenFile) -> bytes:
    head = file.handle.read(HEAD_BYTES)
    file.handle.seek(0)
    return head
