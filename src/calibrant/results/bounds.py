"""Which adjusted p-values are upper bounds, because no smaller ones were possible with the number of redraws."""

from calibrant._border.numerals import is_at
from calibrant.results.assessment import Assessment, smallest_pvalue
from calibrant.results.forecasts import ForecastAssessment


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
