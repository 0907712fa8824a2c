"""How results show themselves in notebooks."""

from typing import Any


def repr_html(result: Any) -> str | None:
    """Return a compact table or figure for a notebook, or None, in which case the notebook shows the plain text.

    Everything in it is escaped. It never raises: whoever wants to see a number must not be stopped by a table.
    """
    try:
        from calibrant.report.notebook import notebook_html

        return notebook_html(result)
    except Exception:  # noqa: BLE001 (the notebook falls back to the plain text)
        return None
