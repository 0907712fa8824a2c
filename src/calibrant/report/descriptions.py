"""How metrics and tests are presented, as their results say."""

from calibrant.results import Comparison, Description, Estimate, TestResult


def of_result(result: Estimate | TestResult | None, key: str) -> Description:
    """Return the description of a result; one without goes by its name alone."""
    return Description(label=key) if result is None or result.about is None else result.about


def of_metric(comparison: Comparison, metric: str) -> Description:
    """Return the description of a metric of a comparison."""
    return comparison.about.get(metric) or Description(label=metric)
