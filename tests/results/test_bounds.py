"""Which p-values are written as bounds."""

from dataclasses import replace

import pytest

from calibrant._border.numerals import pvalue
from calibrant.hypotest import holm
from calibrant.results import TestResult
from calibrant.results.assessment import smallest_adjusted
from calibrant.results.words.parts import parts_in_words, smallest_pvalue
from calibrant.results.words.printed import brief
from naming import each
from report_cases import assessment


def result(pvalue, smallest=0.001):
    return TestResult(name="test", statistic=1.0, pvalue=pvalue, details={"smallest_pvalue": smallest})


def test_the_smallest_pvalue_is_known_without_the_redraws():
    assert smallest_pvalue(result(0.5)) == 0.001
    assert smallest_pvalue(replace(result(0.5), details={}, null=[0.0] * 9)) == 0.1
    assert smallest_pvalue(replace(result(0.5), details={})) is None


@each(
    "pvalues, bound",
    [((0.001, 0.001, 0.5), 0.003), ((0.001, 0.0015, 0.5), 0.003), ((0.002, 0.5), None), ((0.001,), 0.001)],
)
def test_adjusted_pvalues_are_bounds_where_those_of_the_groups_are(pvalues, bound):
    one = assessment()
    own = {str(i): p for i, p in enumerate(pvalues)}
    groups = {key: replace(one, test=result(p)) for key, p in own.items()}
    assert smallest_adjusted(replace(one, groups=groups, adjusted=holm(own))) == (
        None if bound is None else pytest.approx(bound)
    )


def test_a_bound_is_written_in_one_way_wherever_it_is_shown():
    """At the floor every text has "≤ 0.001" and none "= 0.001", one redraw above it is the other way round."""
    parts = {"bias": {"pvalue": 0.001}, "ecce": {"pvalue": 0.002}}
    at, above = (replace(result(p), details={"smallest_pvalue": 0.001, "parts": parts}) for p in (0.001, 0.002))
    assert brief(at) == "p ≤ 0.001"
    assert brief(above) == "p = 0.002"
    assert "p-value    ≤ 0.001" in repr(at)
    assert "p-value    0.002" in repr(above)
    assert parts_in_words(at.details)["parts"] == "p-values of mean: ≤ 0.001; range of predictions: 0.002"
    assert pvalue(at.pvalue, smallest_pvalue(at)) == "p ≤ 0.001"
