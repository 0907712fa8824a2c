"""The base of all results, which prints them."""

from dataclasses import Field
from typing import ClassVar

from calibrant.results.words.printed import printed


class Readable:
    """A result that prints itself in a few lines, and shows a small table or figure in notebooks."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    def __repr__(self) -> str:
        return printed(self)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows, or None, in which case the notebook shows the plain text.

        It never raises: an error in a table must not keep anyone from seeing a number.
        """
        try:
            from calibrant.results.drawing.notebook import shown

            return shown(self).__html__()
        except Exception:  # noqa: BLE001 (the notebook falls back to the plain text)
            return None
