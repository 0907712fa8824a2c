"""The report: one self-contained HTML page, from results only."""

from collections.abc import Mapping

from calibrant.results import Assessment

__all__ = ["render_html"]


def render_html(assessments: Assessment | Mapping[str, Assessment], *, title: str = "Calibration report") -> str:
    """Render assessments as one HTML page that needs nothing but a browser.

    The page makes no network request and its security policy forbids any. It holds all numbers as JSON, in the
    script element with the id "data". The same assessments always give the same page.

    Parameters
    ----------
    assessments : Assessment, or mapping of str to Assessment
        Several are shown side by side, under the names they have in the mapping.
    title : str, default="Calibration report"

    Returns
    -------
    str
        Write it to a file in UTF-8.
    """
    from calibrant.report.page import compose
    from calibrant.report.series import as_series

    if not isinstance(title, str):
        raise TypeError(f"title must be a string, but is {type(title).__name__}.")
    return compose(as_series(assessments), title)
