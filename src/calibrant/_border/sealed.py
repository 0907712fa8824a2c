"""JSON files that contain their own checksum, so that a changed or damaged file is refused."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from calibrant._border.numerals import count
from calibrant.exceptions import InputError

_NO_CHECKSUM = "0" * 64


def seal(document: Mapping[str, object]) -> tuple[bytes, str]:
    """Return the content of a file and its checksum, computed with zeros in the field "sha256", where it then stands.

    Examples
    --------
    >>> content, checksum = seal({"format": 1, "sha256": "", "numbers": [1, 2]})
    >>> unseal(content, "numbers", newest=1)[0]["numbers"]
    [1, 2]
    """
    whole = {**document, "sha256": _NO_CHECKSUM}
    content = json.dumps(whole, indent=1, allow_nan=False).encode("ascii") + b"\n"
    checksum = hashlib.sha256(content).hexdigest()
    return content.replace(_NO_CHECKSUM.encode(), checksum.encode(), 1), checksum


def unseal(content: bytes, key: str, *, newest: int, most_bytes: int = 2**30) -> tuple[dict[str, Any], str]:
    """Return the document in a file, which must have the key and a format up to the newest, and its checksum."""
    if len(content) > most_bytes:
        raise InputError(f"it is larger than {count(most_bytes)} bytes, the most that are read.")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("it is not JSON, or it is damaged. Write it again.") from error
    if not isinstance(document, dict) or not isinstance(document.get("format"), int) or key not in document:
        raise InputError(f"it does not describe a {key}. Write it with `save`.")
    if document["format"] > newest:
        raise InputError(
            f"it has format {document['format']}, written by calibrant {str(document.get('calibrant'))[:20]}, and this "
            f"version reads formats up to {newest}. Upgrade calibrant."
        )
    checksum = document.get("sha256")
    if not isinstance(checksum, str) or not re.fullmatch("[0-9a-f]{64}", checksum):
        raise InputError("it is incomplete. Write it again.")
    if hashlib.sha256(content.replace(checksum.encode(), _NO_CHECKSUM.encode(), 1)).hexdigest() != checksum:
        raise InputError("its content does not match its checksum: it was changed or damaged. Copy or write it again.")
    return document, checksum
