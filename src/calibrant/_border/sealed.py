"""JSON files that contain their own checksum, so that a changed or damaged file is refused."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from calibrant._border.files import open_regular, write_atomically
from calibrant._border.numerals import count
from calibrant.exceptions import FileError, InputError

Built = TypeVar("Built")

_NO_CHECKSUM = "0" * 64


@dataclass(frozen=True)
class Kind:
    """A kind of sealed files.

    Attributes
    ----------
    key : str
        The key of the document under which the content stands.
    words : str
        What the content is, for messages.
    format : int
        Number of the current format; older ones can be read too.
    most_bytes : int
        Size of the largest file that is written or read.
    """

    key: str
    words: str
    format: int
    most_bytes: int


def write_sealed(path: str | os.PathLike[str], kind: Kind, content: object, details: Mapping[str, object]) -> str:
    """Write content and details to a file, completely or not at all, and return the checksum in it."""
    from calibrant import __version__

    head = {"format": kind.format, "calibrant": __version__, "sha256": ""}
    try:
        written, checksum = seal({**head, kind.key: content, "details": dict(details)})
    except TypeError as error:
        raise TypeError(f"details must be strings and numbers: {error}.") from error
    if len(written) > kind.most_bytes:
        raise InputError(
            f"the file would have {count(len(written))} bytes, more than the {count(kind.most_bytes)} that `load` "
            "accepts. Choose a calibrator with fewer parameters."
        )
    with write_atomically(path) as file:
        file.write(written)
    return checksum


def read_sealed(
    path: str | os.PathLike[str], kind: Kind, build: Callable[[Any], Built]
) -> tuple[Built, dict[str, Any], str]:
    """Return what is built from the content of a file, its details and its checksum.

    Raises
    ------
    FileError
        If the file was changed or damaged, is of another kind, or `build` raises an InputError.
    """
    with open_regular(path) as file:
        try:
            document, checksum = unseal(file.handle.read(kind.most_bytes + 1), kind)
            return build(document[kind.key]), document["details"], checksum
        except InputError as error:
            raise FileError(f"{file.name} cannot be used as a {kind.words}: {error}") from error


def seal(document: Mapping[str, object]) -> tuple[bytes, str]:
    """Return the content of a file and its checksum, computed with zeros in the field "sha256", where it then stands.

    Examples
    --------
    >>> content, checksum = seal({"format": 1, "sha256": "", "numbers": [1, 2], "details": {}})
    >>> unseal(content, Kind("numbers", "list of numbers", 1, 10**6))[0]["numbers"]
    [1, 2]
    """
    whole = {**document, "sha256": _NO_CHECKSUM}
    content = json.dumps(whole, indent=1, allow_nan=False).encode("ascii") + b"\n"
    checksum = hashlib.sha256(content).hexdigest()
    return content.replace(_NO_CHECKSUM.encode(), checksum.encode(), 1), checksum


def unseal(content: bytes, kind: Kind) -> tuple[dict[str, Any], str]:
    """Return the document in a file of this kind, and its checksum."""
    if len(content) > kind.most_bytes:
        raise InputError(f"it is larger than {count(kind.most_bytes)} bytes, the most that are read.")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("it is not JSON, or it is damaged. Write it again.") from error
    types = {"format": int, "details": dict, kind.key: object}
    if not isinstance(document, dict) or not all(isinstance(document.get(key), type_) for key, type_ in types.items()):
        raise InputError(f"it does not describe a {kind.words}. Write it with `save`.")
    if document["format"] > kind.format:
        raise InputError(
            f"it has format {document['format']}, written by calibrant {str(document.get('calibrant'))[:20]}, and this "
            f"version reads formats up to {kind.format}. Upgrade calibrant."
        )
    checksum = document.get("sha256")
    if not isinstance(checksum, str) or not re.fullmatch("[0-9a-f]{64}", checksum):
        raise InputError("it is incomplete. Write it again.")
    if hashlib.sha256(content.replace(checksum.encode(), _NO_CHECKSUM.encode(), 1)).hexdigest() != checksum:
        raise InputError("its content does not match its checksum: it was changed or damaged. Copy or write it again.")
    return document, checksum
