"""Groups that are judged together: which adjusted p-values are upper bounds, and the verdicts that these allow."""

from dataclasses import replace

from calibrant._border.numerals import is_at
from calibrant.results.assessment import Assessment, smallest_pvalue
from calibrant.results.forecasts import ForecastAssessment
from calibrant.results.verdict import Verdict


def smallest_adjusted(assessment: Assessment | ForecastAssessment) -> float | None:
    """Return the largest p-value of groups, adjusted by Holm's method, that is an upper bound; None if none is.

    If the p-value of a group is the smallest possible, its adjusted p-value is a bound. All smaller adjusted p-values
    come from such p-values too.
    """
    groups: dict[str, Assessment | ForecastAssessment] = dict(assessment.groups)
    bounds = [
        assessment.adjusted[key]
        for key, group in groups.items()
        if key in assessment.adjusted and is_at(group.test.pvalue, smallest_pvalue(group.test))
    ]
    return max(bounds, default=None)


def group_verdict(assessment: Assessment | ForecastAssessment, name: str) -> Verdict:
    """Return the verdict on a group: no error is found if the p-value adjusted for the number of groups is not small.

    A p-value that is only a bound may be small, so it changes nothing: with many groups no smaller one is possible.
    """
    group: Assessment | ForecastAssessment = assessment.groups[name]
    verdict, adjusted = group.verdict, assessment.adjusted.get(name, group.verdict.pvalue)
    was_found = verdict.code not in ("calibrated", "consistent")
    if not was_found or adjusted <= verdict.level or is_at(group.test.pvalue, smallest_pvalue(group.test)):
        return verdict
    if verdict.size == "within tolerance":
        return replace(verdict, code="calibrated")
    return replace(verdict, code="consistent", size="not known")
