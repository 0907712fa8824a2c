"""Files of calibrators that were changed by somebody who can compute checksums."""

import base64
import hashlib
import json

import numpy as np


def forge(path, change):
    """Change a saved document and give it a right checksum again."""
    document = json.loads(path.read_text())
    document = change(document) or document
    document["sha256"] = "0" * 64
    content = json.dumps(document, indent=1).encode()
    path.write_bytes(content.replace(b"0" * 64, hashlib.sha256(content).hexdigest().encode(), 1))


def as_array(values, dtype="<f8"):
    """Return an array as it stands in such a file."""
    values = np.asarray(values, dtype=dtype)
    return {"dtype": dtype, "shape": list(values.shape), "data": base64.b64encode(values.tobytes()).decode()}
