"""Templates as compiled code, kept beside them as Python keeps its modules: to compile them takes as long as a page."""

import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import BytecodeCache, __version__
from jinja2.bccache import Bucket

from calibrant._border.files import write_atomically


class CompiledTemplates(BytecodeCache):
    """Code of templates in the folders where Python keeps that of modules, if these can be written to.

    Parameters
    ----------
    folder : Path
        Of the templates.
    settings : str
        What the code depends on beside the template, the release of Jinja2 and that of Python.
    """

    def __init__(self, folder: Path, settings: str) -> None:
        self.folder, self.settings = folder, settings

    def get_cache_key(self, name: str, filename: str | None = None) -> str:  # noqa: ARG002 (part of the contract)
        """Return the name."""
        return name

    def get_source_checksum(self, source: str) -> str:
        """Return what changes if the code does."""
        return super().get_source_checksum(f"{__version__} {self.settings}\n{source}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read the code, unless there is none, or none of this template."""
        with suppress(OSError):
            content = self._place(bucket).read_bytes()
            with suppress(Exception):  # Whatever is wrong with it, it is compiled anew.
                bucket.bytecode_from_string(content)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code, in one piece, unless Python is told to keep none."""
        if sys.dont_write_bytecode:
            return
        place = self._place(bucket)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(place) as file:
                file.write(bucket.bytecode_to_string())

    def _place(self, bucket: Bucket) -> Path:
        return Path(cache_from_source(str(self.folder / bucket.key))).with_suffix(".jinja")
