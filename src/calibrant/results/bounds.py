"""Which p-values are bounds: no smaller ones were possible with that number of redraws."""

from calibrant.results.core import Assessment, TestResult
from calibrant.results.forecasts import ForecastAssessment
from calibrant.results.writing import is_at


def smallest_pvalue(test: TestResult) -> float | None:
    """Return the least p-value that the test can give, also where its redraws were not kept; None if not known."""
    known = test.details.get("smallest_pvalue")
    if known is not None:
        return float(known)
    return None if test.null is None else 1 / (1 + len(test.null))


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
