"""A cache of compiled templates, like Python's of modules: compiling them takes as long as making a page."""

import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import BytecodeCache, __version__
from jinja2.bccache import Bucket

from calibrant._border.files import write_atomically


class CompiledTemplates(BytecodeCache):
    """A cache in the folders where Python keeps compiled modules; without it if they cannot be written to.

    Parameters
    ----------
    folder : Path
        Of the templates.
    settings : str
        What the code depends on besides the template and the versions of Jinja2 and Python.
    """

    def __init__(self, folder: Path, settings: str) -> None:
        self.folder, self.settings = folder, settings

    def get_cache_key(self, name: str, filename: str | None = None) -> str:  # noqa: ARG002 (part of the contract)
        """Return the name."""
        return name

    def get_source_checksum(self, source: str) -> str:
        """Return a checksum of everything that the code depends on."""
        return super().get_source_checksum(f"{__version__} {self.settings}\n{source}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read the code, if there is any for this version of the template."""
        with suppress(OSError):
            content = self._place(bucket).read_bytes()
            with suppress(Exception):  # Whatever is wrong with the file, the template is compiled again.
                bucket.bytecode_from_string(content)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the code in one step, unless Python is told to write no bytecode."""
        if sys.dont_write_bytecode:
            return
        place = self._place(bucket)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(place) as file:
                file.write(bucket.bytecode_to_string())

    def _place(self, bucket: Bucket) -> Path:
        return Path(cache_from_source(str(self.folder / bucket.key))).with_suffix(".jinja")
