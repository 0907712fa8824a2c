"""The report: one self-contained HTML page, from results only."""

from collections.abc import Mapping

from calibrant.results import (
    Assessment,
    Comparison,
    DecisionReport,
    Fix,
    ForecastAssessment,
    GroupFindings,
    IntervalCheck,
)

__all__ = ["render_html"]


def render_html(
    assessments: Assessment | ForecastAssessment | Mapping[str, Assessment | ForecastAssessment],
    *,
    title: str = "Calibration report",
    comparison: Comparison | None = None,
    fix: Fix | None = None,
    findings: GroupFindings | None = None,
    decisions: DecisionReport | None = None,
    intervals: IntervalCheck | None = None,
) -> str:
    """Render assessments as one HTML page that needs only a browser.

    The page makes no network request and its security policy forbids any. It holds all numbers that it shows as JSON,
    with seven digits, in the script element with the id "data". The same assessments always give the same page.

    Parameters
    ----------
    assessments : Assessment or ForecastAssessment, or mapping of str to either
        Several are shown side by side, under the names they have in the mapping.
    title : str, default="Calibration report"
    comparison : Comparison, optional
        Paired differences between models on the same rows, by `calibrant.compare`.
    fix : Fix, optional
        How the last model of the comparison was made from the first, by `calibrant.advice.calibrate_held_out`.
    findings : GroupFindings, optional
        Groups of rows in which the predictions of the first model are off, by `calibrant.groups.GroupSearch`.
    decisions : DecisionReport, optional
        What the assessed predictions are good for, by `calibrant.decisions.DecisionPlan`, under the same names.
    intervals : IntervalCheck, optional
        Whether conformal intervals keep their promise, by `calibrant.calibrators.forecasts.check_intervals`.

    Returns
    -------
    str
        Write it to a file in UTF-8.
    """
    from calibrant.report.page import Extras, compose
    from calibrant.report.series import series_of

    if not isinstance(title, str):
        raise TypeError(f"title must be a string, but is {type(title).__name__}.")
    return compose(series_of(assessments), title, Extras(comparison, fix, findings, decisions, intervals))
