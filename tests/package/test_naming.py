"""Tests of several rows: every row is tried, and those that fail are named."""

import pytest

from naming import each


def recorded(rows, names="a, b"):
    """Return a test that fails where its arguments differ, and the rows that it was called with."""
    seen = []

    @each(names, rows)
    def test(a, b, fixture):
        seen.append((a, b, fixture))
        assert a == b

    return test, seen


def test_every_row_is_tried_with_what_the_fixtures_gave():
    test, seen = recorded([(1, 1), (2, 2)])
    test(fixture="x")
    assert seen == [(1, 1, "x"), (2, 2, "x")]


def test_a_row_that_fails_is_named_and_the_next_is_tried():
    test, seen = recorded([(1, 2), (3, 3)])
    with pytest.raises(AssertionError) as found:
        test(fixture="x")
    assert found.value.__notes__ == ["row: a=1, b=2"]
    assert len(seen) == 2


def test_all_rows_that_fail_are_named():
    test, _ = recorded({"first": (1, 2), "second": (3, 3), "third": (1, 4)})
    with pytest.raises(ExceptionGroup, match="2 of 3 rows fail") as found:
        test(fixture="x")
    assert [error.__notes__ for error in found.value.exceptions] == [["row: first"], ["row: third"]]


def test_an_exception_that_was_expected_and_did_not_come_is_a_failure():
    @each("code", ["1", "x"])
    def test(code):
        with pytest.raises(ValueError, match="invalid literal"):
            int(code)

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE") as found:
        test()
    assert found.value.__notes__ == ["row: code='1'"]


@each("k", [2, 3])
@pytest.mark.parametrize("name", ["a", "b"])
class TestClass:
    def test_methods_are_called_with_every_row_for_each_parameter(self, name, k, request):
        calls = request.node.session.config.stash.setdefault(CALLS, [])
        calls.append((name, k))
        assert calls[-1] == (name, k)
        assert [c for c in calls if c[0] == name] == [(name, i) for i in range(2, k + 1)]


CALLS = pytest.StashKey()


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        each("k", [])
