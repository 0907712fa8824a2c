"""`pytest.approx` of arrays, compared at once where all numbers are near: one by one, a thousand take 5 ms."""

import numpy as np
import pytest

Approx = type(pytest.approx(np.zeros(1)))
one_by_one = Approx.__eq__


def all_near(approx, actual):
    """Whether all numbers are as near as they should be, none of them an exception that pytest knows, such as NaN."""
    expected, absolute, relative = approx.expected, approx.abs, approx.rel
    if not (isinstance(actual, np.ndarray) and actual.shape == expected.shape):
        return False
    if not actual.dtype == expected.dtype == np.float64 or (relative is not None and not relative >= 0):
        return False
    least = 1e-12 if absolute is None else absolute
    if relative is None and absolute is not None:
        relative = 0.0
    with np.errstate(all="ignore"):
        tolerance = np.maximum((1e-6 if relative is None else relative) * np.abs(expected), least)
        near = (actual == expected) | (np.isfinite(expected) & (np.abs(expected - actual) <= tolerance))
    return bool(near.all())


def _equal(self, actual):
    return all_near(self, actual) or one_by_one(self, actual)


def compare_at_once():
    """Let pytest compare so, and one by one, with its own words, where not all are near."""
    Approx.__eq__ = _equal
