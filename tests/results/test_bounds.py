"""Which p-values are written as bounds."""

from dataclasses import replace

import pytest

from calibrant.hypotest import holm
from calibrant.results import TestResult
from calibrant.results.bounds import smallest_adjusted, smallest_pvalue
from report_cases import assessment


def result(pvalue, smallest=0.001):
    return TestResult(name="test", statistic=1.0, pvalue=pvalue, details={"smallest_pvalue": smallest})


def test_the_smallest_pvalue_is_known_without_the_redraws():
    assert smallest_pvalue(result(0.5)) == 0.001
    assert smallest_pvalue(replace(result(0.5), details={}, null=[0.0] * 9)) == 0.1
    assert smallest_pvalue(replace(result(0.5), details={})) is None


@pytest.mark.parametrize(
    ("pvalues", "bound"),
    [((0.001, 0.001, 0.5), 0.003), ((0.001, 0.0015, 0.5), 0.003), ((0.002, 0.5), None), ((0.001,), 0.001)],
)
def test_adjusted_pvalues_are_bounds_where_those_of_the_groups_are(pvalues, bound):
    one = assessment()
    own = {str(i): p for i, p in enumerate(pvalues)}
    groups = {key: replace(one, test=result(p)) for key, p in own.items()}
    assert smallest_adjusted(replace(one, groups=groups, adjusted=holm(own))) == (
        None if bound is None else pytest.approx(bound)
    )
