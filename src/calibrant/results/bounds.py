"""Which p-values are bounds: no smaller ones were possible with that number of redraws."""

from calibrant._border.numerals import is_at
from calibrant.results.assessment import Assessment, smallest_pvalue
from calibrant.results.forecasts import ForecastAssessment


def smallest_adjusted(assessment: Assessment | ForecastAssessment) -> float | None:
    """Return up to where p-values of groups, adjusted by Holm's method, are bounds; None if none is.

    Where the p-value of a group could not have been smaller, nor could the adjusted one, and those up to it are made
    of such ones too.
    """
    groups: dict[str, Assessment | ForecastAssessment] = dict(assessment.groups)
    bounds = [
        assessment.adjusted[key]
        for key, group in groups.items()
        if key in assessment.adjusted and is_at(group.test.pvalue, smallest_pvalue(group.test))
    ]
    return max(bounds, default=None)
